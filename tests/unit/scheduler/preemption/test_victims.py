"""Victims: who stays, what budgets say, and units that are evicted together."""

from collections import Counter
from typing import Any

import pytest

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.scheduler.framework.incremental import Selective
from kwhatif.scheduler.framework.plugin import Reads
from kwhatif.scheduler.framework.status import SUCCESS, Code, Verdict, error, unschedulable
from kwhatif.scheduler.plugins.node_ports import NodePorts
from kwhatif.scheduler.preemption import dry_run
from kwhatif.scheduler.preemption.budgets import Budgets, BudgetUse
from kwhatif.scheduler.preemption.candidate import Candidate
from kwhatif.scheduler.preemption.policy import Policy
from kwhatif.scheduler.preemption.victims import (
    NO_VICTIMS,
    Unit,
    UnitSearch,
    VictimSearch,
    by_importance,
    split_by_budgets,
    units_on,
)
from kwhatif.state.change import Upsert
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from tests.builders import NodeBuilder, PodBuilder, budget, node, pod, selector, snapshot
from tests.unit.scheduler.groups import group, member
from tests.unit.scheduler.preemption.fakes import Asked, AskedFilter, Cpu, Rivals, cycle_of, essence

Objects = KubernetesObject | PodBuilder | NodeBuilder


def search(
    preemptor: PodBuilder, *objects: Objects, plugins: tuple[Any, ...] = (), policy: Policy | None = None
) -> Candidate | Verdict:
    """What is found on node `n1` (4 cpu)."""
    snap = snapshot(node("n1"), *objects)
    cycle = cycle_of(snap, preemptor, *plugins)
    return VictimSearch(cycle, policy or Policy(), Budgets(snap.cluster)).on(snap.by_name["n1"])


def candidate(preemptor: PodBuilder, *objects: Objects, **options: Any) -> Candidate:
    found = search(preemptor, *objects, **options)
    assert isinstance(found, Candidate)
    return found


def verdict(preemptor: PodBuilder, *objects: Objects, **options: Any) -> Verdict:
    found = search(preemptor, *objects, **options)
    assert isinstance(found, Verdict)
    return found


def wants(cpu: str) -> PodBuilder:
    return pod("wants").priority(100).cpu(cpu)


def running(name: str, cpu: str, priority: int = 0, minute: int = 0) -> PodBuilder:
    return pod(name).on("n1").cpu(cpu).priority(priority).started(f"2026-01-01T00:{minute:02}:00Z")


def names(found: Candidate) -> list[str]:
    return [victim.pod.name for victim in found.victims]


def test_the_most_important_pods_are_put_back_first() -> None:
    found = candidate(
        wants("2"), running("a", "1"), running("b", "1", 5), running("c", "1", minute=1), running("d", "1", 9)
    )
    assert [(each.pod.name, each.objection is None) for each in found.reprieves] == [
        ("d", True),
        ("b", True),
        ("a", False),
        ("c", False),
    ]
    assert names(found) == ["a", "c"]


def test_a_smaller_pod_returns_where_a_more_important_one_did_not_fit() -> None:
    found = candidate(wants("3"), running("big", "2", 9), running("small", "1"), running("tiny", "1"))
    assert names(found) == ["big", "tiny"]


def test_a_reprieve_that_failed_says_why() -> None:
    found = candidate(wants("4"), running("a", "1"))
    objection = found.reprieves[0].objection
    assert objection == Verdict(unschedulable("Insufficient cpu"), "NodeResourcesFit")


def test_pods_of_equal_priority_stay() -> None:
    found = candidate(wants("2"), running("peer", "2", 100), running("low", "2"))
    assert names(found) == ["low"]


def test_without_pods_of_lower_priority_nothing_is_tried() -> None:
    assert verdict(wants("2"), running("peer", "4", 100)) is NO_VICTIMS


def test_when_evicting_all_is_not_enough_the_filter_says_why() -> None:
    found = verdict(wants("2"), running("peer", "3", 100), running("low", "1"))
    assert found == Verdict(unschedulable("Insufficient cpu"), "NodeResourcesFit")


def test_pods_that_break_a_budget_are_put_back_first() -> None:
    guarded = running("guarded", "2").labels(app="db")
    found = candidate(wants("2"), guarded, running("free", "2", 9), budget("db", 0, selector(app="db")))
    assert [each.pod.name for each in found.reprieves] == ["guarded", "free"]
    assert names(found) == ["free"]
    assert (found.pdb_violations, found.budgets) == (0, ())


def test_a_broken_budget_is_counted_and_named() -> None:
    guarded = running("guarded", "4").labels(app="db")
    found = candidate(wants("2"), guarded, budget("db", 0, selector(app="db")))
    assert found.pdb_violations == 1
    assert [(victim.budgets, victim.violates) for victim in found.victims] == [(("default/db",), ("default/db",))]
    assert found.budgets == (BudgetUse("default/db", 0, -1),)


def test_a_budget_with_room_is_named_but_not_broken() -> None:
    found = candidate(wants("4"), running("guarded", "4").labels(app="db"), budget("db", 3, selector(app="db")))
    assert found.pdb_violations == 0
    assert [(victim.budgets, victim.violates) for victim in found.victims] == [(("default/db",), ())]
    assert found.budgets == (BudgetUse("default/db", 3, 2),)


def test_victims_of_both_groups_are_sorted_again() -> None:
    guarded = running("guarded", "1").labels(app="db")
    found = candidate(wants("4"), guarded, running("free", "3", 9), budget("db", 0, selector(app="db")))
    assert [each.pod.name for each in found.reprieves] == ["guarded", "free"]
    assert names(found) == ["free", "guarded"]


def never_started() -> list[PodBuilder]:
    return [pod(name).on("n1").cpu("1").labels(app=name) for name in "abc"]


def test_victims_that_never_started_come_out_reversed() -> None:
    assert names(candidate(wants("4"), *never_started())) == ["c", "b", "a"]


def test_with_a_broken_budget_they_are_reversed_twice() -> None:
    found = candidate(wants("4"), *never_started(), budget("b", 0, selector(app="a")))
    assert [each.pod.name for each in found.reprieves] == ["a", "c", "b"]
    assert names(found) == ["b", "c", "a"]


def test_when_everybody_may_return_there_is_no_victim_and_that_is_an_error() -> None:
    found = verdict(wants("1"), running("a", "1"))
    assert found == Verdict(error('expected at least one victim pod on node "n1"'))


def test_a_filter_that_fails_is_an_error_with_its_name() -> None:
    def fail(info: NodeInfo) -> Any:
        return error("boom") if not info.pods else unschedulable("full")

    found = verdict(wants("1"), running("a", "1"), plugins=(Asked(fail, Reads.PODS),))
    assert found.status.code is Code.ERROR
    assert found.status.message == 'running "Asked" filter plugin: boom'


def test_a_filter_that_fails_during_a_reprieve_only_costs_that_pod() -> None:
    def fail(info: NodeInfo) -> Any:
        return SUCCESS if not info.pods else error("boom")

    snap = snapshot(node("n1"), running("a", "1"))
    cycle = cycle_of(snap, wants("1"))
    cycle.filters = [("Asked", Asked(fail, Reads.PODS).filter)]
    found = VictimSearch(cycle, Policy(), Budgets(snap.cluster)).on(snap.by_name["n1"])
    assert isinstance(found, Candidate)
    assert names(found) == ["a"]


def test_filters_that_read_no_pods_are_asked_once() -> None:
    static = Asked(name="Static", reads=Reads.NODE)
    live = Asked(name="Live", reads=Reads.PODS)
    cycle_plugins = (static, live, Cpu())
    snap = snapshot(node("n1"), running("a", "2"), running("b", "2"))
    cycle = cycle_of(snap, wants("2"), *cycle_plugins)
    static.filter.asked.clear()
    live.filter.asked.clear()
    VictimSearch(cycle, Policy(), Budgets(snap.cluster)).on(snap.by_name["n1"])
    assert static.filter.asked == [[]]
    assert live.filter.asked == [[], ["a"], ["a", "b"]]


def test_a_filter_is_not_asked_again_about_pods_that_do_not_affect_it() -> None:
    class Unaffected(Selective, AskedFilter):
        def affected_by(self, pod: PodInfo) -> bool:
            return False

    plugin = Asked()
    plugin.filter = Unaffected(lambda _: SUCCESS, Reads.CLUSTER)
    snap = snapshot(node("n1"), running("a", "2"), running("b", "2"))
    cycle = cycle_of(snap, wants("2"), plugin, Cpu())
    plugin.filter.asked.clear()
    VictimSearch(cycle, Policy(), Budgets(snap.cluster)).on(snap.by_name["n1"])
    assert plugin.filter.asked == [[]]


def test_filters_with_state_of_their_own_follow_every_pod() -> None:
    rival = running("rival", "1").labels(rival="yes")
    found = candidate(wants("1"), rival, running("other", "1", 9), plugins=(Rivals(), Cpu()))
    assert names(found) == ["rival"]


def test_the_search_leaves_the_snapshot_and_the_cycle_alone() -> None:
    snap = snapshot(node("n1"), running("rival", "1").labels(rival="yes"), running("b", "3"))
    cycle = cycle_of(snap, wants("2"), Rivals(), Cpu())
    finder = VictimSearch(cycle, Policy(), Budgets(snap.cluster))
    first = finder.on(snap.by_name["n1"])
    assert isinstance(first, Candidate)
    assert [each.name for each in snap.by_name["n1"].pods] == ["b", "rival"]
    assert snap.by_name["n1"].cpu == 4000
    again = finder.on(snap.by_name["n1"])
    assert isinstance(again, Candidate)
    assert essence(again) == essence(first)


def test_nominated_pods_of_equal_priority_keep_their_room() -> None:
    peer = pod("peer").priority(100).cpu("2").nominated("n1")
    found = candidate(wants("2"), running("a", "2", 1), running("b", "2"), peer)
    assert names(found) == ["a", "b"]


def test_nominated_pods_of_lower_priority_do_not() -> None:
    lower = pod("lower").priority(99).cpu("2").nominated("n1")
    found = candidate(wants("2"), running("a", "2", 1), running("b", "2"), lower)
    assert names(found) == ["b"]


def test_nominated_pods_are_added_a_few_times_whatever_the_number_of_pods_tried_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    added: Counter[str] = Counter()

    def counted(info: NodeInfo, each: PodInfo) -> None:
        added[each.name] += 1
        info.add_pods((each,))

    monkeypatch.setattr(NodeInfo, "add_pod", counted)
    peer = pod("peer").priority(100).cpu("100m").nominated("n1")
    found = candidate(wants("1"), *(running(f"p{number}", "100m") for number in range(39)), peer)
    assert len(found.victims) == 10
    assert added["peer"] == 2, "once to ask whether the pod fits, once to try the others back"


@pytest.mark.parametrize("port", [80, 443])
def test_ports_of_nominated_pods_and_victims_count_as_if_nobody_had_come_and_gone(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = pod("peer").priority(100).cpu("1").host_port(80).nominated("n1")
    pods = [running("a", "2", 9), running("b", "1", 5).host_port(80), running("c", "1", 1).host_port(443), peer]
    fast = search(wants("2").host_port(port), *pods, plugins=(Cpu(), NodePorts()))
    monkeypatch.setattr(dry_run, "is_reference", lambda: True)
    plain = search(wants("2").host_port(port), *pods, plugins=(Cpu(), NodePorts()))
    assert isinstance(fast, Candidate) == isinstance(plain, Candidate) == (port == 443)
    if isinstance(fast, Candidate) and isinstance(plain, Candidate):
        assert names(fast) == names(plain) == ["a", "c"]


def test_a_policy_may_spare_pods_and_order_them_its_own_way() -> None:
    class Gentle(Policy):
        def potential_victims(self, preemptor, info):  # type: ignore[no-untyped-def]
            return [each for each in super().potential_victims(preemptor, info) if "precious" not in each.labels]

        def by_importance(self, pods):  # type: ignore[no-untyped-def]
            return sorted(pods, key=lambda each: each.name)

    pods = [running("a", "1"), running("b", "1", 5), running("c", "1", 9), running("d", "1").labels(precious="yes")]
    found = candidate(wants("2"), *pods, policy=Gentle())
    assert names(found) == ["b", "c"]


# --- Units: who is evicted together, who may stay first, and what budgets say of them -----------------


def running_in(name: str, of: str = "", on: str = "n1", priority: int = 0, minute: int = 0) -> PodBuilder:
    built = (member(name, of) if of else pod(name)).on(on).cpu("1").priority(priority)
    return built.started(f"2026-01-01T00:{minute:02}:00Z").labels(app=of or name)


def state(*objects: KubernetesObject | PodBuilder | NodeBuilder) -> State:
    return snapshot(node("n1"), node("n2"), *objects)


def names_of_units(units: list[Unit] | tuple[Unit, ...]) -> list[str]:
    return ["+".join(sorted(each.name for each in unit.pods)) for unit in units]


@pytest.mark.parametrize(("whole", "found"), [(False, ["g-0", "g-1", "single"]), (True, ["g-0+g-1+g-2", "single"])])
def test_a_group_goes_as_a_whole_if_it_says_so(whole: bool, found: list[str]) -> None:
    """With its pods on other nodes, and not those that wait."""
    pods = [
        running_in("g-0", "g"),
        running_in("g-1", "g"),
        running_in("g-2", "g", on="n2"),
        member("g-3", "g"),
    ]
    made = state(group("g", whole=whole, priority=7), running_in("single", priority=3), *pods)
    units = units_on((made.by_name["n1"],), made)
    assert sorted(names_of_units(units)) == found
    assert {unit.priority for unit in units if unit.is_of_group} == {7}
    assert [unit.group for unit in units if unit.group] == (["default/g"] if whole else [])


def test_pods_of_a_group_that_is_not_there_are_by_themselves() -> None:
    made = state(running_in("g-0", "g", priority=4), running_in("g-1", "g", priority=5))
    units = units_on(made.nodes, made)
    assert [(unit.priority, unit.is_of_group) for unit in units] == [(4, True), (5, True)]


def test_the_most_important_stays_first() -> None:
    """By priority, then groups before pods, then more pods, then who has started earlier."""
    units = {
        "low": Unit((running_in("low", priority=1).info(),), 1, is_of_group=False),
        "late": Unit((running_in("late", minute=9).info(),), 5, is_of_group=False),
        "early": Unit((running_in("early", minute=2).info(),), 5, is_of_group=False),
        "one": Unit((running_in("one", "g", minute=1).info(),), 5, is_of_group=True),
        "two": Unit(
            (running_in("a", "h", minute=8).info(), running_in("b", "h", minute=9).info()),
            5,
            is_of_group=True,
        ),
        "never": Unit((pod("never").info(),), 5, is_of_group=False),
        "top": Unit((running_in("top", minute=30).info(),), 6, is_of_group=False),
    }
    by_id = {id(unit): name for name, unit in units.items()}
    found = [by_id[id(unit)] for unit in by_importance(units.values())]
    assert found == ["top", "two", "one", "early", "late", "never", "low"]


@pytest.mark.parametrize(("allowed", "violating", "violations"), [(0, ["g-0+g-1"], 2), (1, ["g-0+g-1"], 1), (2, [], 0)])
def test_one_pod_that_breaks_a_budget_takes_the_unit_along(allowed: int, violating: list[str], violations: int) -> None:
    made = state(
        group("g", whole=True),
        running_in("g-0", "g"),
        running_in("g-1", "g", on="n2"),
        running_in("single"),
    )
    made.apply(Upsert(budget("b", allowed, selector(app="g"))))
    units = by_importance(units_on(made.nodes, made))
    split = split_by_budgets(units, Budgets(made.cluster))
    assert names_of_units(list(split.violating)) == violating
    assert sorted(names_of_units([*split.violating, *split.others])) == ["g-0+g-1", "single"]
    assert split.violations(units) == violations


@pytest.mark.parametrize(
    ("wants", "allowed", "victims"),
    [
        ("1", 9, ["single"]),
        ("2", 9, ["g-0", "g-1"]),
        ("3", 9, ["g-0", "g-1", "single"]),
        ("1", 0, ["single"]),
    ],
    ids=["a pod is enough", "the gang goes, the pod stays", "both go", "the gang's budget is spared"],
)
def test_who_can_stay_stays_as_a_whole(wants: str, allowed: int, victims: list[str]) -> None:
    """The node has 4 cpu, of which one is not to be had."""
    made = state(
        group("g", whole=True),
        running_in("g-0", "g"),
        running_in("g-1", "g"),
        running_in("single"),
        running_in("kept", priority=200),
    )
    made.apply(Upsert(budget("b", allowed, selector(app="g"))))
    cycle = cycle_of(made, pod("wants").priority(100).cpu(wants))
    found = UnitSearch(cycle, Policy(), Budgets(made.cluster)).on(made.by_name["n1"])
    assert isinstance(found, Candidate)
    assert sorted(victim.pod.name for victim in found.victims) == victims
