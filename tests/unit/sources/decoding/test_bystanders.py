"""What the Events of a dump say of pending pods."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import SchedulingEvents
from kwhatif.sources.dumps.dump import read_cluster
from tests import FIXTURES
from tests.cli.running import run
from tests.objects import manifest

DEMO = FIXTURES / "demo"
FIT_ERROR = "0/3 nodes are available: 3 Insufficient cpu."
FIRST, LAST = "2026-01-01T10:00:00.250000Z", "2026-01-01T10:20:00.500000Z"
Json = dict[str, Any]


def pending(name: str = "web", uid: str = "u1", **spec: Any) -> Json:
    meta = {"name": name, "namespace": "shop", "uid": uid, "creationTimestamp": "2026-01-01T09:59:00Z"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [], **spec}}


def core(name: str = "web.1", uid: str = "u1", reason: str = "FailedScheduling", **fields: Any) -> Json:
    """As `kubectl get events` prints what kube-scheduler writes."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "shop"},
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web", "uid": uid},
        "reason": reason,
        "message": FIT_ERROR,
        "eventTime": FIRST,
        "firstTimestamp": None,
        "lastTimestamp": None,
        "source": {},
        "reportingComponent": "default-scheduler",
        **fields,
    }


def new(name: str = "web.1", **fields: Any) -> Json:
    """The same in `events.k8s.io/v1`."""
    old = core(name)
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": old["metadata"],
        "regarding": old["involvedObject"],
        "reason": old["reason"],
        "note": FIT_ERROR,
        "eventTime": FIRST,
        "deprecatedSource": {},
        "reportingController": "default-scheduler",
        **fields,
    }


def read(*objects: Json) -> Cluster:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    return read_cluster(["-"], stdin=io.BytesIO(text.encode())).cluster


def seen(*events: Json, pod: Json | None = None) -> SchedulingEvents | None:
    """What is known of `shop/web`; the order of the input changes nothing."""
    found = read(pod or pending(), *events).facts.scheduling_events
    assert read(*reversed(events), pod or pending()).facts.scheduling_events == found
    assert found.keys() <= {"shop/web"}
    return found.get("shop/web")


SERIES = {"count": 17, "lastObservedTime": LAST}


@pytest.mark.parametrize(
    ("events", "attempts", "last", "is_last"),
    [
        ([core()], 1, FIRST, True),
        ([core(series=SERIES)], 17, LAST, False),
        ([new(series=SERIES)], 17, LAST, False),
        # One event, dumped in both versions.
        ([core(series=SERIES), new(series=SERIES)], 17, LAST, False),
        # The pod has changed in between: another event.
        ([core(series={"count": 2, "lastObservedTime": FIRST}), core("web.2", eventTime=LAST)], 3, LAST, True),
        # As recorders of `v1` write them.
        (
            [core(eventTime=None, lastTimestamp="2026-01-01T10:20:00Z", count=4, reportingComponent="")],
            4,
            "2026-01-01T10:20:00Z",
            True,
        ),
        (
            [new(eventTime=None, deprecatedLastTimestamp="2026-01-01T10:20:00Z", deprecatedCount=4)],
            4,
            "2026-01-01T10:20:00Z",
            True,
        ),
        ([core(eventTime="2026-01-01T12:00:00+02:00")], 1, "2026-01-01T10:00:00Z", True),
    ],
)
def test_attempts_are_counted_and_dated(events: list[Json], attempts: int, last: str, *, is_last: bool) -> None:
    assert seen(*events) == SchedulingEvents(attempts=attempts, last_attempt=last, is_last=is_last)


@pytest.mark.parametrize(
    "event",
    [
        core(uid="of-an-earlier-pod"),
        core(reportingComponent="karpenter"),
        core(reportingComponent="", source={"component": "karpenter"}),
        core(message="skip schedule deleting pod: shop/web"),
        core(eventTime=None),
        core(eventTime="yesterday"),
        core(uid="", eventTime="2026-01-01T09:58:59Z"),
        core(reason="NotTriggerScaleUp"),
        core(involvedObject={"kind": "Node", "name": "web"}),
        core(involvedObject="web"),
        core(count="many"),
    ],
)
def test_events_of_others_and_what_cannot_be_understood_are_left_out(event: Json) -> None:
    assert seen(event) is None


def test_an_event_without_a_uid_counts_if_it_is_young_enough() -> None:
    assert seen(core(uid=""))


def test_a_scheduler_of_ones_own_writes_about_its_own_pods() -> None:
    event = core(reportingComponent="mine")
    assert seen(event, pod=pending(schedulerName="mine")) == SchedulingEvents(attempts=1, last_attempt=FIRST)


@pytest.mark.parametrize(
    ("message", "errored"),
    [(FIT_ERROR, False), ("no nodes available to schedule pods", True), ("running Bind plugin: timeout", True)],
)
def test_errors_and_missing_nodes_are_not_rejections(message: str, *, errored: bool) -> None:
    found = seen(core(message=message))
    assert found is not None
    assert found.errored is errored


def test_victims_and_bindings() -> None:
    victim = {"kind": "Pod", "namespace": "batch", "name": "etl", "uid": "u9"}
    preempted = core("etl.1", reason="Preempted", involvedObject=victim, related=core()["involvedObject"])
    assert seen(preempted, core()) == SchedulingEvents(attempts=1, last_attempt=FIRST, evicted=("batch/etl",))
    assert seen(core(reason="Scheduled")) == SchedulingEvents(scheduled=True)
    assert seen(core(reason="Scheduled", uid="of-an-earlier-pod")) is None


@pytest.mark.parametrize("changed", [{"nodeName": "n1"}, {}])
def test_only_pods_that_wait_are_kept(changed: Json) -> None:
    found = read(pending(**changed), core(), core("db.1", involvedObject={**core()["involvedObject"], "name": "db"}))
    assert [*found.facts.scheduling_events] == ([] if changed else ["shop/web"])


def test_a_saved_snapshot_remembers_them(tmp_path: Path) -> None:
    sources = [DEMO / "cluster.yaml", DEMO / "pending.yaml", DEMO / "events.yaml"]
    given = " ".join(f"--from {source}" for source in sources)
    whole, hidden = tmp_path / "whole.json", tmp_path / "hidden.json"
    assert run(f"kwhatif snapshot save {whole} {given}").code == 0
    assert run(f"kwhatif snapshot save {hidden} --anonymize {given}").code == 0
    reports = [kwhatif.pending(kwhatif.load(*paths)).queue for paths in (sources, [whole], [hidden])]
    assert reports[0] == reports[1]
    histories = [[(row.attempts, row.last_attempt) for row in report.pods] for report in reports if report]
    assert histories[0] == histories[2]
    assert histories[0][0] == (17, "2026-11-21T07:19:20.518211Z")
    assert '"index"' not in hidden.read_text()


def test_times_in_a_saved_snapshot_that_are_none_are_left_out(tmp_path: Path) -> None:
    saved = manifest(
        "SavedSnapshot",
        {"name": "s"},
        version="kwhatif.dev/v1",
        takenAt="2026-01-01T10:00:00Z",
        schedulingEvents={
            "shop/web": {"attempts": -3, "lastAttempt": "9999-12-31T23:59:59Z"},
            "shop/db": {"attempts": 1, "lastAttempt": "soon"},
        },
    )
    file = tmp_path / "saved.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [saved, pending(), pending("db", "u2")]}))
    report = kwhatif.pending(kwhatif.load(file)).queue
    assert report is not None
    assert {row.pod: (row.last_attempt, row.backoff_ends) for row in report.pods} == {
        "shop/web": ("9999-12-31T23:59:59Z", None),
        "shop/db": (None, None),
    }
