"""Nodes without their evictable pods: how long they are kept, and for whom."""

from typing import Any

import pytest

from kwhatif.kube.model.pod import PodCondition
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.scheduler.preemption.candidate import Victim, disrupt
from kwhatif.scheduler.preemption.dry_run import EmptiedNode, Emptying
from kwhatif.scheduler.preemption.policy import Policy
from kwhatif.state.change import Bind, Evict, Upsert
from kwhatif.state.state import State
from tests.builders import PodBuilder, budget, node, pod, selector, snapshot
from tests.unit.scheduler.preemption.fakes import cycle_of

READY, NOT_READY = PodCondition(type="Ready", status="True"), PodCondition(type="Ready", status="False")


class Sparing(Policy):
    """A policy of somebody's own."""


def guarded(name: str, on: str = "n1") -> PodBuilder:
    return pod(name).on(on).cpu("1").labels(app="db").started(f"2026-01-01T00:0{'abc'.index(name)}:00Z")


def guarded_state() -> State:
    """A budget that allows one disruption, of pods on n1 and n2; on n3 there is something else."""
    nodes = [node("n1"), node("n2"), node("n3")]
    pods = [guarded("a"), guarded("b"), guarded("c", "n2"), pod("d").on("n3").cpu("1")]
    return snapshot(*nodes, *pods, budget("db", 1, selector(app="db")))


def emptied(snap: State, name: str = "n1", *, priority: int = 100, policy: Policy | None = None) -> EmptiedNode:
    cycle = cycle_of(snap, pod("wants").priority(priority).cpu("4"))
    found = Emptying(cycle, policy or Policy(), Budgets(snap.cluster)).of(snap.by_name[name])
    assert found is not None
    return found


def tried(found: EmptiedNode) -> list[str]:
    return [each.name for each in found.reprieve_order.pods]


def evict(snap: State, name: str, on: str, budgets: tuple[str, ...] = ("default/db",)) -> None:
    victim = snap.pods[f"default/{name}"]
    assert victim.pod.spec.node_name == on
    snap.apply(Evict(victim.key))
    disrupt(snap, [Victim(victim, budgets)])


def test_pods_of_one_priority_share_it() -> None:
    snap = guarded_state()
    assert emptied(snap) is emptied(snap)
    assert emptied(snap) is not emptied(snap, priority=50)


def test_it_is_made_anew_when_a_pod_has_come_or_gone() -> None:
    snap = guarded_state()
    before = emptied(snap)
    snap.apply(Bind(pod("new").cpu("1").build(), "n1"))
    assert tried(emptied(snap)) != tried(before)


def test_it_is_made_anew_where_the_policy_is_not_known() -> None:
    snap = guarded_state()
    assert emptied(snap, policy=Sparing()) is not emptied(snap, policy=Sparing())


def test_it_is_made_anew_where_budgets_are_about_other_pods() -> None:
    snap = guarded_state()
    before = emptied(snap)
    snap.apply(Upsert(budget("more", 1, selector(app="db"))))
    assert emptied(snap).split.counting != before.split.counting


def test_few_priorities_are_kept() -> None:
    snap = guarded_state()
    kept = emptied(snap)
    for priority in (50, 60, 70):
        emptied(snap, priority=priority)
    assert emptied(snap) is not kept


def test_pods_are_judged_anew_when_their_budget_allows_less() -> None:
    snap = guarded_state()
    assert tried(emptied(snap)) == ["b", "a"]  # the second disruption breaks the budget: it is tried back first
    others = emptied(snap, "n3")
    others.answers["asked"] = "before"
    evict(snap, "c", "n2")
    assert Budgets(snap.cluster).allowed == {"default/db": 0}
    assert [each.name for each in emptied(snap).split.violating] == ["a", "b"]
    assert emptied(snap, "n3").answers == {"asked": "before"}


def test_a_pod_that_was_on_its_way_out_is_no_disruption() -> None:
    snap = snapshot(node("n1"), guarded("a").terminating(), budget("db", 1, selector(app="db")))
    evict(snap, "a", "n1")
    assert Budgets(snap.cluster).allowed == {"default/db": 1}


@pytest.mark.parametrize(
    ("status", "is_disruption"),
    [
        pytest.param({"phase": "Running", "conditions": (READY,)}, True, id="ready"),
        pytest.param({"phase": "Running", "conditions": (NOT_READY,)}, False, id="not ready"),
        pytest.param(
            {"phase": "Pending", "conditions": (PodCondition(type="PodScheduled", status="True"),)},
            False,
            id="not started",
        ),
        pytest.param({"phase": "Pending"}, False, id="nothing known, but not running"),
        pytest.param({"phase": "Running"}, True, id="written by hand"),
    ],
)
def test_only_ready_pods_count_for_a_budget(status: dict[str, Any], *, is_disruption: bool) -> None:
    snap = snapshot(node("n1"), guarded("a").status(**status), budget("db", 1, selector(app="db")))
    evict(snap, "a", "n1")
    assert Budgets(snap.cluster).allowed["default/db"] == (0 if is_disruption else 1)


def test_forks_share_it_as_long_as_their_budgets_allow_the_same() -> None:
    snap = guarded_state()
    kept = emptied(snap)
    fork = snap.fork()
    assert emptied(fork) is kept
    evict(fork, "c", "n2")
    assert [each.name for each in emptied(fork).split.violating] == ["a", "b"]
    assert [each.name for each in emptied(snap).split.violating] == ["b"]
    assert [each.name for each in kept.split.violating] == ["b"]
    assert emptied(fork, "n3") is emptied(snap, "n3")
