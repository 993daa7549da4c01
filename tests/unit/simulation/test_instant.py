"""The engine without time: in which order pods are tried, and what a result does to the cluster."""

from typing import Any

import pytest

from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.status import Code
from kwhatif.scheduler.pod_groups.cycle import GroupResult, GroupStatus
from kwhatif.simulation.instant import WAITING, InstantEngine
from tests.builders import PodBuilder, node, pod, snapshot

#: Name, priority, rank of its workload, whether its result is asked for.
Queued = tuple[str, int, int, bool]


def engine(*objects: Any, **options: Any) -> InstantEngine:
    return InstantEngine(snapshot(*objects), {"default-scheduler": default_profile()}, **options)


def asks(name: str, cpu: str = "1", priority: int = 0) -> PodBuilder:
    return pod(name).requests(cpu=cpu).priority(priority)


@pytest.mark.parametrize(
    ("queued", "tried"),
    [
        ([("a", 0, 0, True), ("b", 9, 1, True)], "ba"),  # priority comes first
        ([("a", 0, 1, True), ("b", 0, 0, True)], "ba"),  # then the workload
        ([("a", 0, 0, True), ("b", 0, WAITING, True)], "ba"),  # pods that wait are before new ones
        ([("b", 0, 0, True), ("a", 0, 0, True)], "ba"),  # then the order of the calls
        ([("a", 9, 0, False), ("b", 0, 0, True)], "ab"),  # also those before it that are not asked for
        ([("a", 0, 0, True), ("b", 0, 1, False)], "a"),  # but not those after it
    ],
)
def test_pods_are_tried_in_the_queues_order(queued: list[Queued], tried: str) -> None:
    made = engine(node("n1"), *(asks(name, priority=priority) for name, priority, *_ in queued))
    order: list[str] = []
    made.attempt_watchers.append(lambda result: order.append(result.pod.pod.metadata.name))
    for name, _, rank, is_asked in queued:
        made.enqueue(made.api_server.state.pods[f"default/{name}"], rank, is_asked=is_asked)
    made.schedule()
    assert "".join(order) == tried


def test_each_pod_meets_the_cluster_that_those_before_it_leave() -> None:
    made = engine(node("n1").allocatable(cpu="2"), asks("a"), asks("b"), asks("c"))
    state, results = made.api_server.state, list[ScheduleResult]()
    made.run([state.pods[f"default/{name}"] for name in "abc"], results.append, results.append)
    assert [result.outcome for result in results] == ["Placed", "Placed", "Unschedulable"]
    assert sorted(info.key for info in state.by_name["n1"].pods) == ["default/a", "default/b"]
    assert list(state.pending) == ["default/c"]


@pytest.mark.parametrize(("evicts", "on_node"), [(True, ["default/high"]), (False, ["default/low"])])
def test_a_pod_that_evicts_is_on_its_node_at_once(evicts: bool, on_node: list[str]) -> None:
    made = engine(node("n1").allocatable(cpu="1"), asks("low").on("n1"), asks("high", priority=10), evicts=evicts)
    state, results = made.api_server.state, list[ScheduleResult]()
    made.run([state.pods["default/high"]], results.append, results.append)
    assert [result.outcome for result in results] == ["Preempts"]
    assert [info.key for info in state.by_name["n1"].pods] == on_node


def test_an_evicted_pod_has_no_turn_any_more() -> None:
    made = engine(node("n1").allocatable(cpu="1"), asks("low").on("n1"), asks("high", priority=10))
    state, low = made.api_server.state, made.api_server.state.pods["default/low"]
    made.enqueue(state.pods["default/high"], 0, is_asked=True)
    made.schedule()
    made.enqueue(low, 0, is_asked=True)
    tried: list[ScheduleResult] = []
    made.attempt_watchers.append(tried.append)
    made.schedule()
    assert tried == []


def test_a_pod_of_another_scheduler_is_ignored() -> None:
    made = engine(node("n1"), asks("a").spec(scheduler_name="other"))
    info = made.api_server.state.pods["default/a"]
    made.enqueue(info, 0, is_asked=True)
    results: list[ScheduleResult] = []
    made.attempt_watchers.append(results.append)
    made.schedule()
    assert [result.outcome for result in results] == ["Ignored"]


MEMBER = asks("a").info()
PLACED, STAYS = ScheduleResult(MEMBER, "Placed", "n1"), ScheduleResult(MEMBER, "Unschedulable", message="full")
BROKEN = ScheduleResult(MEMBER, "Unschedulable", message="plugin broke", failed=True)


@pytest.mark.parametrize(
    ("code", "own", "waits", "message", "failed"),
    [
        (Code.UNSCHEDULABLE, STAYS, False, "full", False),
        (Code.UNSCHEDULABLE, PLACED, False, "pod group is unschedulable, too few", False),
        (Code.UNSCHEDULABLE, PLACED, True, "too few", False),  # it will have room: only the group's status is reported
        (Code.UNSCHEDULABLE, None, False, "too few", False),
        (Code.ERROR, BROKEN, False, "plugin broke", True),
        (Code.ERROR, PLACED, False, "too few", True),
        (Code.ERROR, None, False, "too few", True),
    ],
)
def test_what_the_condition_of_a_member_says(
    code: Code, own: ScheduleResult | None, waits: bool, message: str, failed: bool
) -> None:
    group = PodGroup(metadata=ObjectMeta(name="gang", namespace="default"))
    result = GroupResult(
        group, [own] if own else [], [MEMBER], GroupStatus(code, ("too few",)), waits_for_victims=waits
    )
    found = result.failure_of(MEMBER, own)
    assert (found.message, found.failed, found.node) == (message, failed, None)
