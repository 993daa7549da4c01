"""Devices: which of them rules taint, and the classes behind extended resources."""

from typing import Any

import pytest

from kwhatif.dra.allocator import Allocator, InvalidPool, UnsatisfiedRequest
from kwhatif.dra.devices import changes_devices, device_classes_by_resource
from kwhatif.dra.requests import compile_claim
from kwhatif.kube.gates import default_gates
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.node import Taint
from kwhatif.kube.model.pod_spec import Toleration
from kwhatif.kube.model.resource import DeviceClass, DeviceClassSpec, DeviceTaintRule, ResourceClaim
from kwhatif.scheduler.release import find_release
from kwhatif.state.change import Delete, SetFacts, Upsert
from kwhatif.state.state import State
from tests.builders import cluster, node, snapshot
from tests.devices import (
    GPU,
    NIC,
    alternative,
    claim,
    device,
    device_class,
    first_of,
    gpus,
    request,
    slice_,
    taint_rule,
)

NODES = ("n1", "n2")


def world(*objects: Any, minor: int = 37, gates: dict[str, bool] | None = None) -> State:
    state = snapshot(*map(node, NODES), device_class(), gpus("n1", 2), gpus("n2", 1), *objects)
    state.apply(SetFacts.of(state.cluster, **find_release(minor).with_gates(gates or {}).facts))
    return state


def devices(state: State, wanted: ResourceClaim, on: str = "n1") -> list[str] | UnsatisfiedRequest:
    """The devices that the claim gets, or why it gets none."""
    cluster = state.cluster
    asked = compile_claim(wanted, cluster, cluster.facts.gates)
    found = Allocator(cluster, gates=cluster.facts.gates).allocate(state.by_name[on], [asked])
    if isinstance(found, UnsatisfiedRequest):
        return found
    assert not isinstance(found, InvalidPool)
    return [each.device for each in found[0].devices.results]


#: What a rule selects -> the devices of n1 that are left for a claim for one.
SELECTORS: dict[str, tuple[dict[str, str] | None, list[str]]] = {
    "nothing": (None, ["gpu-0"]),
    "all devices": ({}, []),
    "of the driver": ({"driver": GPU}, []),
    "of another driver": ({"driver": NIC}, ["gpu-0"]),
    "of the pool": ({"pool": "n1"}, []),
    "of another pool": ({"pool": "n2"}, ["gpu-0"]),
    "one": ({"device": "gpu-0"}, ["gpu-1"]),
    "one of the driver and the pool": ({"driver": GPU, "pool": "n1", "device": "gpu-0"}, ["gpu-1"]),
    "one of another pool": ({"pool": "n2", "device": "gpu-0"}, ["gpu-0"]),
    "one that is not there": ({"device": "gpu-7"}, ["gpu-0"]),
    "a star is a name": ({"driver": "*"}, ["gpu-0"]),
    "the empty name": ({"device": ""}, ["gpu-0"]),
}


@pytest.mark.parametrize(("selector", "left"), SELECTORS.values(), ids=SELECTORS.keys())
def test_what_a_rule_selects(selector: dict[str, str] | None, left: list[str]) -> None:
    found = devices(world(taint_rule("r", selector)), claim("c", request()))
    assert (found if isinstance(found, list) else []) == left


def exists(effect: str = "", key: str = "broken", **fields: Any) -> Toleration:
    return Toleration(key=key, operator="Exists", effect=effect, **fields)


EFFECTS: dict[str, tuple[str, tuple[Toleration, ...], bool]] = {
    "NoSchedule": ("NoSchedule", (), False),
    "NoExecute": ("NoExecute", (), False),
    "None": ("None", (), True),
    "one that is not known": ("Explode", (), True),
    "tolerated": ("NoSchedule", (exists(),), True),
    "tolerated with this effect": ("NoExecute", (exists("NoExecute"),), True),
    "tolerated with another effect": ("NoExecute", (exists("NoSchedule"),), False),
    "tolerated for a time": ("NoExecute", (exists("NoExecute", toleration_seconds=5),), True),
    "tolerated for no time": ("NoExecute", (exists("NoExecute", toleration_seconds=0),), True),
    "another key": ("NoSchedule", (exists(key="other"),), False),
    "another value": ("NoSchedule", (Toleration(key="broken", operator="Equal", value="no"),), False),
    "the value": ("NoSchedule", (Toleration(key="broken", value="yes"),), True),
    "every taint": ("NoSchedule", (Toleration(operator="Exists"),), True),
}


@pytest.mark.parametrize(("effect", "tolerations", "taken"), EFFECTS.values(), ids=EFFECTS.keys())
def test_what_keeps_claims_away(effect: str, tolerations: tuple[Toleration, ...], taken: bool) -> None:
    state = world(taint_rule("r", {}, effect=effect, value="yes"))
    wanted = claim("c", request(tolerations=tolerations))
    assert isinstance(devices(state, wanted), list) is taken


def test_rules_add_to_the_taints_of_the_slice_and_to_each_other() -> None:
    tainted = slice_("n3", device("gpu-0", taint=("worn", "NoSchedule")))
    rules = [taint_rule("a", {"pool": "n3"}), taint_rule("b", {"pool": "n3"}, key="hot", effect="NoExecute")]
    state = snapshot(node("n3"), device_class(), tainted, *rules)
    state.apply(SetFacts.of(state.cluster, **find_release(37).facts))
    for keys in (("worn",), ("worn", "broken"), ("worn", "hot"), ("broken", "hot")):
        wanted = claim("c", request(tolerations=tuple(exists(key=key) for key in keys)))
        assert isinstance(devices(state, wanted, "n3"), UnsatisfiedRequest)
    all_of_them = claim("c", request(tolerations=tuple(exists(key=key) for key in ("worn", "broken", "hot"))))
    assert devices(state, all_of_them, "n3") == ["gpu-0"]


def test_an_alternative_may_tolerate_it() -> None:
    state = world(taint_rule("r", {}))
    options = alternative("first"), alternative("second", tolerations=(exists(),))
    assert devices(state, claim("c", first_of("r", *options))) == ["gpu-0"]


def test_all_devices_are_all_but_a_tainted_one_keeps_them() -> None:
    state = world(taint_rule("r", {"device": "gpu-1"}))
    assert isinstance(devices(state, claim("c", request(count=None))), UnsatisfiedRequest)
    assert devices(state, claim("c", request(count=None, tolerations=(exists(),)))) == ["gpu-0", "gpu-1"]


def test_why_a_claim_gets_none() -> None:
    state = world(taint_rule("r", {"device": "gpu-1"}, value="yes"))
    taint = Taint(key="broken", value="yes", effect="NoSchedule")
    found = devices(state, claim("c", request(count=2)))
    assert isinstance(found, UnsatisfiedRequest)
    assert found[2:6] == (2, 2, 1, 1)
    assert [(each.key, each.value, each.effect) for each in found.taints] == [(taint.key, taint.value, taint.effect)]


def test_what_is_allocated_says_what_it_tolerates() -> None:
    state = world()
    tolerations = (exists("NoExecute", toleration_seconds=30),)
    asked = compile_claim(claim("c", request(tolerations=tolerations)), state.cluster, state.cluster.facts.gates)
    found = Allocator(state.cluster).allocate(state.by_name["n1"], [asked])
    assert not isinstance(found, UnsatisfiedRequest | InvalidPool)
    assert found[0].devices.results[0].tolerations == tolerations


#: Release and gates -> whether rules count.
RELEASES: dict[tuple[int, str], bool] = {
    (37, ""): True,
    (37, "DRADeviceTaintRules=false"): False,
    (36, ""): False,
    (36, "DRADeviceTaintRules=true"): True,
    (35, ""): False,
    (35, "DRADeviceTaintRules=true"): False,  # without taints there are none
    (35, "DRADeviceTaints=true,DRADeviceTaintRules=true"): True,
    (34, "DRADeviceTaints=true"): True,  # no gate of their own yet
    (34, ""): False,
}


@pytest.mark.parametrize(("minor", "gates"), RELEASES)
def test_which_releases_look_at_rules(minor: int, gates: str) -> None:
    settings = {name: value == "true" for name, _, value in (part.partition("=") for part in gates.split(",") if part)}
    found = devices(world(taint_rule("r", {}), minor=minor, gates=settings), claim("c", request()))
    assert isinstance(found, UnsatisfiedRequest) is RELEASES[minor, gates]


def test_the_gate_is_on_since_1_37() -> None:
    assert [minor for minor in range(33, 38) if "DRADeviceTaintRules" in default_gates(minor)] == [37]


def test_a_rule_that_comes_changes_and_goes_counts_at_once() -> None:
    state = world()
    wanted = claim("c", request())
    assert devices(state, wanted) == ["gpu-0"]
    state.apply(Upsert(taint_rule("r", {"device": "gpu-0"})))
    assert devices(state, wanted) == ["gpu-1"]
    state.apply(Upsert(taint_rule("r", {"device": "gpu-1"})))
    assert devices(state, wanted) == ["gpu-0"]
    state.apply(Upsert(taint_rule("r", {})))
    assert isinstance(devices(state, wanted), UnsatisfiedRequest)
    state.apply(SetFacts.of(state.cluster, **find_release(36).facts))
    assert devices(state, wanted) == ["gpu-0"]
    state.apply(SetFacts.of(state.cluster, **find_release(37).facts))
    assert isinstance(devices(state, wanted), UnsatisfiedRequest)
    state.apply(Delete.of(taint_rule("r")))
    assert devices(state, wanted) == ["gpu-0"]


ONE, OTHER = taint_rule("r", {"device": "gpu-0"}), taint_rule("r", {"device": "gpu-1"})
HEARD: dict[str, tuple[DeviceTaintRule | None, DeviceTaintRule | None, bool]] = {
    "comes": (None, ONE, True),
    "goes": (ONE, None, True),
    "moves on": (ONE, OTHER, True),
    "another effect": (ONE, taint_rule("r", {"device": "gpu-0"}, effect="NoExecute"), True),
    "another time": (ONE, taint_rule("r", {"device": "gpu-0"}, since="2026-01-01T00:00:00Z"), True),
    "the same devices by other words": (ONE, taint_rule("r", {"device": "gpu-0", "driver": GPU}), False),
    "nothing changes": (ONE, ONE, False),
    "about nothing": (None, taint_rule("r", {"device": "gpu-9"}), False),
    "about nothing, and then something": (taint_rule("r", {"device": "gpu-9"}), ONE, True),
}


@pytest.mark.parametrize(("old", "new", "heard"), HEARD.values(), ids=HEARD.keys())
def test_what_the_scheduler_hears_of(old: DeviceTaintRule | None, new: DeviceTaintRule | None, heard: bool) -> None:
    assert changes_devices(old, new, world().cluster) is heard
    assert not changes_devices(old, new, world(minor=36).cluster)


# --- From the name of an extended resource to the DeviceClass behind it -------------------------------


OLD, NEW = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
IMPLICIT = "deviceclass.resource.kubernetes.io/"


def extending(name: str, resource: str | None = None, created: str | None = None) -> DeviceClass:
    meta = ObjectMeta(name=name, creation_timestamp=created)
    return DeviceClass(metadata=meta, spec=DeviceClassSpec(extended_resource_name=resource))


CASES = {
    "no class": ([], {}),
    "every class has an implicit name": ([extending("a")], {IMPLICIT + "a": "a"}),
    "and perhaps an explicit one": (
        [extending("a", "x.io/gpu")],
        {IMPLICIT + "a": "a", "x.io/gpu": "a"},
    ),
    "the newer class gets the name": (
        [extending("a", "x.io/gpu", OLD), extending("b", "x.io/gpu", NEW)],
        {IMPLICIT + "a": "a", IMPLICIT + "b": "b", "x.io/gpu": "b"},
    ),
    "an older class that comes later is dropped altogether": (
        [extending("a", "x.io/gpu", NEW), extending("b", "x.io/gpu", OLD)],
        {IMPLICIT + "a": "a", "x.io/gpu": "a"},
    ),
    "of equal age, the smaller name": (
        [extending("b", "x.io/gpu", OLD), extending("a", "x.io/gpu", OLD)],
        {IMPLICIT + "a": "a", "x.io/gpu": "a"},
    ),
    "a class without a date is older than any": (
        [extending("a", "x.io/gpu"), extending("b", "x.io/gpu", OLD)],
        {IMPLICIT + "a": "a", IMPLICIT + "b": "b", "x.io/gpu": "b"},
    ),
}


@pytest.mark.parametrize(("classes", "expected"), CASES.values(), ids=CASES.keys())
def test_classes_by_resource(classes: list[DeviceClass], expected: dict[str, str]) -> None:
    found = device_classes_by_resource(cluster(*classes))
    assert {name: found[name].metadata.name for name in found} == expected


def test_a_class_that_is_added_is_found() -> None:
    made = cluster()
    assert not device_classes_by_resource(made)
    made.add(extending("a"))
    assert list(device_classes_by_resource(made)) == [IMPLICIT + "a"]
