"""Device taint eviction: who leaves a tainted device, and when."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.controllers.contract import DeletePod
from kwhatif.controllers.device_taint_eviction import DeviceTaintEviction
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod import ExtendedResourceClaimStatus
from kwhatif.kube.model.pod_spec import Toleration
from kwhatif.kube.model.resource import (
    DeviceTaint,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceSlice,
)
from kwhatif.scheduler.release import find_release
from kwhatif.state.change import SetFacts
from tests.builders import PodBuilder, node
from tests.devices import GPU, allocated, asking, claim, device, request, result, slice_, taint_rule
from tests.fake_cluster import START, FakeCluster

KEY = "default/pod"
EARLIER, LATER = "2026-02-28T23:59:50Z", "2026-03-01T00:00:20Z"


def toleration(seconds: int | None = None, key: str = "broken", **fields: Any) -> Toleration:
    made = {"operator": "Exists", "effect": "NoExecute", "toleration_seconds": seconds, **fields}
    return Toleration(key=key, **made)


def in_use(*tolerations: Toleration, device: str = "gpu-0", uid: str = "uid", name: str = "mine") -> ResourceClaim:
    """The claim with a device of n1, reserved for the pod."""
    found = allocated(claim(name, request()), result("r", f"{GPU}/n1/{device}", tolerations=tolerations))
    users = (ResourceClaimConsumerReference(resource="pods", name="pod", uid=uid),)
    return replace(found, status=replace(found.status, reserved_for=users))


def using(*claims: str) -> PodBuilder:
    return asking(*(claims or ("mine",))).meta(uid="uid").on("n1").status(phase="Running")


def world(*objects: Any, minor: int = 37, gates: dict[str, bool] | None = None) -> FakeCluster:
    made = FakeCluster([DeviceTaintEviction()], node("n1"), slice_("n1", device("gpu-0"), device("gpu-1")), *objects)
    release = find_release(minor).with_gates(gates or {})
    made.state.apply(SetFacts.of(made.state.cluster, **release.facts))
    return made


def evicting(since: str | None = START, selector: dict[str, str] | None = None, **fields: Any) -> DeviceTaintRule:
    chosen = {"device": "gpu-0"} if selector is None else selector
    return taint_rule("r", chosen, **{"effect": "NoExecute", "since": since, **fields})


def gone(at: FakeCluster) -> list[float]:
    assert all((how, key) == ("DeviceTaintEviction", KEY) for _, how, key in at.deleted)
    return [seconds for seconds, _, _ in at.deleted]


CASES: dict[str, tuple[tuple[Toleration, ...], DeviceTaintRule, float | None]] = {
    "not tolerated": ((), evicting(), 0),
    "tolerated forever": ((toleration(),), evicting(), None),
    "for a time": ((toleration(30),), evicting(), 30),
    "its clock starts with the taint": ((toleration(30),), evicting(EARLIER), 20),
    "and may have run out": ((toleration(5),), evicting(EARLIER), 0),
    "a taint that comes later": ((), evicting(LATER), 20),
    "and is tolerated for a time": ((toleration(30),), evicting(LATER), 50),
    "without a time since the start": ((toleration(30),), evicting(None), 30),
    "for no time": ((toleration(0),), evicting(), 0),
    "for less than no time": ((toleration(-5),), evicting(), 0),
    "the shortest of several tolerations": ((toleration(30), toleration(20)), evicting(), 20),
    "one of them forever": ((toleration(30), toleration()), evicting(), None),
    "another key": ((toleration(key="other"),), evicting(), 0),
    "another value": ((toleration(operator="Equal", value="no"),), evicting(value="yes"), 0),
    "the value": ((toleration(operator="Equal", value="yes"),), evicting(value="yes"), None),
    "every key": ((toleration(key=""),), evicting(), None),
    # The scheduler takes this for a toleration of every effect, the controller for none.
    "without an effect": ((toleration(effect=""),), evicting(), 0),
    "another effect": ((toleration(effect="NoSchedule"),), evicting(), 0),
    "NoSchedule evicts nobody": ((), evicting(effect="NoSchedule"), None),
    "None evicts nobody": ((), evicting(effect="None"), None),
    "another device": ((), evicting(selector={"device": "gpu-1"}), None),
    "another pool": ((), evicting(selector={"pool": "n2"}), None),
    "all devices": ((), evicting(selector={}), 0),
}


@pytest.mark.parametrize(("tolerations", "rule", "seconds"), CASES.values(), ids=CASES.keys())
def test_when_it_goes(tolerations: tuple[Toleration, ...], rule: DeviceTaintRule, seconds: float | None) -> None:
    at = world(using(), in_use(*tolerations))
    at.put(rule).until(1000)
    assert gone(at) == ([] if seconds is None else [seconds])
    if seconds is not None:
        (write,) = at.writes
        assert isinstance(write, DeletePod)
        assert write.condition is not None
        assert write.condition.reason == "DeletionByDeviceTaintManager"


def tainted(*taints: DeviceTaint, generation: int = 1, name: str = "n1-gpu.example.com") -> ResourceSlice:
    made = slice_("n1", replace(device("gpu-0"), taints=taints), device("gpu-1"), name=name, generation=generation)
    return replace(made, metadata=ObjectMeta(name=name))


NO_EXECUTE = DeviceTaint(key="worn", effect="NoExecute", time_added=START)


def test_a_taint_of_the_driver_evicts_as_well() -> None:
    """Also in 1.36, where rules count for nothing."""
    for minor in (36, 37):
        at = world(using(), in_use(toleration(10, "worn")), minor=minor)
        at.put(tainted(NO_EXECUTE)).until(1000)
        assert gone(at) == [10]


def test_of_two_taints_the_first_that_evicts() -> None:
    at = world(using(), in_use(toleration(40, "worn"), toleration(25)))
    at.put(tainted(NO_EXECUTE), evicting()).until(1000)
    assert gone(at) == [25]


def test_of_two_claims_the_first_that_evicts() -> None:
    other = in_use(toleration(15), device="gpu-1", name="other")
    at = world(using("mine", "other"), in_use(toleration(30)), other)
    at.put(evicting(selector={})).until(1000)
    assert gone(at) == [15]


def test_only_the_newest_generation_of_a_pool_counts() -> None:
    at = world(using(), in_use())
    at.put(tainted(generation=3, name="new"), tainted(NO_EXECUTE, generation=2, name="old")).until(1000)
    assert gone(at) == []


@pytest.mark.parametrize("gates", [{"DRADeviceTaintRules": False}, {"DRADeviceTaints": False}], ids=str)
def test_rules_evict_nobody_without_their_gates(gates: dict[str, bool]) -> None:
    at = world(using(), in_use(), gates=gates)
    at.put(evicting()).until(1000)
    assert gone(at) == []


def test_a_taint_that_goes_in_time_evicts_nobody() -> None:
    at = world(using(), in_use(toleration(30)))
    at.put(evicting()).until(20)
    at.remove(DeviceTaintRule, "r").until(1000)
    assert gone(at) == []


def test_a_taint_with_another_time_evicts_at_another_time() -> None:
    at = world(using(), in_use(toleration(30)))
    at.put(evicting()).until(10)
    at.put(evicting(LATER)).until(1000)
    assert gone(at) == [50]


def test_who_comes_to_a_tainted_device_goes_again() -> None:
    at = world(in_use(toleration(30)), evicting())
    at.put(using().build()).until(1000)
    assert gone(at) == [30]


def test_whose_claim_comes_to_be_reserved_goes() -> None:
    pending = claim("mine", request())
    at = world(using(), pending, evicting())
    at.until(5)
    at.put(in_use()).until(1000)
    assert gone(at) == [5]


@pytest.mark.parametrize(
    ("pod", "found"),
    [
        (asking("mine").meta(uid="uid"), in_use()),  # not on a node
        (using(), in_use(uid="another")),  # reserved for one of the same name
        (using("other"), in_use()),  # does not use it
        (using(), claim("mine", request())),  # not allocated
    ],
)
def test_who_stays(pod: PodBuilder, found: ResourceClaim) -> None:
    at = world(pod, found)
    at.put(evicting()).until(1000)
    assert gone(at) == []


def test_who_is_terminating_is_left_alone_for_good() -> None:
    dying = using().meta(uid="uid", deletion_timestamp=LATER)
    at = world(dying, in_use())
    at.put(evicting()).until(10)
    at.put(evicting(EARLIER)).until(1000)
    assert gone(at) == []


def test_another_pod_of_that_name_is_another_pod() -> None:
    at = world(using(), in_use(toleration(30)))
    at.put(evicting()).until(40)
    at.gone(KEY)
    at.put(in_use(uid="second"), using().meta(uid="second").build()).until(1000)
    assert gone(at) == [30, 40]


def test_a_claim_for_extended_resources_counts() -> None:
    status = ExtendedResourceClaimStatus(resource_claim_name="mine")
    at = world(
        asking().meta(uid="uid").on("n1").status(phase="Running", extended_resource_claim_status=status), in_use()
    )
    at.put(evicting()).until(1000)
    assert gone(at) == [0]
