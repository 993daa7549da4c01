"""By which rules another release decides otherwise: those without any one of which it would not."""

from collections.abc import Callable, Collection
from typing import Any

import pytest

import kwhatif
from kwhatif.errors import InputError
from kwhatif.questions.upgrade.blame import Blame
from kwhatif.report.differences import UpgradeRow
from kwhatif.scheduler.release.changes import ReleaseChange
from tests.unit.questions.test_upgrade import LOAD, NODES, pod

API = "resource.k8s.io/v1"
BALANCED = "NodeResourcesBalancedAllocation (1.36)"


def named(kind: str, name: str, spec: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, "uid": f"uid-{name}", **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}


def device(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, **fields}


def slice_of(node: str, *devices: dict[str, Any], **fields: Any) -> dict[str, Any]:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": list(devices), **fields}
    return named("ResourceSlice", f"slice-{node}", spec)


TAINT = {"key": "broken", "value": "yes", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}
CLASS = named("DeviceClass", "gpu", {})


def claim(name: str = "gpu", **exactly: Any) -> dict[str, Any]:
    request = {
        "name": "r",
        "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, **exactly},
    }
    return named("ResourceClaim", name, {"devices": {"requests": [request]}}, "shop")


def using(pod_: dict[str, Any], claim_name: str = "gpu") -> dict[str, Any]:
    """The pod, which claims the device in its only container."""
    container = {**pod_["spec"]["containers"][0]}
    container["resources"] = {**container["resources"], "claims": [{"name": "c"}]}
    spec = {"resourceClaims": [{"name": "c", "resourceClaimName": claim_name}], "containers": [container]}
    return {**pod_, "spec": {**pod_["spec"], **spec}}


def upgraded(*objects: dict[str, Any], before: str, to: str, gates: str = "") -> UpgradeRow:
    session = kwhatif.load([*NODES, *objects], kubernetes_version=before, feature_gates=gates or None)
    row = kwhatif.upgrade(session, to=to).upgrade
    assert row is not None
    return row


def blamed(row: UpgradeRow) -> list[tuple[str, tuple[str, ...]]]:
    return [(each.workload, each.rules) for each in (*row.pending, *row.workloads)]


@pytest.mark.parametrize(("before", "to"), [("1.35", "1.36"), ("1.33", "1.37"), ("1.34", "1.37"), ("1.37", "1.33")])
def test_only_the_rule_that_decides(before: str, to: str) -> None:
    """The gate PodLevelResourcesFixDefaulting follows the same plugin, and changes nothing about these pods."""
    assert blamed(upgraded(*LOAD, pod("fresh"), before=before, to=to)) == [("Pod shop/fresh", (BALANCED,))]


@pytest.mark.parametrize(("before", "to"), [("1.35", "1.36"), ("1.34", "1.37"), ("1.36", "1.35")])
def test_only_the_gate_that_decides(before: str, to: str) -> None:
    """Half a dozen gates are about devices: the taint alone keeps the pod away."""
    objects = [CLASS, claim(), slice_of("even", device("a", taints=[TAINT])), using(pod("p"))]
    (found,) = upgraded(*objects, before=before, to=to).pending
    outcomes = {"1.34": "Placed", "1.35": "Placed", "1.36": "Unschedulable", "1.37": "Unschedulable"}
    assert (found.before.outcome, found.after.outcome) == (outcomes[before], outcomes[to])
    assert found.rules == ("DRADeviceTaints (1.36)",)


def test_a_gate_that_is_set_in_both_is_no_change() -> None:
    objects = [CLASS, claim(), slice_of("even", device("a", taints=[TAINT])), using(pod("p"))]
    assert not upgraded(*objects, before="1.35", to="1.36", gates="DRADeviceTaints=false").pending
    assert not upgraded(*objects, before="1.35", to="1.36", gates="DRADeviceTaints=true").pending


def test_all_of_two_pods_and_each_by_its_own_rule() -> None:
    objects = [CLASS, claim(), slice_of("even", device("a", taints=[TAINT])), using(pod("p")), *LOAD, pod("fresh")]
    assert sorted(blamed(upgraded(*objects, before="1.35", to="1.37"))) == [
        ("Pod shop/fresh", (BALANCED,)),
        ("Pod shop/p", ("DRADeviceTaints (1.36)",)),
    ]


@pytest.mark.parametrize("to", ["1.38", "1.32", "1.99", "v1.38.0"])
def test_a_release_that_is_not_modelled_is_refused(to: str) -> None:
    with pytest.raises(InputError, match=r"--to: 1\.\d+ is not a release that kwhatif knows: it knows 1.33 to 1.37"):
        upgraded(before="1.36", to=to)


def test_what_is_said_of_several_workloads_is_said_once() -> None:
    names = ("shop", "other")
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    spaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": label}, "spec": {}}
        for name in names
    ]
    other = pod("mine", "even", owner="ReplicaSet/mine")
    other["metadata"] = {**other["metadata"], "namespace": "other"}
    labelled = {"node.openshift.io/os_id": "rhcos"}
    nodes = [{**each, "metadata": {**each["metadata"], "labels": labelled}} for each in NODES]
    mine = pod("mine", "even", owner="ReplicaSet/mine")
    session = kwhatif.load([*nodes, *spaces, mine, other], kubernetes_version="1.35")
    report = kwhatif.upgrade(session, to="1.36")
    said = [text for text in report.caveats if "Pod Security" in text]
    assert len(said) == 1
    assert all(name in said[0] for name in names)


# --- Which changes decide: taken back one after another, by an answer that is a function of what is taken back ---


A, B = ReleaseChange(37, "", "A"), ReleaseChange(36, "", "B")
P35, P36, P37 = (ReleaseChange(since, "Plugin", f"since {since}") for since in (35, 36, 37))
ALL = (A, B, P37, P36, P35)
Answer = Callable[[frozenset[ReleaseChange]], object]


def decisive(answer: Answer, before: str = "1.34", after: str = "1.37") -> set[str]:
    sessions = [kwhatif.load(NODES, kubernetes_version=version) for version in (before, after)]
    blame = Blame(*sessions)
    asked: dict[frozenset[ReleaseChange], Any] = {}

    def without(taken_back: Collection[ReleaseChange]) -> Any:
        return asked.setdefault(frozenset(taken_back), frozenset(taken_back))

    blame._without = without  # type: ignore[method-assign]
    return {change.what for change in blame.decisive(ALL, answer(frozenset()), answer)}  # type: ignore[arg-type]


CASES: dict[str, tuple[Answer, set[str]]] = {
    "nothing": (lambda _gone: 1, set()),
    "one gate": (lambda gone: A in gone, {"A"}),
    "both gates are needed": (lambda gone: bool({A, B} & gone), {"A", "B"}),
    "either gate is enough: the last that is left": (lambda gone: {A, B} <= gone, {"B"}),
    "each makes a difference": (lambda gone: (A in gone, B in gone), {"A", "B"}),
    "the last step of a plugin": (lambda gone: P37 in gone, {"since 37"}),
    "a step in between": (lambda gone: P36 in gone, {"since 36"}),
    "the first step": (lambda gone: P35 in gone, {"since 35"}),
    "two steps": (lambda gone: (P37 in gone, P35 in gone), {"since 37", "since 35"}),
    "there and back again": (lambda gone: P37 in gone and P36 not in gone, set()),
    "there and back again, and a gate": (lambda gone: (P37 in gone and P36 not in gone, B in gone), {"B"}),
    "a gate and a plugin": (lambda gone: A in gone or P36 in gone, {"A", "since 36"}),
}


@pytest.mark.parametrize(("answer", "expected"), CASES.values(), ids=CASES.keys())
def test_what_decides(answer: Answer, expected: set[str]) -> None:
    assert decisive(answer) == expected


def test_to_an_older_release_steps_are_taken_back_from_its_end() -> None:
    assert decisive(lambda gone: P35 in gone, "1.37", "1.34") == {"since 35"}
    assert decisive(lambda gone: (P35 in gone, P37 in gone), "1.37", "1.34") == {"since 35", "since 37"}
