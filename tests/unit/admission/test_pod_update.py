"""Updates of pods: what may change, with the API server's messages; resizes as a real one answered them."""

import copy
import json
from typing import Any

import msgspec
import pytest

import kwhatif
from kwhatif.admission.pod_update import validate_pod_update
from kwhatif.kube.model.pod import Pod
from tests import FIXTURES
from tests.builders import PodBuilder, pod, requirement, term
from tests.unit.workloads.test_injections import node

OTHERS = "spec: Forbidden: pod updates may not change fields other than "
SSD, FAST = requirement("disk", "In", "ssd"), requirement("speed", "In", "fast")
TERMS = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


def web() -> PodBuilder:
    return pod("web").image("i:1").cpu("1").toleration("a", "Exists")


def gated() -> PodBuilder:
    return web().gates("one", "two")


CASES: dict[str, tuple[PodBuilder, PodBuilder, str]] = {
    "nothing": (web(), web(), ""),
    "an image": (web(), web().image("i:2"), ""),
    "a request": (web(), web().cpu("2"), OTHERS),
    "a label": (web(), web().labels(a="b"), ""),
    "a node": (web().on("n1"), web(), OTHERS),
    "another container": (
        web(),
        web().container("more"),
        "spec.containers: Forbidden: pod updates may not add or remove",
    ),
    "a first container": (web(), web().init_container(), "spec.initContainers: Forbidden: pod updates may not add"),
    "a toleration more": (web(), web().toleration("b", "Exists"), ""),
    "a toleration less": (
        web(),
        pod("web").image("i:1").cpu("1"),
        "spec.tolerations: Forbidden: existing toleration can",
    ),
    "a deadline": (web(), web().spec(active_deadline_seconds=9), ""),
    "a nearer deadline": (web().spec(active_deadline_seconds=9), web().spec(active_deadline_seconds=8), ""),
    "a later deadline": (
        web().spec(active_deadline_seconds=9),
        web().spec(active_deadline_seconds=10),
        "spec.activeDeadlineSeconds: Invalid value: 10: must be less than or equal to previous value",
    ),
    "no deadline": (
        web().spec(active_deadline_seconds=9),
        web(),
        "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value",
    ),
    "a negative deadline": (
        web(),
        web().spec(active_deadline_seconds=-1),
        "spec.activeDeadlineSeconds: Invalid value: -1: must be between 0 and 2147483647, inclusive",
    ),
    "a grace period": (web(), web().spec(termination_grace_period_seconds=1), OTHERS),
    "a grace period that was negative": (
        web().spec(termination_grace_period_seconds=-5),
        web().spec(termination_grace_period_seconds=1),
        "",
    ),
    "a gate less": (gated(), web().gates("two"), ""),
    "a gate more": (
        gated(),
        web().gates("one", "three"),
        "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'three'",
    ),
    "a selector": (web(), web().node_selector(disk="ssd"), OTHERS),
    "a selector behind a gate": (gated(), gated().node_selector(disk="ssd"), ""),
    "another selector behind a gate": (
        gated().node_selector(disk="ssd"),
        gated().node_selector(disk="hdd"),
        'spec.nodeSelector: Invalid value: {"disk":"hdd"}: only additions to spec.nodeSelector are allowed',
    ),
    "an affinity": (web(), web().node_affinity(term(SSD)), OTHERS),
    "an affinity behind a gate": (gated(), gated().node_affinity(term(SSD)), ""),
    "a narrower affinity behind a gate": (gated().node_affinity(term(SSD)), gated().node_affinity(term(SSD, FAST)), ""),
    "a wider affinity behind a gate": (
        gated().node_affinity(term(SSD, FAST)),
        gated().node_affinity(term(SSD)),
        f"{TERMS}[0]: Invalid value: ",
    ),
    "another term behind a gate": (
        gated().node_affinity(term(SSD)),
        gated().node_affinity(term(SSD), term(FAST)),
        f"{TERMS}: Invalid value: ",
    ),
    "no affinity behind a gate": (gated().node_affinity(term(SSD)), gated(), f"{TERMS}: Invalid value: "),
    "something else behind a gate": (gated(), gated().cpu("2"), OTHERS),
}


@pytest.mark.parametrize("name", CASES)
def test_what_may_change(name: str) -> None:
    old, new, expected = CASES[name]
    denied = validate_pod_update(new.build(), old.build())
    found = "" if denied is None else denied.message
    assert found.startswith(f'Pod "web" is invalid: {expected}') if expected else not found


RUNNING: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default", "uid": "u", "labels": {"app": "web", "by": "hand"}},
    "spec": {
        "nodeName": "n1",
        "priority": 0,
        "schedulerName": "default-scheduler",
        "containers": [
            {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "1"}}},
            {"name": "sidecar", "image": "s", "resources": {"requests": {"cpu": "1"}}},
        ],
        "tolerations": [
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("not-ready", "unreachable")
        ],
    },
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}


def manifest(cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i:2", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web", "tier": "1"}},
        "spec": {"containers": [container], **spec},
    }


def applied(given: dict[str, Any]) -> Pod:
    session = kwhatif.edited(kwhatif.load([node(), RUNNING]), {"apply": given})
    (found,) = session.cluster.all(Pod).values()
    return found


def test_an_applied_pod_keeps_what_only_the_cluster_knows() -> None:
    made = applied(manifest())
    assert made.metadata.labels == {"app": "web", "by": "hand", "tier": "1"}
    assert (made.metadata.uid, made.spec.node_name, made.status.phase) == ("u", "n1", "Running")
    assert [(each.name, each.image) for each in made.spec.containers] == [("c", "i:2"), ("sidecar", "s")]


def test_tolerations_are_replaced_and_completed() -> None:
    made = applied(manifest(tolerations=[{"key": "x", "operator": "Exists"}]))
    assert [each.key.rpartition("/")[2] for each in made.spec.tolerations] == ["x", "not-ready", "unreachable"]


def test_what_cannot_change_is_refused_and_the_pod_runs_on() -> None:
    session = kwhatif.load([node(), RUNNING])
    report = kwhatif.simulate(session, manifest(cpu="2"))
    assert report.story is not None
    ((command, ok, why),) = [(row.command, row.ok, row.why) for row in report.story.commands]
    assert (command, ok) == ("apply Pod default/web", False)
    assert f"is invalid: {OTHERS}" in why
    assert report.story.pending == ()


def test_what_changes_nothing_is_not_written() -> None:
    report = kwhatif.simulate(kwhatif.load([node(), RUNNING]), RUNNING)
    assert report.story is not None
    assert report.story.events == ()


# --- judged at one moment, and in the gate: the same rule ---


def judged(given: dict[str, Any], *, known: dict[str, Any] | None = None) -> Any:
    report = kwhatif.schedule(kwhatif.load([node(), RUNNING if known is None else known]), given)
    (row,) = report.workloads
    return row, report.decisions


def test_a_running_pod_keeps_its_node() -> None:
    row, decisions = judged(manifest())
    assert (row.update, row.removed, row.replicas, row.message) == ("changed", 0, 0, "changed in place")
    assert decisions == ()
    assert judged(RUNNING)[0].update == "unchanged"


def test_what_cannot_change_is_the_answer_no() -> None:
    row, (decision,) = judged(manifest(cpu="2"))
    assert (row.denied, row.removed, decision.outcome) == (1, 0, "Denied")
    assert f"is invalid: {OTHERS}" in decision.message
    report = kwhatif.gate(kwhatif.load([node(), RUNNING]), manifest(cpu="2"))
    assert report.policy is not None
    assert [(each.rule, each.level) for each in report.policy.findings if each.rule == "denied"] == [("denied", "fail")]


def noted_as(given: dict[str, Any], **live: Any) -> dict[str, Any]:
    """A pod as it is once this manifest was applied."""
    notes = {"kubectl.kubernetes.io/last-applied-configuration": msgspec.json.encode(given).decode()}
    spec = {**RUNNING["spec"], "nodeName": "", **given["spec"]}
    return {**given, "metadata": {**given["metadata"], "annotations": notes}, "spec": spec, **live}


def test_what_was_applied_and_is_left_out_goes() -> None:
    known = noted_as(manifest(nodeSelector={"disk": "ssd"}), status={"phase": "Running"})
    known["spec"]["nodeName"] = "n1"
    assert judged(manifest(nodeSelector={"disk": "ssd"}), known=known)[0].update == "unchanged"
    assert f"is invalid: {OTHERS}" in judged(manifest(), known=known)[1][0].message


def test_a_gate_that_the_manifest_leaves_out_is_lifted() -> None:
    known = noted_as(manifest(schedulingGates=[{"name": "a/b"}]), status={"phase": "Pending"})
    row, (decision,) = judged(manifest(), known=known)
    assert (row.update, row.placed, decision.outcome, decision.node) == ("changed", 1, "Placed", "n1")
    del known["metadata"]["annotations"]  # nothing says that it was applied: it stays
    assert judged(manifest(), known=known)[0].placed == 0


# --- Resizes that a real API server was asked for (`tests/e2e/record_resizes.py`): accepted, or refused in the same words ---


Json = dict[str, Any]
RECORDED: Json = json.loads((FIXTURES / "resize" / "recordings.json").read_text())
RECORDINGS: list[Json] = RECORDED["cases"]
#: Where a dump may have lost what decides: the node; what the kubelet reports, which all do that can resize.
UNKNOWN = {"on a node that is not there", "a kubelet that reports no resources"}


@pytest.mark.parametrize("recording", RECORDINGS, ids=[each["name"] for each in RECORDINGS])
def test_the_api_server_answers_the_same(recording: Json) -> None:
    (pod,) = (each for each in recording["objects"] if each["kind"] == "Pod")
    key = f"pod/{pod['metadata']['namespace']}/web-0"
    spec: Json = {"containers": copy.deepcopy(pod["spec"]["containers"])}
    for container, resources in zip(spec["containers"], recording["wants"], strict=True):
        container["resources"] = resources
    if "initWants" in recording:
        spec["initContainers"] = [{**pod["spec"]["initContainers"][0], "resources": recording["initWants"]}]
    session = kwhatif.load([*RECORDED["nodes"], *recording["objects"]], kubernetes_version="1.36")
    edit = {"patch": {"object": key, "merge": {"spec": spec}}}
    if recording["status"] >= 300 and recording["name"] not in UNKNOWN:
        with pytest.raises(kwhatif.InputError) as refused:
            kwhatif.edited(session, edit)
        assert [each.message for each in refused.value.problems] == [recording["message"]]
        return
    found = kwhatif.edited(session, edit).cluster.all(Pod)[key.removeprefix("pod/")].spec.containers
    stored = recording["resources"] or recording["wants"]
    assert [(row.resources.requests, row.resources.limits) for row in found] == [
        (each.get("requests", {}), each.get("limits", {})) for each in stored
    ]
