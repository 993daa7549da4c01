"""Karpenter's disruption, rule by rule."""

from typing import Any

import pytest

from tests.karpenter.objects import TYPES, Json, asked, condition, node, pod, pool, type_
from tests.karpenter.play import play
from tests.objects import manifest


def plan_of(*objects: Any, **more: Any) -> Json:
    return play(asked("consolidate", *objects, **more))


def commands(found: Json) -> list[tuple[str, list[str], int]]:
    return [(each["reason"], each["nodes"], len(each["replacements"])) for each in found["commands"]]


def words(found: Json, name: str) -> list[str]:
    return [text for row in found["kept"] if row["node"] == name for text in row["messages"]]


def test_empty_nodes_go_together_within_the_budget() -> None:
    nodes = [node(f"n{number}") for number in range(4)]
    assert commands(plan_of(pool(), *nodes)) == [("Empty", ["n0", "n1", "n2", "n3"], 0)]
    half = pool(disruption={"budgets": [{"nodes": "50%"}]})
    assert commands(plan_of(half, *nodes)) == [("Empty", ["n0", "n1"], 0)]


@pytest.mark.parametrize(
    ("budget", "gone"),
    [
        ({"nodes": "0"}, 0),
        ({"nodes": "1"}, 1),
        ({"nodes": "10%"}, 1),
        ({"nodes": "0", "reasons": ["Drifted"]}, 3),
        ({"nodes": "0", "reasons": ["Empty"]}, 0),
        ({"nodes": "0", "schedule": "0 11 * * *", "duration": "2h"}, 0),
        ({"nodes": "0", "schedule": "0 9 * * *", "duration": "2h"}, 3),
        # It begins while the command is looked at once more.
        ({"nodes": "0", "schedule": "0 12 * * *", "duration": "1h"}, 0),
        ({"nodes": "many"}, 0),
    ],
)
def test_budgets(budget: Json, gone: int) -> None:
    found = plan_of(pool(disruption={"budgets": [budget]}), *(node(f"n{number}") for number in range(3)))
    assert sum(len(nodes) for _, nodes, _ in commands(found)) == gone


def test_a_budget_counts_nodes_that_are_not_ready() -> None:
    down = node("n0")
    down[1]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    found = plan_of(pool(disruption={"budgets": [{"nodes": "1"}]}), down, node("n1"))
    assert commands(found) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"annotations": {"karpenter.sh/do-not-disrupt": "true"}},
            'Disruption is blocked through the "karpenter.sh/do-no',
        ),
        ({"initialized": False}, "Node isn't initialized"),
        ({"of": "other"}, "NodePool not found (NodePool=other)"),
    ],
)
def test_nodes_that_are_not_candidates(change: Json, said: str) -> None:
    found = plan_of(pool(), node("n0", **change))
    assert commands(found) == []
    (text,) = words(found, "n0")
    assert text.startswith(f"DisruptionBlocked: {said}")


def _budget(name: str, **spec: Any) -> Json:
    return manifest(
        "PodDisruptionBudget",
        {"name": name, "namespace": "default"},
        spec={"selector": {"matchLabels": {"app": "web"}}, **spec},
        status={"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
    )


@pytest.mark.parametrize(
    ("objects", "annotation", "said"),
    [
        ([], "true", 'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/p)'),
        ([], "2h", 'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/p)'),
        ([_budget("b")], "", "Pdb prevents pod evictions (PodDisruptionBudget=[default/b])"),
        (
            [_budget("b1"), _budget("b2")],
            "",
            "Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[default/b1 default/b2])",
        ),
    ],
)
def test_pods_that_block(objects: list[Json], annotation: str, said: str) -> None:
    blocking = pod("p", on="n0", annotations={"karpenter.sh/do-not-disrupt": annotation} if annotation else None)
    blocking["status"]["startTime"] = "2026-11-20T11:00:00Z"
    found = plan_of(pool(), node("n0"), blocking, *objects)
    assert words(found, "n0") == [f"DisruptionBlocked: {said}"]


@pytest.mark.parametrize("annotation", ["1h", "30m", "soon", "-1h", "false"])
def test_a_protection_that_has_ended_or_cannot_be_read_blocks_nothing(annotation: str) -> None:
    old = pod("p", on="n0", cpu="100m", annotations={"karpenter.sh/do-not-disrupt": annotation})
    old["status"]["startTime"] = "2026-11-20T11:00:00Z"
    assert commands(plan_of(pool(), node("n0"), node("n1", conditions=()), old)) == [("Underutilized", ["n0"], 0)]


def test_a_budget_that_lets_unready_pods_go() -> None:
    unready = pod("p", on="n0", cpu="100m")
    unready["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    lenient = _budget("b", unhealthyPodEvictionPolicy="AlwaysAllow")
    assert commands(plan_of(pool(), node("n0"), node("n1", conditions=()), unready, lenient)) == [
        ("Underutilized", ["n0"], 0)
    ]


def test_a_node_is_replaced_by_a_cheaper_one_that_is_always_cheaper() -> None:
    large = node("n0", "m.2xlarge", cpu=8)
    (found,) = plan_of(pool(), large, pod("p", on="n0"))["commands"]
    assert found["replacements"][0]["instanceTypes"] == ["m.large", "m.xlarge"]
    spot = [type_("m.large", 2, 0.1, spot=0.5), type_("m.2xlarge", 8, 0.4, spot=0.9)]
    (found,) = plan_of(pool(), large, pod("p", on="n0"), types=spot)["commands"]
    assert "karpenter.sh/capacity-type In [spot]" in found["replacements"][0]["requirements"]
    kept = plan_of(pool(), node("n0"), pod("p", on="n0"))
    assert words(kept, "n0") == ["Unconsolidatable: Can't replace with a cheaper node"]


def test_spot_is_not_replaced_by_spot() -> None:
    types = [type_("m.large", 2, 0.1, spot=0.5), type_("m.2xlarge", 8, 0.4, spot=0.5)]
    found = plan_of(pool(), node("n0", "m.2xlarge", cpu=8, capacity_type="spot"), pod("p", on="n0"), types=types)
    said = "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"
    assert words(found, "n0") == [f"Unconsolidatable: {said}"]


def test_several_nodes_become_one() -> None:
    nodes = [node(f"n{number}", "m.xlarge", cpu=4) for number in range(3)]
    pods = [pod(f"p{number}", on=f"n{number}", cpu="2500m") for number in range(3)]
    cheaper = [TYPES[1], type_("m.2xlarge", 8, 0.39)]
    fixed = pool(requirements=[{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}])
    assert commands(plan_of(fixed, *nodes, *pods, types=cheaper)) == [("Underutilized", ["n0", "n1", "n2"], 1)]
    # QUIRK: the search begins with two of the three, for which nothing is saved, and so never tries all three.
    assert commands(plan_of(fixed, *nodes, *pods)) == []
    # QUIRK: where a pool allows spot, a replacement is pinned to it, though no type may be offered as spot.
    assert commands(plan_of(pool(), *nodes, *pods, types=cheaper)) == []
    # A replacement of the type of one that goes has to be cheaper than that one.
    same = [type_("m.xlarge", 4, 0.2)]
    pods = [pod(f"p{number}", on=f"n{number}", cpu="1") for number in range(2)]
    assert commands(plan_of(pool(), *nodes[:2], *pods, types=same)) == [("Underutilized", ["n0"], 0)]


@pytest.mark.parametrize(
    ("disruption", "said"),
    [
        ({"consolidateAfter": "Never"}, 'NodePool "general" has consolidation disabled'),
        (
            {"consolidationPolicy": "WhenEmpty"},
            'NodePool "general" has consolidation policy WhenEmpty, but node is not empty',
        ),
    ],
)
def test_pools_that_do_not_consolidate(disruption: Json, said: str) -> None:
    found = plan_of(pool(disruption=disruption), node("n0"), pod("p", on="n0"))
    assert commands(found) == []
    assert words(found, "n0") == [f"Unconsolidatable: {said}"]


def test_nodes_that_pods_have_come_to_take_no_candidates_pods() -> None:
    slow = pool(disruption={"consolidateAfter": "1h"})
    fresh = node("n1", conditions=())
    fresh[0]["status"]["lastPodEventTime"] = "2026-11-20T11:30:00Z"
    moving = pod("p", on="n0", cpu="2")
    assert commands(plan_of(slow, node("n0"), fresh, moving)) == []
    fresh[0]["status"]["lastPodEventTime"] = "2026-11-20T10:30:00Z"
    assert commands(plan_of(slow, node("n0"), fresh, moving)) == [("Underutilized", ["n0"], 0)]


def test_a_balanced_pool_weighs_savings_against_pods() -> None:
    balanced = pool(disruption={"consolidationPolicy": "Balanced"})
    # The node with many pods saves little of what the pool costs.
    dear, cheap = node("n0", "m.2xlarge", cpu=8), node("n1", "m.large", cpu=2)
    pods = [pod(f"p{number}", on="n1", cpu="100m") for number in range(9)]
    lone = pod("lone", on="n0", cpu="7500m")
    assert commands(plan_of(balanced, dear, cheap, *pods, lone)) == []
    assert commands(plan_of(pool(), dear, cheap, *pods, lone, types=TYPES[::2])) == []


def test_drift_goes_on_though_a_pod_blocks_if_nodes_have_a_grace_period() -> None:
    blocking = pod("p", on="n0", annotations={"karpenter.sh/do-not-disrupt": "true"})
    drifted = node("n0", conditions=("Drifted",))
    assert commands(plan_of(pool(), drifted, blocking)) == []
    graceful = node("n0", conditions=("Drifted",), claim={"terminationGracePeriod": "1h"})
    # Its pod does not move by itself, so nothing has to be there for it.
    assert commands(plan_of(pool(), graceful, blocking)) == [("Drifted", ["n0"], 0)]


def test_empty_drifted_nodes_go_first_then_those_that_have_drifted_longest() -> None:
    def drifted(name: str, since: str) -> list[Json]:
        found = node(name, conditions=())
        found[0]["status"]["conditions"].append(condition("Drifted") | {"lastTransitionTime": since})
        return found

    nodes = drifted("n0", "2026-11-19T02:00:00Z"), drifted("n1", "2026-11-19T01:00:00Z")
    pods = [pod(f"p{number}", on=f"n{number}", cpu="2") for number in (0, 1)]
    assert commands(plan_of(pool(), *nodes, *pods)) == [("Drifted", ["n1"], 1)]
    assert commands(plan_of(pool(), *nodes, pods[1])) == [("Drifted", ["n0"], 0)]


def test_drifted_nodes_of_a_pool_of_fixed_size_are_replaced_one_for_one() -> None:
    fixed = pool(replicas=2)
    nodes = [node(f"n{number}", conditions=("Drifted",)) for number in (0, 1)]
    assert commands(plan_of(fixed, *nodes)) == [("Drifted", ["n0"], 1), ("Drifted", ["n1"], 1)]
    assert commands(plan_of(pool(replicas=1), *nodes)) == []


def test_pods_do_not_wait_for_nodes_that_may_never_come() -> None:
    moving = pod("p", on="n0", cpu="2")
    found = plan_of(pool(), node("n0"), node("n1", initialized=False), moving, types=TYPES[1:])
    assert "Unconsolidatable: Not all pods would schedule, default/p => would schedule against uninitialized" in (
        "".join(words(found, "n0"))
    ) or words(found, "n0") == ['Unconsolidatable: Instance Type "m.large" not found']
