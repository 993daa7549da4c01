"""Instance types: the file that they are read from, their prices, their variety."""

from typing import Any

import pytest

from kwhatif.autoscaler.karpenter.instance_types import (
    build_instance_types,
    by_price,
    catalogue_of,
    cheapest_of,
    variety,
    worst_launch_price,
)
from kwhatif.autoscaler.karpenter.requirements import CAPACITY_TYPE, Requirements, one_of, requirement
from kwhatif.errors import InputError
from kwhatif.kube.model.node import ZONE
from tests.karpenter.objects import TYPES, type_

GIB = 2**30 * 10**9


def test_allocatable_is_what_the_overhead_leaves() -> None:
    given = type_("m.large", 2, 0.1) | {
        "capacity": {"cpu": "2", "memory": "8Gi", "pods": 20, "hugepages-2Mi": "1Gi"},
        "overhead": {"kubeReserved": {"cpu": "80m", "memory": "1Gi"}, "evictionThreshold": {"memory": "1Gi"}},
    }
    (found,) = build_instance_types([given])
    assert found.allocatable["cpu"] == 1_920_000_000
    assert found.allocatable["memory"] == 5 * GIB


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"name": None}, "[0].name", "expected the name of an instance type, found nothing"),
        ({"offerings": []}, "[0].offerings", "has no offerings"),
        ({"capacity": {"memory": "8Gi", "pods": 9}}, "[0].capacity.cpu", "is not set"),
        (
            {"capacity": {"cpu": "-2", "memory": "8Gi", "pods": 9}},
            "[0].capacity.cpu",
            "must not be negative, but is -2",
        ),
        (
            {"capacity": {"cpu": "2x", "memory": "8Gi", "pods": 9}},
            "[0].capacity.cpu",
            "'2x' is not a quantity, such as 4 or 16Gi",
        ),
        ({"overhead": {"kubelet": {}}}, "[0].overhead.kubelet", "is not a field here"),
        ({"price": 3}, "[0].price", "is not a field here"),
        ({"requirements": [{"key": "a", "operator": "Is"}]}, "[0].requirements[0].operator", "'Is' is not an operator"),
        (
            {"requirements": [{"key": "a", "operator": "In"}]},
            "[0].requirements[0].values",
            "In needs at least one value",
        ),
        (
            {"requirements": [{"key": "a", "operator": "Gt", "values": ["x"]}]},
            "[0].requirements[0].values",
            "Gt needs one value, which is a whole number",
        ),
        (
            {"offerings": [{"capacityType": "cheap", "zone": "a"}]},
            "[0].offerings[0].capacityType",
            "'cheap' is not a capacity type",
        ),
        (
            {"offerings": [{"capacityType": "spot", "zone": "a", "price": -1}]},
            "[0].offerings[0].price",
            "must not be negative, but is -1",
        ),
        (
            {"offerings": [{"capacityType": "spot", "zone": "a", "available": "yes"}]},
            "[0].offerings[0].available",
            "expected true or false, found 'yes'",
        ),
        (
            {"offerings": [{"capacityType": "reserved", "zone": "a"}]},
            "[0].offerings[0].reservationID",
            "expected the name of the reservation, found ''",
        ),
    ],
)
def test_what_is_wrong_has_its_field(change: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(InputError) as failure:
        build_instance_types([type_("m.large", 2, 0.1) | change])
    assert [(each.field, each.message) for each in failure.value.problems] == [(field, words)]


def test_all_problems_are_found_at_once() -> None:
    broken = type_("m.large", 2, 0.1) | {"offerings": [], "name": 7}
    with pytest.raises(InputError) as failure:
        build_instance_types([broken, "text", type_("m", 2, 0.1), type_("m", 2, 0.1)])
    fields = [each.field for each in failure.value.problems]
    assert fields == ["[0].name", "[0].offerings", "[1]", "[3].name"]


@pytest.mark.parametrize("data", [{}, [], "text", None])
def test_a_file_without_types_is_refused(data: object) -> None:
    with pytest.raises(InputError):
        build_instance_types(data)


def test_types_stand_by_the_price_of_what_can_be_had() -> None:
    dear = type_("a", 2, 0.3, spot=0.1)
    dear["offerings"][1]["available"] = False
    types = build_instance_types([dear, type_("b", 2, 0.2, spot=0.5), type_("c", 2, 0.2, zones=("z",))])
    known = catalogue_of(types).well_known
    anywhere, here = Requirements(), Requirements.of((one_of(ZONE, "a"),))
    assert [each.name for each in by_price(types, anywhere, known)] == ["a", "b", "c"]
    assert [each.name for each in by_price(types, here, known)] == ["b", "a", "c"]
    assert [(each.type.name, each.price) for each in cheapest_of(types, here, known)] == [("b", 0.1), ("a", 0.3)]
    on_demand = Requirements.of((one_of(CAPACITY_TYPE, "on-demand"),))
    assert worst_launch_price(types[1], anywhere, known) == 0.1
    assert worst_launch_price(types[1], on_demand, known) == 0.2


def test_min_values_count_the_values_of_all_types() -> None:
    types = build_instance_types(TYPES)
    wanted = Requirements.of((requirement("example.com/cpu", "Exists", (), 2),))
    assert variety(types, wanted) == (2, {})
    few = variety(types[:1], wanted)
    assert few.objection is not None
    assert few.objection.text == "minValues requirement is not met for label(s) (label(s)=[example.com/cpu])"
