"""What stands beside the objects that scheduling reads: a live cluster says of it what a dump of it says."""

from __future__ import annotations

import json
import re
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.sources.decoding import bystanders, kinds
from kwhatif.sources.dumps.left_out import _ADMISSION, AUTOSCALING, CUT, FAILED, FORBIDDEN
from kwhatif.sources.dumps.left_out import _KINDS as GROUPS
from kwhatif.sources.live import lists, read, request
from tests.cli.running import run
from tests.http.bystanders import BYSTANDERS, demo, event, serve_objects, write_dump
from tests.http.conftest import WriteKubeconfig
from tests.http.fake_api import FakeAPI, answer, recorded

#: Kinds that a dump is looked through for, and a live cluster is not asked for.
NOT_ASKED = {
    "Lease",
    "ConfigMap",
    "PodGroup",
}  # the groups of other schedulers: for them everyone's role would be wider
#: Pages of Events, here.
MOST = 4
ADMISSION = "/apis/admissionregistration.k8s.io"
DENIED = answer(403, recorded("forbidden")["body"])
PODS = "fixtures/demo/pods"
COMMANDS = (
    f"schedule {PODS} -o wide",
    f"gate {PODS}/small.yaml -o wide",
    "queue --explain",
    "drain gpu-a1",
    "simulate --then 'delete node/gpu-a1'",
    "autoscale",
)


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(request, "_MAX_PAUSE", 0.001)


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The live cluster is read when the dump was taken."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            return cls(2026, 11, 21, 7, 20, tzinfo=tz)

    monkeypatch.setattr(read, "datetime", Clock)


def test_every_kind_that_a_dump_is_looked_through_for_is_asked_for() -> None:
    listed = {(each.group, each.kind) for each in kinds.BYSTANDER_LISTS}
    looked_for = {(group, kind) for group, kind in bystanders._DECODERS if group != "events.k8s.io"}
    assert {(group, kind) for group, kind in looked_for if kind not in NOT_ASKED} <= listed
    assert {*GROUPS, *_ADMISSION, *AUTOSCALING} <= {kind for _, kind in listed}
    assert {each.kind for each in kinds.BYSTANDER_LISTS} == {each["kind"] for each in BYSTANDERS}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_report_is_that_of_the_dump(api: FakeAPI, kubeconfig: WriteKubeconfig, tmp_path: Path, command: str) -> None:
    objects = demo()
    serve_objects(objects, api)
    live = run(f"kwhatif {command} --kubeconfig {kubeconfig()}")
    dump = run(f"kwhatif {command} --from {write_dump(objects, tmp_path / 'dump.json')}")
    assert live.code == dump.code < 2
    assert without_source(live.stdout) == without_source(dump.stdout)


def without_source(report: str) -> str:
    """Who says that it is kube-scheduler 1.36 differs: the server, or the kubelets."""
    return re.sub(r"^(kube-scheduler 1\.36) \(.*\)", r"\1", report, flags=re.MULTILINE)


def test_what_events_say_is_in_the_queue(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    serve_objects(demo(), api)
    text = run(f"kwhatif queue --explain --kubeconfig {kubeconfig()}").stdout
    assert "Tried at least 17 times, the last known attempt 40s ago." in text
    assert "it backs off until 2026-11-21T07:20:02Z" in text
    assert "shop/victim" in text


def test_a_snapshot_keeps_of_a_live_cluster_what_it_keeps_of_a_dump(
    api: FakeAPI, kubeconfig: WriteKubeconfig, tmp_path: Path
) -> None:
    objects = demo()
    serve_objects(objects, api)
    dump = write_dump(objects, tmp_path / "dump.json")
    for name, source in (("live", f"--kubeconfig {kubeconfig()}"), ("dumped", f"--from {dump}")):
        assert run(f"kwhatif snapshot save {tmp_path}/{name}.json {source}").code == 0
    (live, *kept), (dumped, *others) = (saved(tmp_path / f"{name}.json") for name in ("live", "dumped"))
    assert kept == others
    for said in ("schedulingEvents", "skipped"):
        assert live[said] == dumped[said] != {}
    assert {"ServiceAccount", "HorizontalPodAutoscaler"} <= {each["kind"] for each in kept}


def saved(path: Path) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(path.read_text())["items"]
    return items


class TestNotServed:
    def test_is_empty(self, kubeconfig: WriteKubeconfig) -> None:
        session = kwhatif.load_live(kubeconfig=kubeconfig(), strict=True)
        assert session.cluster.facts.unread == {}

    def test_another_version_is_asked_for(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        serve_objects(demo(), api)
        kwhatif.load_live(kubeconfig=kubeconfig())
        paths = [f"{ADMISSION}/{version}/mutatingadmissionpolicies" for version in ("v1", "v1beta1", "v1alpha1")]
        assert [api.asked(path) for path in paths] == [1, 1, 0]


class TestForbidden:
    def test_each_is_a_caveat(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        for each in kinds.BYSTANDER_LISTS:
            for version in each.versions:
                api.always[each.path(version)] = DENIED
                group = each.path(version).removesuffix(f"/{each.plural}")
                names = [{"name": other.plural} for other in kinds.BYSTANDER_LISTS]
                api.always[group] = answer(200, {"kind": "APIResourceList", "resources": names})
        session = kwhatif.load_live(kubeconfig=kubeconfig())
        assert session.cluster.facts.unread == {each.kind: FORBIDDEN for each in kinds.BYSTANDER_LISTS}
        said = kwhatif.preempt(session).caveats
        assert len(said) == 4
        assert {each.plural for each in kinds.BYSTANDER_LISTS} <= set(re.findall(r"\w+", " ".join(said)))
        with pytest.raises(kwhatif.ClusterUnreadable, match="no permission to list events"):
            kwhatif.load_live(kubeconfig=kubeconfig(), strict=True)

    def test_what_is_not_served_is_not_missed(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        """The API server looks at permissions first: without one, what it does not serve is forbidden, too."""
        for each in kinds.ASKED:
            for version in each.versions:
                if not each.is_everywhere:
                    api.always[each.path(version)] = DENIED
        api.always["/apis/scheduling.k8s.io/v1beta1"] = answer(
            200, {"kind": "APIResourceList", "resources": [{"name": "workloads"}]}
        )
        api.always["/apis/karpenter.sh/v1"] = DENIED
        session = kwhatif.load_live(kubeconfig=kubeconfig())
        assert session.cluster.facts.unread == dict.fromkeys(("Workload", "NodePool", "NodeClaim"), FORBIDDEN)


def test_one_that_fails_is_a_caveat(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    api.always["/apis/karpenter.sh/v1/nodepools"] = answer(500, b"conversion webhook failed")
    session = kwhatif.load_live(kubeconfig=kubeconfig())
    assert session.cluster.facts.unread == {"NodePool": FAILED}
    assert any(f"{FAILED} nodepools in karpenter.sh" in caveat for caveat in kwhatif.preempt(session).caveats)


@pytest.mark.parametrize("waiting", [True, False])
def test_events_are_asked_for_by_reason_and_up_to_a_number(
    api: FakeAPI, kubeconfig: WriteKubeconfig, monkeypatch: pytest.MonkeyPatch, *, waiting: bool
) -> None:
    assert {each.max_pages for each in kinds.ASKED if each.kind == "Event"} == {kinds.MAX_EVENT_PAGES}
    monkeypatch.setattr(kinds.Asked, "max_pages", property(lambda each: MOST if each.kind == "Event" else 0))
    if waiting:
        serve_objects(demo(), api)
    pages = (
        {
            "kind": "EventList",
            "apiVersion": "v1",
            "metadata": {"continue": str(number)},
            "items": [event("FailedScheduling", "v1")],
        }
        for number in range(1, MOST + 9)
    )
    path = "/api/v1/events"
    api.pages[path] = {"" if number == 0 else str(number): page for number, page in enumerate(pages)}
    session = kwhatif.load_live(kubeconfig=kubeconfig())
    queries = [url.partition("?")[2] for _, url, _ in api.requests if url.startswith(path)]
    assert len(queries) == 3 * MOST
    assert {re.sub("&continue=.*", "", query) for query in queries} == {
        f"limit={lists.PAGE}&fieldSelector=reason%3D{reason}"
        for reason in ("FailedScheduling", "Scheduled", "Preempted")
    }
    assert session.cluster.facts.unread == ({"Event": CUT} if waiting else {})


def test_a_list_that_begins_again_counts_once(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    objects = demo()
    serve_objects(objects, api)
    path = f"{ADMISSION}/v1/validatingwebhookconfigurations"
    whole = kwhatif.schedule(kwhatif.load_live(kubeconfig=kubeconfig()), f"{PODS}/small.yaml").caveats
    page = api.pages[path][""]
    api.next(path, answer(200, page | {"metadata": {"continue": "x"}}), answer(410, b"gone", "text/plain"))
    again = kwhatif.schedule(kwhatif.load_live(kubeconfig=kubeconfig()), f"{PODS}/small.yaml").caveats
    assert again == whole
    assert any("ValidatingWebhookConfiguration" in caveat for caveat in whole)


def test_another_dump_may_have_what_could_not_be_read(
    api: FakeAPI, kubeconfig: WriteKubeconfig, tmp_path: Path
) -> None:
    """A snapshot that kept what is unread, and a dump of just that: nothing is unread any more."""
    scalers = "/apis/autoscaling/v2/horizontalpodautoscalers"
    api.always[scalers] = DENIED
    assert run(f"kwhatif snapshot save {tmp_path}/saved.json --kubeconfig {kubeconfig()}").code == 0
    dump = write_dump(
        [each for each in BYSTANDERS if each["kind"] == "HorizontalPodAutoscaler"], tmp_path / "dump.json"
    )
    assert kwhatif.load(tmp_path / "saved.json").cluster.facts.unread == {"HorizontalPodAutoscaler": FORBIDDEN}
    assert kwhatif.load(tmp_path / "saved.json", dump).cluster.facts.unread == {}
