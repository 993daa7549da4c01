"""Partitions that share counters, and devices that claims share."""

from typing import Any

import pytest

from kwhatif.dra.partial_allocation import consumed_by, has_capacity
from kwhatif.kube.model.quantity import parse_quantity, to_text
from kwhatif.kube.model.resource import Device, DeviceCapacity, ResourceClaim, ResourceSlice
from tests.devices import (
    GPU,
    NIC,
    allocated,
    claim,
    device,
    distinct,
    held,
    policy,
    request,
    result,
    slice_,
)
from tests.devices import capacity as amount
from tests.unit.dra.test_allocator import given, mine

# --- counters --------------------------------------------------------------------------------------------------


def partition(name: str, size: str, **options: Any) -> Device:
    return device(name, uses={"memory": {"bytes": size}}, **options)


def partitioned(*devices: Device, total: str = "40Gi", where: str = "n1", **options: Any) -> list[ResourceSlice]:
    """A pool of partitions of one board."""
    return [
        slice_(where, *devices, name=f"{where}-devices", count=2, **options),
        slice_(where, name=f"{where}-counters", count=2, counters={"memory": {"bytes": total}}, **options),
    ]


HALVES = [partition("whole", "40Gi"), partition("half-0", "20Gi"), partition("half-1", "20Gi")]


@pytest.mark.parametrize(
    ("count", "others", "expected"),
    [
        pytest.param(1, [], ["r=whole"], id="the whole board is free"),
        pytest.param(2, [], ["r=half-0", "r=half-1"], id="two halves are, when the whole would be too much"),
        pytest.param(3, [], None, id="there is no third part"),
        pytest.param(1, [held(f"{GPU}/n1/half-0")], ["r=half-1"], id="a held half leaves the other"),
        pytest.param(1, [held(f"{GPU}/n1/whole")], None, id="the held whole leaves none"),
    ],
)
def test_partitions_of_a_board(count: int, others: list[ResourceClaim], expected: list[str] | None) -> None:
    assert given(mine(request(count=count)), *partitioned(*HALVES), *others) == expected


def test_all_counters_of_the_pool_must_be_in_order() -> None:
    # One counter that is overdrawn keeps everything from being taken, also what does not use it.
    there = [
        slice_("n1", partition("a", "30Gi"), device("b", uses={"links": {"ports": "1"}}), name="d", count=2),
        slice_("n1", name="c", count=2, counters={"memory": {"bytes": "20Gi"}, "links": {"ports": "4"}}),
    ]
    assert given(mine(request()), *there) == ["r=b"]
    assert given(mine(request()), *there, held(f"{GPU}/n1/a")) is None


def test_devices_of_other_nodes_draw_on_the_counters_too() -> None:
    there = [
        slice_("n1", partition("a", "20Gi"), name="a", pool="p", count=3),
        slice_("n2", partition("b", "30Gi"), name="b", pool="p", count=3),
        slice_("", name="c", pool="p", count=3, counters={"memory": {"bytes": "40Gi"}}, all_nodes=True),
    ]
    assert given(mine(request()), *there) == ["r=a"]
    assert given(mine(request()), *there, held(f"{GPU}/p/b")) is None


def test_pools_of_one_name_are_mixed_up() -> None:
    # QUIRK: allocator_incubating.go keeps counters by the bare name of the pool: the first driver's count for both.
    there = partitioned(partition("a", "40Gi"))
    other = [
        slice_("n1", partition("b", "40Gi"), name="d", driver=NIC, count=2),
        slice_("n1", name="e", driver=NIC, count=2, counters={"memory": {"bytes": "100Gi"}}),
    ]
    assert given(mine(request(count=2)), *there) is None
    assert given(mine(request(count=2)), *there, *other) is None
    assert given(mine(request()), *other) == ["r=b"]


def test_a_tainted_device_keeps_its_counters() -> None:
    # QUIRK: allocateDevice counts before it looks at taints, and does not give back.
    there = partitioned(partition("a", "30Gi", taint=("broken", "NoSchedule")), partition("b", "20Gi"))
    assert given(mine(request()), *there) is None


def test_a_device_that_a_constraint_refuses_keeps_its_counters() -> None:
    # QUIRK: as above.
    there = partitioned(
        partition("a", "10Gi", key=0), partition("b", "20Gi", key=0), partition("c", "20Gi", key=1), total="40Gi"
    )
    asked = mine(request("p"), request("q"), constraints=(distinct(f"{GPU}/key"),))
    assert given(asked, *there) is None
    assert given(asked, *partitioned(*there[0].spec.devices, total="50Gi")) == ["p=a", "q=c"]


# --- shared devices --------------------------------------------------------------------------------------------

GI = 1024**3 * 10**9


def shared(name: str = "x", size: str | DeviceCapacity = "16Gi", **options: Any) -> Device:
    return device(name, shared=True, amounts={"memory": size}, **options)


def share(device_name: str, size: str, index: int = 0) -> ResourceClaim:
    """A claim of somebody else that has a share."""
    taken = result(
        "r", f"{GPU}/n1/{device_name}", share_id=f"{device_name}-{index}", consumed_capacity={"memory": size}
    )
    return allocated(claim(f"share-{device_name}-{index}"), taken)


@pytest.mark.parametrize(
    ("asked", "others", "fits"),
    [
        pytest.param({"memory": "8Gi"}, [], True, id="a part of it"),
        pytest.param({"memory": "17Gi"}, [], False, id="more than it has"),
        pytest.param({"memory": "8Gi"}, [share("x", "8Gi")], True, id="what another one leaves"),
        pytest.param({"memory": "8Gi"}, [share("x", "8Gi"), share("x", "1Gi", 1)], False, id="less is left"),
        pytest.param(None, [], True, id="without an amount all of it is asked for"),
        pytest.param(None, [share("x", "1Gi")], False, id="which is not free any more"),
        pytest.param({"cores": "1"}, [], False, id="a capacity that the device does not have"),
        pytest.param({"memory": "8Gi"}, [held(f"{GPU}/n1/x")], False, id="somebody holds it as a whole"),
    ],
)
def test_shares_of_a_device(asked: dict[str, str] | None, others: list[ResourceClaim], *, fits: bool) -> None:
    assert (given(mine(request(amounts=asked)), slice_("n1", shared()), *others) is not None) is fits


def test_requests_share_a_device_but_one_request_takes_it_once() -> None:
    half = {"memory": "8Gi"}
    assert given(mine(request("a", amounts=half), request("b", amounts=half)), slice_("n1", shared())) == ["a=x", "b=x"]
    assert given(mine(request(count=2, amounts=half)), slice_("n1", shared())) is None
    third = request("c", amounts={"memory": "1Gi"})
    assert given(mine(request("a", amounts=half), request("b", amounts=half), third), slice_("n1", shared())) is None


def test_a_share_that_is_given_back_can_be_taken_again() -> None:
    there = slice_("n1", shared("x", "8Gi"), shared("y", "16Gi"))
    asked = [claim("a", request(amounts={"memory": "8Gi"})), claim("b", request(amounts={"memory": "12Gi"}))]
    assert given(asked, there) == ["r=x", "r=y"]
    only_x = request("r", 'device.capacity["gpu.example.com"].memory.compareTo(quantity("8Gi")) == 0')
    assert given([claim("a", request(amounts={"memory": "8Gi"})), claim("b", only_x)], there) == ["r=y", "r=x"]


def test_of_a_device_that_is_not_shared_an_amount_is_the_least_size() -> None:
    there = slice_("n1", device("x", amounts={"memory": "8Gi"}), device("y", amounts={"memory": "16Gi"}))
    assert given(mine(request(amounts={"memory": "10Gi"})), there) == ["r=y"]


def test_the_counters_of_a_shared_partition_count_once() -> None:
    there = partitioned(partition("a", "40Gi", shared=True, amounts={"memory": "40Gi"}))
    asked = [claim(name, request(amounts={"memory": "20Gi"})) for name in ("a", "b")]
    assert given(asked, *there) == ["r=a", "r=a"]


@pytest.mark.parametrize(
    ("rule", "requested", "consumed"),
    [
        pytest.param(None, "3Gi", "3Gi", id="without a policy what is asked"),
        pytest.param(None, None, "16Gi", id="without a request everything"),
        pytest.param(policy("2Gi"), None, "2Gi", id="or the default"),
        pytest.param(policy(values=("2Gi", "4Gi")), "1Gi", "2Gi", id="the next valid value"),
        pytest.param(policy(values=("2Gi", "4Gi")), "4Gi", "4Gi", id="a valid value"),
        pytest.param(policy(values=("2Gi", "4Gi")), "5Gi", None, id="beyond all valid values"),
        pytest.param(policy(least="2Gi"), "1Gi", "2Gi", id="at least the minimum"),
        pytest.param(policy(least="2Gi"), "3500Mi", "3500Mi", id="above it anything"),
        pytest.param(policy(least="2Gi", most="4Gi"), "5Gi", None, id="beyond the maximum"),
        pytest.param(policy(least="1Gi", step="2Gi"), "2Gi", "3Gi", id="the next step from the minimum on"),
        pytest.param(policy(least="1Gi", step="2Gi"), "3Gi", "3Gi", id="a step"),
        pytest.param(policy(least="1Gi", step="2Gi", most="4Gi"), "4Gi", None, id="the next step is too much"),
        pytest.param(policy(least="1", step="2"), "1500m", "3", id="steps are counted in whole units"),
        pytest.param(policy(most="4Gi"), "3Gi", "3Gi", id="a range without a minimum rounds nothing"),
        pytest.param(policy(most="4Gi"), "5Gi", None, id="but has an end"),
        pytest.param(policy("5Gi", most="4Gi"), None, "5Gi", id="the default is always fine"),
        pytest.param(policy("5Gi", most="4Gi"), "5Gi", "5Gi", id="also when it is asked for"),
    ],
)
def test_policies(rule: object, requested: str | None, consumed: str | None) -> None:
    capacities = {"memory": amount("16Gi", rule)}  # type: ignore[arg-type]
    asked = {} if requested is None else {"memory": parse_quantity(requested)}
    assert has_capacity(capacities, asked, {}, {}) is (consumed is not None)
    if consumed is not None:
        assert consumed_by(capacities, asked) == {"memory": parse_quantity(consumed)}


@pytest.mark.parametrize(
    ("used", "taken", "fits"), [(8, 0, True), (0, 8, True), (4, 4, True), (8, 1, False), (9, 0, False)]
)
def test_room_beside_others(used: int, taken: int, *, fits: bool) -> None:
    room = has_capacity({"memory": amount("16Gi")}, {"memory": 8 * GI}, {"memory": used * GI}, {"memory": taken * GI})
    assert room is fits


def test_amounts_survive_as_texts() -> None:
    assert parse_quantity(to_text(parse_quantity("1500m"))) == parse_quantity("1500m")
