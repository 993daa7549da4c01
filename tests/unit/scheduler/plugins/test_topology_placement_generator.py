"""The placements of a group: which there are, and how they are scored."""

import pytest

from kwhatif.scheduler.framework.plugin import Placement, Proposal
from kwhatif.scheduler.framework.status import Status
from kwhatif.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kwhatif.scheduler.plugins.pod_group_pods_count import PodGroupPodsCount
from kwhatif.scheduler.plugins.topology_placement_generator import TopologyPlacementGenerator
from kwhatif.state.state import State
from tests.builders import PodBuilder, node, pod, snapshot
from tests.unit.scheduler.groups import group, member

RACKS = {"n1": "b", "n2": "a", "n3": "b", "n4": ""}


def racks(*pods: PodBuilder) -> State:
    """Rack a has n2, rack b n1 and n3; n4 is in none. Each node has 4 cpu."""
    nodes = [node(name).labels({"rack": rack} if rack else {}) for name, rack in RACKS.items()]
    return snapshot(*nodes, group("g"), group("other"), *pods)


@pytest.mark.parametrize(
    ("pods", "found"),
    [
        ([], {"a": ["n2"], "b": ["n1", "n3"]}),
        ([member("g-0", "g")], {"a": ["n2"], "b": ["n1", "n3"]}),
        ([member("o", "other").on("n2")], {"a": ["n2"], "b": ["n1", "n3"]}),
        ([member("g-0", "g").on("n3")], {"b": ["n1", "n3"]}),
        ([member("g-0", "g").on("n1"), member("g-1", "g").on("n3")], {"b": ["n1", "n3"]}),
    ],
    ids=["none bound", "one waits", "another group's", "one bound", "two bound"],
)
def test_a_placement_for_each_value_or_that_of_the_members(pods: list[PodBuilder], found: dict[str, list[str]]) -> None:
    made = TopologyPlacementGenerator().generate_placements(group("g", topology="rack"), racks(*pods))
    assert not isinstance(made, Status)
    assert {each.name: sorted(node.name for node in each.nodes) for each in made} == found


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        (["n1", "n2"], "more than 1 domain found for pod group: b, a"),
        (["n4"], "no topology domain found for pod default/g-0"),
        (["gone"], 'getting node for pod default/g-0: nodeinfo not found for node name "gone"'),
    ],
)
def test_members_that_have_no_one_place_are_an_error(nodes: list[str], why: str) -> None:
    state = racks(*(member(f"g-{number}", "g").on(name) for number, name in enumerate(nodes)))
    made = TopologyPlacementGenerator().generate_placements(group("g", topology="rack"), state)
    assert isinstance(made, Status)
    assert made.message == f"cannot determine domain for already scheduled pods: {why}"


def test_without_a_topology_all_nodes_are_the_placement() -> None:
    made = TopologyPlacementGenerator().generate_placements(group("g"), racks())
    assert not isinstance(made, Status)
    assert [(each.name, len(each.nodes)) for each in made] == [("", 4)]


def test_a_label_that_no_node_has_leaves_no_placement() -> None:
    assert not TopologyPlacementGenerator().generate_placements(group("g", topology="row"), racks())


def test_more_pods_of_the_group_are_better() -> None:
    state = racks(member("g-0", "g").on("n1"), member("g-1", "g"))
    plugin, place = PodGroupPodsCount(), Placement("b", state.nodes)
    raw = [plugin.score_placement(group("g"), state, Proposal(place, [pod().info()] * count)) for count in (1, 2, 5)]
    assert raw == [2, 3, 6]
    assert list(plugin.normalize_placement_scores(raw)) == [33, 50, 100]


@pytest.mark.parametrize(
    ("rack", "cpu", "score"),
    [("a", ["1"], 12), ("b", ["1"], 6), ("b", ["1", "3"], 25), ("a", ["4"], 50)],
    ids=["small", "large", "two pods", "full"],
)
def test_the_fuller_placement_is_better(rack: str, cpu: list[str], score: int) -> None:
    """The mean of what cpu and memory come to, in percent; the pods ask for no memory."""
    state = racks()
    nodes = [each for each in state.nodes if each.labels.get("rack") == rack]
    pods = [pod(f"p{number}").cpu(amount).memory("0").info() for number, amount in enumerate(cpu)]
    made = NodeResourcesFit().score_placement(group("g"), state, Proposal(Placement(rack, nodes), pods))
    assert made == score
