"""Files of node groups and of instance types: what is wrong is said with its field, all at once."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from kwhatif.errors import InputError
from kwhatif.sources.autoscaler import read_instance_types, read_node_groups
from tests.builders import cluster, node

Json = dict[str, Any]
Wrong = list[tuple[str, str]]
WHOLE: Json = {"name": "g", "nodes": ["a"]}
TYPE: Json = {
    "name": "m",
    "capacity": {"cpu": "2", "memory": "4Gi", "pods": 10},
    "offerings": [{"capacityType": "spot", "zone": "x", "price": 1}],
}
COUNT = "expected a number of nodes"


def said(read: Callable[[], object], path: Path) -> Wrong:
    """The fields and messages of all problems; each names the file."""
    with pytest.raises(InputError) as failure:
        read()
    assert all(each.where.startswith(str(path)) for each in failure.value.problems)
    return [(each.field, each.message) for each in failure.value.problems]


def wrong_groups(tmp_path: Path, data: object) -> Wrong:
    path = tmp_path / "groups.json"
    path.write_text(json.dumps(data))
    return said(lambda: read_node_groups(str(path), cluster(node("a"), node("b")), stdin=BytesIO()), path)


def wrong_types(tmp_path: Path, data: object) -> Wrong:
    path = tmp_path / "types.json"
    path.write_text(json.dumps(data))
    return said(lambda: read_instance_types(str(path), stdin=BytesIO()), path)


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"nodes": None}, "", "has neither nodes nor a template"),
        ({"nodes": []}, "", "has neither nodes nor a template"),
        ({"name": None}, ".name", "expected the name of the group"),
        ({"name": 7}, ".name", "expected the name of the group"),
        ({"min": -1}, ".min", COUNT),
        ({"max": "two"}, ".max", COUNT),
        ({"max": 2**40}, ".max", COUNT),
        ({"target": 1.5}, ".target", COUNT),
        ({"min": True}, ".min", COUNT),
        ({"min": 3, "max": 1}, ".min", "the minimum, 3, is above the maximum, 1"),
        ({"price": -3}, ".price", "expected what a node costs in an hour, a number"),
        ({"price": "3"}, ".price", "expected what a node costs in an hour, a number"),
        ({"priority": "x"}, ".priority", "expected a whole number"),
        ({"nodes": ["a", "nope"]}, ".nodes[1]", "there is no node nope"),
        ({"nodes": ["a", "a"]}, ".nodes[1]", "node a belongs to group g already"),
        ({"nodes": [7]}, ".nodes[0]", "expected the name of a node"),
        ({"nodes": 5}, ".nodes", "expected a list of names, or a label selector"),
        ({"nodes": "pool=x"}, ".nodes", "no node has such labels"),
        ({"nodes": {"matchLabels": 5}}, ".nodes.matchLabels", "expected an object, got an integer"),
        ({"template": "x"}, ".template", "expected an object"),
        ({"template": {}}, ".template", "expected either like, a node that there is, or node, a Node"),
        ({"template": {"like": "nope"}}, ".template.like", "there is no node nope"),
        ({"template": {"like": 3}}, ".template.like", "expected a node's name"),
        ({"template": {"node": {"spec": 5}}}, ".template.node.spec", "expected an object, got an integer"),
        (
            {"template": {"node": {"metadata": {"name": "n"}}}},
            ".template.node.status.capacity",
            "has no room: say its capacity, and what of it is allocatable",
        ),
        ({"maxSize": 4}, ".maxSize", "is not a field; did you mean max?"),
    ],
)
def test_what_is_wrong_with_a_group(tmp_path: Path, change: Json, field: str, message: str) -> None:
    assert wrong_groups(tmp_path, {"groups": [WHOLE | change]}) == [(f"groups[0]{field}", message)]


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("no-such", 1, "is not a flag of the Cluster Autoscaler"),
        ("cores-total", "9:1", "the minimum, 9, is above the maximum, 1"),
        ("memory-total", "-1:2", "expected a minimum and a maximum, such as 0:320"),
        ("gpu-total", ["x"], "expected a type of GPU, a minimum and a maximum, such as nvidia-l4:0:16"),
        ("balance-similar-node-groups", 3, "expected true or false"),
        ("max-node-startup-time", "5x", "'5x' is not a duration such as 10s or 1m30s"),
        ("max-nodes-per-scaleup", 1.5, "expected a whole number"),
        ("max-nodes-total", [], "expected a number"),
        ("ok-total-unready-count", "inf", "expected a number"),
        ("max-total-unready-percentage", "nan", "expected a number"),
        ("max-nodes-total", 10**400, "expected a number"),
        ("startup-taint", [3], "expected a string"),
    ],
)
def test_what_is_wrong_with_a_flag(tmp_path: Path, flag: str, value: object, message: str) -> None:
    assert wrong_groups(tmp_path, {"groups": [WHOLE], "flags": {flag: value}}) == [(f"flags.{flag}", message)]


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"offerings": None}, ".offerings", "has no offerings"),
        ({"offerings": [5]}, ".offerings[0]", "expected an object, found 5"),
        ({"offerings": TYPE["offerings"] * 2}, ".offerings[1]", "spot in zone x is offered already: offerings[0]"),
        ({"requirements": [7]}, ".requirements[0]", "expected an object, found 7"),
        ({"capacity": TYPE["capacity"] | {"cpu": -1}}, ".capacity.cpu", "must not be negative, but is -1"),
        ({"capacity": TYPE["capacity"] | {"cpu": 0}}, ".capacity.cpu", "must be above 0"),
        ({"capacity": {"cpu": 1, "memory": 1}}, ".capacity.pods", "is not set"),
        (
            {"overhead": {"kubeReserved": {"cpu": "x"}}},
            ".overhead.kubeReserved.cpu",
            "'x' is not a quantity, such as 4 or 16Gi",
        ),
        ({"zone": "x"}, ".zone", "is not a field here"),
    ],
)
def test_what_is_wrong_with_an_instance_type(tmp_path: Path, change: Json, field: str, message: str) -> None:
    assert wrong_types(tmp_path, [TYPE | change]) == [(f"[0]{field}", message)]


def test_everything_is_said_at_once(tmp_path: Path) -> None:
    groups = {
        "groups": [WHOLE, {"name": "g", "max": -1}, "text"],
        "flags": {"v": 1, "x": 2},
        "expander": "x",
        "grups": [],
    }
    fields = [field for field, _ in wrong_groups(tmp_path, groups)]
    assert sorted(fields) == [
        "expander",
        "flags.x",
        "groups[1]",
        "groups[1].max",
        "groups[1].name",
        "groups[2]",
        "grups",
    ]
    types = [TYPE | {"offerings": []}, TYPE, 5]
    assert [field for field, _ in wrong_types(tmp_path, types)] == ["[0].offerings", "[1].name", "[2]"]


@pytest.mark.parametrize("data", [{}, {"groups": []}, {"groups": "x"}])
def test_a_file_without_groups(tmp_path: Path, data: Json) -> None:
    assert wrong_groups(tmp_path, data) == [("groups", "expected a list of node groups, at least one")]
