"""Preemption the plain way: every filter asked every time, pods moved one by one, Go's sort by comparison.

Slow and literal, beside `pkg/scheduler/framework/preemption` and `plugins/defaultpreemption`; `kwhatif.scheduler.preemption` must
come to the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from kwhatif.kube.matching.labels import SelectorError, compile_selector
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.filters import NamedFilter
from kwhatif.scheduler.framework.status import Code, Verdict, unresolvable
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


class Plain(NamedTuple):
    """Candidates (victims' keys, violations) and rejections by node, and the best nodes."""

    candidates: dict[str, tuple[list[str], int]]
    rejected: dict[str, tuple[Code, tuple[str, ...]]]
    best: set[str]


def preempt(cycle: Cycle) -> Plain:
    """Dry-run every node whose verdict is Unschedulable."""
    victims: dict[str, tuple[list[PodInfo], int]] = {}
    rejected: dict[str, tuple[Code, tuple[str, ...]]] = {}
    for node in cycle.state.nodes:
        verdict = cycle.verdict_of(node.name)
        if verdict is None or verdict.status.code is not Code.UNSCHEDULABLE:
            continue
        found = select_victims(cycle, node)
        if isinstance(found, Verdict):
            rejected[node.name] = found.status.code, found.status.reasons
        elif not found[0]:
            rejected[node.name] = Code.ERROR, (f'expected at least one victim pod on node "{node.name}"',)
        else:
            victims[node.name] = found
    candidates = {name: ([pod.key for pod in pods], violations) for name, (pods, violations) in victims.items()}
    return Plain(candidates, rejected, pick(victims))


def select_victims(cycle: Cycle, original: NodeInfo) -> tuple[list[PodInfo], int] | Verdict:
    """`SelectVictimsOnNode`."""
    node = original.clone()
    filters: list[NamedFilter] = [(name, plugin.fork()) for name, plugin in cycle.filters]

    def remove(pod: PodInfo) -> None:
        node.remove_pod(pod)
        for _, plugin in filters:
            plugin.remove_pod(pod, node)

    def add(pod: PodInfo) -> None:
        node.add_pod(pod)
        for _, plugin in filters:
            plugin.add_pod(pod, node)

    potential = [pod for pod in original.pods if pod.priority < cycle.pod.priority]
    if not potential:
        return Verdict(unresolvable("No preemption victims found for incoming pod"))
    for pod in potential:
        remove(pod)
    objection = cycle.check(node, filters)
    if objection is not None:
        return objection
    clock = count(2**63)
    violating, others = split_by_budgets(cycle, insertion_sort(potential, clock))
    victims: list[PodInfo] = []
    violations = 0
    for pod in [*violating, *others]:
        add(pod)
        if cycle.check(node, filters) is not None:
            remove(pod)
            victims.append(pod)
            violations += pod in violating
    if violating and others:
        victims = insertion_sort(victims, clock)
    return victims, violations


def insertion_sort(pods: Sequence[PodInfo], clock: Iterator[int]) -> list[PodInfo]:
    """What `sort.Slice` does with up to 12 elements."""
    data = list(pods)
    for i in range(1, len(data)):
        j = i
        while j > 0 and more_important(data[j], data[j - 1], clock):
            data[j], data[j - 1] = data[j - 1], data[j]
            j -= 1
    return data


def more_important(left: PodInfo, right: PodInfo, clock: Iterator[int]) -> bool:
    """`MoreImportantPod`; the clock moves on each time it is read."""
    if left.priority != right.priority:
        return left.priority > right.priority
    first = next(clock) if left.start_time is None else left.start_time
    second = next(clock) if right.start_time is None else right.start_time
    return first < second


def split_by_budgets(cycle: Cycle, pods: Sequence[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
    """`filterPodsWithPDBViolation`."""
    budgets = list(cycle.state.cluster.all(PodDisruptionBudget).values())
    allowed = [budget.status.disruptions_allowed if budget.status else 0 for budget in budgets]
    violating: list[PodInfo] = []
    others: list[PodInfo] = []
    for pod in pods:
        violated = False
        for index, budget in enumerate(budgets):
            if not pod.labels or budget.metadata.namespace != pod.namespace:
                continue
            try:
                selector = compile_selector(budget.spec.selector)
            except SelectorError:
                continue
            if selector.empty or not selector.matches(pod.labels):
                continue
            if budget.status and pod.name in budget.status.disrupted_pods:
                continue
            allowed[index] -= 1
            violated |= allowed[index] < 0
        (violating if violated else others).append(pod)
    return violating, others


def pick(victims: dict[str, tuple[list[PodInfo], int]]) -> set[str]:
    """`pickOneNodeForPreemption`, up to where it would take any."""
    now = 2**63

    def earliest(node: str) -> int:
        pods = victims[node][0]
        highest = max(pod.priority for pod in pods)
        return min(now if p.start_time is None else p.start_time for p in pods if p.priority == highest)

    scores: list[Callable[[str], int]] = [
        lambda node: -victims[node][1],
        lambda node: -victims[node][0][0].priority,
        lambda node: -sum(pod.priority + 2**31 for pod in victims[node][0]),
        lambda node: -len(victims[node][0]),
        earliest,
    ]
    left = set(victims)
    for score in scores:
        best = max((score(node) for node in left), default=0)
        left = {node for node in left if score(node) == best}
    return left
