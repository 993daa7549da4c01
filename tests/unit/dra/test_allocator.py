"""The structured allocator: which devices a claim gets on a node."""

from collections.abc import Sequence

import pytest

from kwhatif.dra.allocator import Allocator, InvalidPool, UnsatisfiedRequest
from kwhatif.dra.requests import AllocationError, compile_claim
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.resource import AllocationResult, DeviceSelector, ResourceClaim
from tests.builders import ZONE, NodeBuilder, cluster, node, requirement
from tests.devices import (
    GPU,
    NIC,
    allocated,
    alternative,
    capacity,
    claim,
    device,
    device_class,
    distinct,
    first_of,
    gpus,
    held,
    match,
    nodes_where,
    only_on,
    policy,
    request,
    result,
    slice_,
    tolerating,
    version,
)

N1 = node("n1").zone("a")
Claims = Sequence[ResourceClaim]


def world(*objects: KubernetesObject | NodeBuilder) -> Cluster:
    return cluster(N1, device_class(), *objects)


def answer(
    claims: Claims, *objects: KubernetesObject, name: str = "n1", tries: int | None = None
) -> tuple[AllocationResult, ...] | UnsatisfiedRequest | InvalidPool:
    within = world(*objects)
    wanted = [compile_claim(one, within) for one in claims]
    return Allocator(within, tries).allocate(node(name).zone("a").info(), wanted)


def given(claims: ResourceClaim | Claims, *objects: KubernetesObject) -> list[str] | None:
    """`request=device` for all claims on n1, in order; None where they cannot be allocated."""
    found = answer((claims,) if isinstance(claims, ResourceClaim) else claims, *objects)
    if isinstance(found, UnsatisfiedRequest | InvalidPool):
        return None
    return [f"{one.request}={one.device}" for allocation in found for one in allocation.devices.results]


def error(claims: ResourceClaim | Claims, *objects: KubernetesObject) -> str:
    with pytest.raises(AllocationError) as failure:
        given(claims, *objects)
    return str(failure.value)


def mine(*requests: object, **fields: object) -> ResourceClaim:
    return claim("mine", *requests, **fields)  # type: ignore[arg-type]


# --- counts and order ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "objects", "expected"),
    [
        pytest.param(1, [gpus("n1", 2)], ["r=gpu-0"], id="the first device of the node is taken"),
        pytest.param(2, [gpus("n1", 2)], ["r=gpu-0", "r=gpu-1"], id="as many as are asked for"),
        pytest.param(3, [gpus("n1", 2)], None, id="not more than there are"),
        pytest.param(1, [gpus("n2", 2)], None, id="devices of another node are none"),
        pytest.param(1, [], None, id="without slices there are none"),
        pytest.param(1, [gpus("n1", 2), held(f"{GPU}/n1/gpu-0")], ["r=gpu-1"], id="a held device is passed over"),
        pytest.param(None, [gpus("n1", 2)], ["r=gpu-0", "r=gpu-1"], id="all devices"),
        pytest.param(None, [], None, id="all of none is a failure"),
        pytest.param(None, [gpus("n1", 2), held(f"{GPU}/n1/gpu-1")], None, id="all of them must be free"),
    ],
)
def test_how_many(count: int | None, objects: list[KubernetesObject], expected: list[str] | None) -> None:
    assert given(mine(request(count=count)), *objects) == expected


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param(
            [gpus("n1", 1, pool="pool-2", name="a"), gpus("n1", 1, pool="pool-10", name="b")],
            ["pool-10", "pool-2"],
            id="pools by name, as texts",
        ),
        pytest.param([gpus("n1", 1, driver=NIC), gpus("n1", 1)], [f"{GPU}/n1", f"{NIC}/n1"], id="drivers before pools"),
        pytest.param(
            [
                slice_("n1", device("x"), name="b", count=2),
                slice_("n1", device("y"), name="a", count=2),
            ],
            ["y", "x"],
            id="slices by name, whatever their devices are called",
        ),
        pytest.param(
            [
                slice_("n1", device("x", fields={"binding_conditions": ("ready",)}), pool="a"),
                slice_("n1", device("y"), pool="b"),
            ],
            ["y", "x"],
            id="pools with devices that need preparation come last",
        ),
    ],
)
def test_the_order_of_devices(objects: list[KubernetesObject], expected: list[str]) -> None:
    found = allocation(mine(request(count=2)), *objects)
    paths = [f"{one.driver}/{one.pool}/{one.device}" for one in found.devices.results]
    assert all(part in path for part, path in zip(expected, paths, strict=True)), paths


def test_two_requests_do_not_get_one_device() -> None:
    assert given(mine(request("a"), request("b")), gpus("n1", 2)) == ["a=gpu-0", "b=gpu-1"]
    assert given(mine(request("a"), request("b")), gpus("n1", 1)) is None


def test_two_claims_of_a_pod_do_not_get_one_device() -> None:
    assert given([claim("a", request()), claim("b", request())], gpus("n1", 2)) == ["r=gpu-0", "r=gpu-1"]


def test_an_earlier_claim_gives_way_when_a_later_one_needs_its_device() -> None:
    first = 'device.attributes["gpu.example.com"].index == 0'
    assert given([claim("a", request()), claim("b", request("r", first))], gpus("n1", 2)) == ["r=gpu-1", "r=gpu-0"]


def test_a_claim_without_requests_gets_nothing() -> None:
    assert given(mine()) == []


# --- which nodes see a device ----------------------------------------------------------------------------------


def per_device(*devices: object) -> KubernetesObject:
    return slice_("", *devices, pool="net", per_device_node_selection=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        pytest.param(gpus("", 1, pool="net", all_nodes=True), True, id="all nodes"),
        pytest.param(
            gpus("", 1, pool="net", node_selector=nodes_where(requirement(ZONE, "In", "a"))), True, id="a zone"
        ),
        pytest.param(
            gpus("", 1, pool="net", node_selector=nodes_where(requirement(ZONE, "In", "b"))), False, id="another zone"
        ),
        pytest.param(gpus("", 1, pool="net"), False, id="a slice that says nothing is for no node"),
        pytest.param(per_device(device("x", fields={"node_name": "n1"})), True, id="a device of the node"),
        pytest.param(per_device(device("x", fields={"node_name": "n2"})), False, id="a device of another node"),
        pytest.param(per_device(device("x", fields={"all_nodes": True})), True, id="a device of all nodes"),
        pytest.param(
            per_device(device("x", fields={"node_selector": nodes_where(requirement(ZONE, "Exists"))})),
            True,
            id="a device of selected nodes",
        ),
        pytest.param(per_device(device("x")), False, id="a device that says nothing is for no node"),
    ],
)
def test_nodes_of_devices(there: KubernetesObject, *, expected: bool) -> None:
    assert (given(mine(request()), there) is not None) is expected


def test_of_a_slice_for_several_nodes_a_node_gets_its_own_devices() -> None:
    there = per_device(
        device("x", fields={"node_name": "n2"}),
        device("y", fields={"node_name": "n1"}),
        device("z", fields={"all_nodes": True}),
    )
    assert given(mine(request(count=None)), there) == ["r=y", "r=z"]


# --- selectors -------------------------------------------------------------------------------------------------


def attribute(name: str, value: str) -> str:
    return f'device.attributes["{GPU}"].{name} == {value}'


def test_the_selectors_of_class_and_request_must_all_hold() -> None:
    there = slice_(
        "n1", device("x", model="t4", index=1), device("y", model="a100", index=0), device("z", model="a100", index=1)
    )
    fast = device_class("fast", attribute("model", '"a100"'))
    asked = request("r", 'device.driver == "gpu.example.com"', attribute("index", "1"), of="fast")
    assert given(mine(asked), there, fast) == ["r=z"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("30Gi"))', "y", id="capacity"),
        pytest.param(attribute("version", 'semver("2.0.0")'), "y", id="version"),
        pytest.param("device.allowMultipleAllocations", "z", id="shared"),
        pytest.param('device.attributes["other.example.com"].?x.orValue(1) == 1', "x", id="absent attribute"),
    ],
)
def test_what_selectors_see(expression: str, expected: str) -> None:
    there = slice_(
        "n1",
        device("x", version=version("1.0.0"), amounts={"memory": "16Gi"}),
        device("y", version=version("2.0.0"), amounts={"memory": "40Gi"}),
        device("z", version=version("3.0.0"), amounts={"memory": "1Gi"}, shared=True),
    )
    assert given(mine(request("r", expression)), there) == [f"r={expected}"]


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        pytest.param(
            request("r", attribute("absent", "1")),
            "claim default/mine: selector #0: CEL runtime error: no such key: absent",
            id="a request's selector that fails",
        ),
        pytest.param(
            request(of="broken"),
            "class broken: selector #1: CEL runtime error: no such key: absent",
            id="a class's selector that fails",
        ),
    ],
)
def test_a_selector_that_fails_ends_the_attempt(asked: object, text: str) -> None:
    broken = device_class("broken", "true", attribute("absent", "1"))
    assert error(mine(asked), gpus("n1", 1), broken) == text


def test_a_selector_that_does_not_compile_ends_the_attempt() -> None:
    assert error(mine(request("r", "device.nope")), gpus("n1", 1)).startswith(
        "claim default/mine: selector #0: CEL compile error: compilation failed: undefined field"
    )


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param(version("1.0"), "parse semantic version: No Major.Minor.Patch elements found", id="bad version"),
        pytest.param(version(""), "parse semantic version: Version string empty", id="empty version"),
    ],
)
def test_an_attribute_without_a_value_ends_the_attempt(value: object, problem: str) -> None:
    assert error(mine(request("r", "true")), slice_("n1", device("x", v=value))) == (
        f"claim default/mine: selector #0: CEL runtime error: attribute v: {problem}"
    )


def test_devices_that_are_not_looked_at_cannot_fail() -> None:
    there = slice_("n1", device("x", model="a100"), device("y"))
    assert given(mine(request("r", attribute("model", '"a100"'))), there) == ["r=x"]


# --- alternatives ----------------------------------------------------------------------------------------------


def test_the_first_alternative_that_is_available_is_taken() -> None:
    many, one = alternative("many", count=4), alternative("one")
    assert given(mine(first_of("r", many, one)), gpus("n1", 4)) == [f"r/many=gpu-{index}" for index in range(4)]
    assert given(mine(first_of("r", many, one)), gpus("n1", 3)) == ["r/one=gpu-0"]
    assert given(mine(first_of("r", many, one))) is None


def test_a_later_request_makes_an_earlier_one_content_with_less() -> None:
    asked = mine(first_of("a", alternative("two", count=2), alternative("one")), request("b"))
    assert given(asked, gpus("n1", 2)) == ["a/one=gpu-0", "b=gpu-1"]


def test_alternatives_that_would_be_too_many_are_passed_over() -> None:
    asked = mine(first_of("a", alternative("many", count=20), alternative("few", count=2)), request("b", count=20))
    found = given(asked, gpus("n1", 60))
    assert found is not None
    assert [one.partition("=")[0] for one in found] == ["a/few"] * 2 + ["b"] * 20


# --- constraints -----------------------------------------------------------------------------------------------


NUMA = [
    device("x", {f"{GPU}/numa": 0}, model="a100"),
    device("y", {f"{GPU}/numa": 1}, model="t4"),
    device("z", {f"{GPU}/numa": 1}, model="a100"),
    device("nothing"),
]


@pytest.mark.parametrize(
    ("requests", "constraint", "expected"),
    [
        pytest.param([request(count=2)], match(f"{GPU}/numa"), ["r=y", "r=z"], id="the values must match"),
        pytest.param([request(count=3)], match(f"{GPU}/numa"), None, id="devices without the attribute never match"),
        pytest.param(
            [request(count=2)], match(f"{GPU}/model"), ["r=x", "r=z"], id="a bare name belongs to the driver's domain"
        ),
        pytest.param([request()], match("other.example.com/model"), None, id="but to no other domain"),
        pytest.param(
            [request("a"), request("b")], match(f"{GPU}/numa", "b"), ["a=x", "b=y"], id="only the named requests count"
        ),
        pytest.param(
            [first_of("a", alternative("s"), alternative("t")), request("b")],
            match(f"{GPU}/numa", "a/s", "b"),
            ["a/s=y", "b=z"],
            id="an alternative may be named",
        ),
        pytest.param(
            [first_of("a", alternative("s"), alternative("t")), request("b")],
            match(f"{GPU}/numa", "a"),
            ["a/s=x", "b=y"],
            id="or the request with all of its alternatives",
        ),
        pytest.param(
            [request("a"), request("b")], distinct(f"{GPU}/model"), ["a=x", "b=y"], id="the values must differ"
        ),
        pytest.param(
            [request("a"), request("b"), request("c")], distinct(f"{GPU}/model"), None, id="there are two values only"
        ),
    ],
)
def test_constraints(requests: list[object], constraint: object, expected: list[str] | None) -> None:
    assert given(mine(*requests, constraints=(constraint,)), slice_("n1", *NUMA)) == expected


def test_values_of_different_types_do_not_match() -> None:
    there = slice_("n1", device("x", key=1), device("y", key="1"), device("z", key=True))
    assert given(mine(request(count=2), constraints=(match(f"{GPU}/key"),)), there) is None
    assert given(mine(request(count=2), constraints=(distinct(f"{GPU}/key"),)), there) == ["r=x", "r=y"]


def test_of_one_request_only_the_last_value_counts_as_taken() -> None:
    # QUIRK: constraint.go remembers one value per request, so x and z, which agree, are both taken.
    there = slice_("n1", device("x", key=0), device("y", key=1), device("z", key=0))
    assert given(mine(request(count=3), constraints=(distinct(f"{GPU}/key"),)), there) == ["r=x", "r=y", "r=z"]


def test_a_constraint_that_excludes_one_of_all_devices_is_an_error() -> None:
    there = slice_("n1", device("x", key=0), device("y", key=1))
    assert error(mine(request(count=None), constraints=(match(f"{GPU}/key"),)), there) == (
        "claim default/mine, request r: cannot add device gpu.example.com/n1/y because a claim constraint would not be"
        " satisfied"
    )


def test_every_constraint_is_given_back_when_another_refuses() -> None:
    there = slice_("n1", device("x", a=0, b=0), device("y", a=0, b=1), device("z", a=1, b=1))
    both = (match(f"{GPU}/a", "p", "q"), match(f"{GPU}/b", "p", "q"))
    assert given(mine(request("p"), request("q"), constraints=both), there) is None
    free = (*there.spec.devices, device("w", a=1, b=1))
    assert given(mine(request("p"), request("q"), constraints=both), slice_("n1", *free)) == ["p=z", "q=w"]


# --- taints and administrators ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effect", "tolerations", "usable"),
    [
        pytest.param("NoSchedule", (), False, id="a taint keeps claims away"),
        pytest.param("NoExecute", (), False, id="also one that evicts"),
        pytest.param("None", (), True, id="one without effect does not"),
        pytest.param("NoSchedule", tolerating("broken"), True, id="it can be tolerated"),
        pytest.param("NoSchedule", tolerating("other"), False, id="by its key"),
        pytest.param("NoExecute", tolerating("broken", "NoSchedule"), False, id="and its effect"),
    ],
)
def test_taints(effect: str, tolerations: tuple[object, ...], *, usable: bool) -> None:
    there = slice_("n1", device("x", taint=("broken", effect)))
    assert (given(mine(request(tolerations=tolerations)), there) is not None) is usable


def test_an_administrator_gets_devices_that_others_hold() -> None:
    there: list[KubernetesObject] = [gpus("n1", 1), held(f"{GPU}/n1/gpu-0")]
    found = allocation(mine(request(admin_access=True)), *there)
    assert found.devices.results[0].admin_access


def test_an_administrator_holds_nothing() -> None:
    inspected = allocated(claim("other"), result("r", f"{GPU}/n1/gpu-0", admin_access=True))
    assert given(mine(request()), gpus("n1", 1), inspected) == ["r=gpu-0"]


def test_an_administrators_claim_has_each_device_once() -> None:
    admin = request("a", admin_access=True)
    assert given(mine(admin, request("b", admin_access=True)), gpus("n1", 1)) is None
    assert given([claim("x", admin), claim("y", admin)], gpus("n1", 1)) == ["a=gpu-0", "a=gpu-0"]
    assert given([claim("x", admin), claim("y", request())], gpus("n1", 1)) is None


# --- limits and broken claims ----------------------------------------------------------------------------------


def test_a_claim_gets_32_devices_at_most() -> None:
    assert given(mine(request(count=32)), gpus("n1", 40)) is not None
    assert error(mine(request("a", count=32), request("b")), gpus("n1", 40)) == (
        "claim default/mine: number of requested devices 33 exceeds the claim limit of 32"
    )


def test_all_devices_count_for_the_limit() -> None:
    assert error(mine(request(count=None)), gpus("n1", 33)) == (
        "claim default/mine: number of requested devices 33 exceeds the claim limit of 32"
    )


def test_each_claim_has_a_limit_of_its_own() -> None:
    found = given([claim("a", request(count=30)), claim("b", request(count=30))], gpus("n1", 60))
    assert found is not None
    assert len(found) == 60


def test_a_search_of_many_devices_does_not_exhaust_the_stack() -> None:
    claims = [claim(f"c{index:02}", request(count=32)) for index in range(40)]
    found = given(claims, gpus("n1", 40 * 32))
    assert found is not None
    assert len(found) == 40 * 32


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        pytest.param(
            request(allocation_mode="Some"),
            "claim default/mine, request r: unsupported count mode Some",
            id="an unknown mode",
        ),
        pytest.param(
            request(selectors=(DeviceSelector(),)),
            "claim default/mine, request r, selector #0: CEL expression empty (unsupported selector type?)",
            id="a selector without expression",
        ),
    ],
)
def test_requests_of_the_future(broken: object, text: str) -> None:
    assert error(mine(broken)) == text


def test_a_constraint_of_the_future() -> None:
    empty = match("x").__class__()
    assert error(mine(request(), constraints=(empty,))) == (
        "claim default/mine, constraint #0: empty constraint (unsupported constraint type?)"
    )


def test_the_effort_for_a_node_is_bounded() -> None:
    there = slice_("n1", *(device(f"x{index}", key=index) for index in range(20)))
    unsolvable = mine(request("a", count=8), request("b", count=2), constraints=(match(f"{GPU}/key", "b"),))
    with pytest.raises(AllocationError, match="^timed out trying to allocate devices$"):
        answer([unsolvable], there, tries=1000)
    assert isinstance(answer([mine(request())], there, tries=1000), tuple)


def test_a_claim_that_gets_nothing_even_alone_is_not_tried_with_each_choice_for_others() -> None:
    there = slice_("n1", *(device(f"x{index}", key=index) for index in range(60)))
    first = claim("first", request())
    second = claim("second", request(count=2), constraints=(match(f"{GPU}/key"),))
    found = answer([first, second, claim("third", request())], there, tries=5_000)  # 60 * 60 * 59 / 2 in all
    assert isinstance(found, UnsatisfiedRequest)
    assert found.claim == "default/second"


# --- what comes of it ------------------------------------------------------------------------------------------


def allocation(asked: ResourceClaim, *objects: KubernetesObject) -> AllocationResult:
    found = answer([asked], *objects)
    assert isinstance(found[0], AllocationResult)
    return found[0]


@pytest.mark.parametrize(
    ("there", "selector"),
    [
        pytest.param([gpus("n1", 1)], only_on("n1"), id="a device of one node ties the claim to it"),
        pytest.param([gpus("", 1, pool="net", all_nodes=True)], None, id="one of all nodes does not"),
        pytest.param(
            [slice_("", device("x", fields={"binds_to_node": True}), pool="net", all_nodes=True)],
            only_on("n1"),
            id="unless using it there binds it",
        ),
        pytest.param(
            [per_device(device("x", fields={"node_name": "n1"}))], only_on("n1"), id="a device that names its node"
        ),
    ],
)
def test_where_the_claim_can_be_used(there: list[KubernetesObject], selector: object) -> None:
    assert allocation(mine(request()), *there).node_selector == selector


def test_the_demands_of_all_devices_are_merged() -> None:
    zone, rack = requirement(ZONE, "In", "a", "b"), requirement("rack", "DoesNotExist")
    there = [
        gpus("", 1, pool="p", node_selector=nodes_where(zone)),
        gpus("", 1, pool="q", node_selector=nodes_where(requirement(ZONE, "In", "b", "a"), rack)),
    ]
    assert allocation(mine(request(count=2)), *there).node_selector == nodes_where(zone, rack)


def test_slices_with_several_terms_are_refused() -> None:
    term = nodes_where(requirement(ZONE, "Exists")).node_selector_terms[0]
    odd = gpus("", 1, pool="net", node_selector=nodes_where().__class__(node_selector_terms=(term, term)))
    assert error(mine(request()), odd) == (
        "create NodeSelector for claim mine: unsupported ResourceSlice.NodeSelector with 2 terms"
    )


def test_shares_say_what_they_consume() -> None:
    there = slice_("n1", device("x", shared=True, amounts={"memory": capacity("16Gi", policy("2Gi"))}))
    first, second = allocation(mine(request("a"), request("b", amounts={"memory": "3Gi"})), there).devices.results
    assert (first.consumed_capacity, second.consumed_capacity) == ({"memory": 2 * 1024**3}, {"memory": 3 * 1024**3})
    assert first.share_id != second.share_id
    assert None not in (first.share_id, second.share_id)


def test_conditions_of_the_device_go_with_it() -> None:
    fields = {"binding_conditions": ("ready",), "binding_failure_conditions": ("failed",)}
    (found,) = allocation(mine(request()), slice_("n1", device("x", fields=fields))).devices.results
    assert (found.binding_conditions, found.binding_failure_conditions) == (("ready",), ("failed",))


# --- why not ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requests", "objects", "expected"),
    [
        pytest.param(
            [request(count=3)],
            [gpus("n1", 4), held(f"{GPU}/n1/gpu-0", f"{GPU}/n1/gpu-3")],
            UnsatisfiedRequest("default/mine", "r", 3, 4, 2),
            id="too few are free",
        ),
        pytest.param(
            [request()], [gpus("n2", 4)], UnsatisfiedRequest("default/mine", "r", 1, 0, 0), id="there are none"
        ),
        pytest.param(
            [request("a", count=2), request("b", attribute("index", "0"), count=1)],
            [gpus("n1", 2)],
            UnsatisfiedRequest("default/mine", "b", 1, 1, 1),
            id="the request at which the search ends is to blame",
        ),
        pytest.param(
            [first_of("a", alternative("s", count=9), alternative("t", count=3))],
            [gpus("n1", 2)],
            UnsatisfiedRequest("default/mine", "a", 9, 2, 2),
            id="of alternatives the first",
        ),
        pytest.param(
            [request(count=None)],
            [gpus("n1", 2), held(f"{GPU}/n1/gpu-0")],
            UnsatisfiedRequest("default/mine", "r", None, 2, 1),
            id="all are wanted and one is held",
        ),
    ],
)
def test_shortages(requests: list[object], objects: list[KubernetesObject], expected: UnsatisfiedRequest) -> None:
    assert answer([mine(*requests)], *objects) == expected
