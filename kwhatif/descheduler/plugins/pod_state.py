"""Strategies about a pod's own age and state: PodLifeTime, RemoveFailedPods, RemovePodsHavingTooManyRestarts.

(`framework/plugins/podlifetime`, `removefailedpods` and `removepodshavingtoomanyrestarts`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kwhatif.descheduler.attempt import Failed, LifeTime, Restarts
from kwhatif.descheduler.handle import Handle, Result, chosen
from kwhatif.descheduler.node_fit import exit_codes, reasons, waiting_reasons
from kwhatif.descheduler.policy import (
    PodConditionFilter,
    PodLifeTimeArgs,
    RemoveFailedPodsArgs,
    RemovePodsHavingTooManyRestartsArgs,
)
from kwhatif.descheduler.sandbox import Sandbox
from kwhatif.kube.model.go_sort import go_sort
from kwhatif.kube.model.meta import SECOND, parse_time
from kwhatif.kube.model.pod import Pod, PodCondition

_Test = Callable[[Pod], bool]


def pod_life_time(args: PodLifeTimeArgs, handle: Handle) -> str:
    """Evict pods that are too old, or too long in a certain state: the oldest of all nodes first."""
    choose = chosen(args.namespaces, args.label_selector)
    sandbox = handle.sandbox
    tests = tuple(_tests(args, sandbox))
    found = [
        pod
        for node in handle.nodes
        for pod in sandbox.pods(node.metadata.name)
        if choose(pod) and all(test(pod) for test in tests) and handle.is_evictable(pod)
    ]
    go_sort(found, lambda one, other: _created(one) < _created(other))
    conditions = _asked_for(args)
    for pod in found:
        age = max(0, sandbox.age(pod.metadata.creation_timestamp)) // SECOND
        why = LifeTime(age=age, max_age=args.max_pod_life_time_seconds, conditions=conditions)
        # The limit per node does not end the loop: later pods of the node are still tried.
        if handle.evict(pod, why) is Result.TOTAL_LIMIT:
            break
    return ""


def _created(pod: Pod) -> int:
    time = pod.metadata.creation_timestamp
    return parse_time(time) if time else -(2**63)


def _tests(args: PodLifeTimeArgs, sandbox: Sandbox) -> Iterator[_Test]:
    """The criteria, all of which must be met."""
    if args.max_pod_life_time_seconds is not None:
        yield _is_older(args.max_pod_life_time_seconds, sandbox)
    if args.states:
        yield _is_in_state(args)
    owners = args.owner_kinds
    if owners is not None and (owners.include or owners.exclude):
        kinds = frozenset(owners.include or owners.exclude)
        wanted = bool(owners.include)
        yield lambda pod: any(owner.kind in kinds for owner in pod.metadata.owner_references) is wanted
    if args.conditions:
        yield lambda pod: any(
            _matches(condition, each, sandbox) for each in args.conditions for condition in pod.status.conditions
        )
    if args.exit_codes:
        codes = frozenset(args.exit_codes)
        yield lambda pod: not codes.isdisjoint(exit_codes(pod, init=args.including_init_containers))


def _is_older(limit: int, sandbox: Sandbox) -> _Test:
    """Whether the pod is older, in whole seconds; a pod from the future is not."""

    def test(pod: Pod) -> bool:
        age = sandbox.age(pod.metadata.creation_timestamp)
        return age >= 0 and age // SECOND > limit

    return test


def _is_in_state(args: PodLifeTimeArgs) -> _Test:
    wanted = frozenset(args.states)
    init, ephemeral = args.including_init_containers, args.including_ephemeral_containers

    def test(pod: Pod) -> bool:
        if pod.status.phase in wanted or pod.status.reason in wanted:
            return True
        return not wanted.isdisjoint(reasons(pod, init=init, ephemeral=ephemeral))

    return test


def _matches(condition: PodCondition, wanted: PodConditionFilter, sandbox: Sandbox) -> bool:
    for value, found in (
        (wanted.type, condition.type),
        (wanted.status, condition.status),
        (wanted.reason, condition.reason),
    ):
        if value and value != found:
            return False
    least = wanted.min_time_since_last_transition_seconds
    if least is None:
        return True
    if not condition.last_transition_time:
        return False
    idle = sandbox.age(condition.last_transition_time)
    return idle >= 0 and idle // SECOND >= least


def _asked_for(args: PodLifeTimeArgs) -> tuple[str, ...]:
    """The criteria besides the age, in short."""
    rows = [
        *args.states,
        *(" ".join(filter(None, (each.type or "any condition", each.status, each.reason))) for each in args.conditions),
        *(f"exit code {code}" for code in args.exit_codes),
    ]
    return tuple(rows)


_UINT = 2**64


def remove_failed_pods(args: RemoveFailedPodsArgs, handle: Handle) -> str:
    """Evict (that is, delete) failed pods."""
    choose = chosen(args.namespaces, args.label_selector)
    least = args.min_pod_lifetime_seconds or 0
    for node in handle.nodes:
        found = [
            (pod, Failed(age=_age(pod, handle), min_age=least, reasons=tuple(dict.fromkeys(_reasons(pod, args)))))
            for pod in handle.sandbox.pods(node.metadata.name)
            if pod.status.phase == "Failed"
            and choose(pod)
            and _age(pod, handle) % _UINT >= least
            and _is_wanted(pod, args)
            and handle.is_evictable(pod)
        ]
        if not handle.evict_each(found):
            break
    return ""


def _age(pod: Pod, handle: Handle) -> int:
    """Age in whole seconds. QUIRK: as an unsigned number, the negative age of a pod from the future is very large."""
    age = handle.sandbox.age(pod.metadata.creation_timestamp)
    return age // SECOND if age >= 0 else -(-age // SECOND)


def _is_wanted(pod: Pod, args: RemoveFailedPodsArgs) -> bool:
    if any(owner.kind in args.exclude_owner_kinds for owner in pod.metadata.owner_references):
        return False
    if args.reasons and not _any_of(args.reasons, _reasons(pod, args)):
        return False
    return not args.exit_codes or _any_of(args.exit_codes, exit_codes(pod, init=args.including_init_containers))


def _any_of(wanted: Iterable[object], found: Iterable[object]) -> bool:
    return not frozenset(wanted).isdisjoint(found)


def _reasons(pod: Pod, args: RemoveFailedPodsArgs) -> list[str]:
    found = *reasons(pod, init=args.including_init_containers), pod.status.reason
    return [reason for reason in found if reason]


def remove_pods_having_too_many_restarts(args: RemovePodsHavingTooManyRestartsArgs, handle: Handle) -> str:
    """Evict pods whose containers have restarted too often, those with the most restarts first."""
    choose = chosen(args.namespaces, args.label_selector)
    states = frozenset(args.states)
    init = args.including_init_containers

    def is_in_state(pod: Pod) -> bool:
        return not states or pod.status.phase in states or not states.isdisjoint(waiting_reasons(pod, init=init))

    for node in handle.nodes:
        found = [
            (pod, Restarts(restarts=count, threshold=args.pod_restart_threshold))
            for pod in handle.sandbox.pods(node.metadata.name)
            if choose(pod)
            and (count := _restarts(pod, init=init)) >= args.pod_restart_threshold
            and is_in_state(pod)
            and handle.is_evictable(pod)
        ]
        go_sort(found, lambda one, other: one[1].restarts > other[1].restarts)
        if not handle.evict_each(found):
            break
    return ""


def _restarts(pod: Pod, *, init: bool) -> int:
    statuses = pod.status.container_statuses + (pod.status.init_container_statuses if init else ())
    return sum(status.restart_count for status in statuses)
