"""PodLifeTime (`framework/plugins/podlifetime`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kwhatif.descheduler.arguments import PodConditionFilter, PodLifeTimeArgs
from kwhatif.descheduler.attempt import LifeTime
from kwhatif.descheduler.handle import Handle, Result, chosen
from kwhatif.descheduler.pods import exit_codes, reasons
from kwhatif.descheduler.world import DeschedulerWorld
from kwhatif.kube.model.go_sort import go_sort
from kwhatif.kube.model.meta import SECOND, parse_time
from kwhatif.kube.model.pod import Pod, PodCondition

_Test = Callable[[Pod], bool]


def run(args: PodLifeTimeArgs, handle: Handle) -> str:
    """Evict pods that are too old, or too long in a certain state: the oldest of all nodes first."""
    choose = chosen(args.namespaces, args.label_selector)
    world = handle.world
    tests = tuple(_tests(args, world))
    found = [
        pod
        for node in handle.nodes
        for pod in world.pods(node.metadata.name)
        if choose(pod) and all(test(pod) for test in tests) and handle.is_evictable(pod)
    ]
    go_sort(found, lambda one, other: _created(one) < _created(other))
    conditions = _asked_for(args)
    for pod in found:
        age = max(0, world.age(pod.metadata.creation_timestamp)) // SECOND
        why = LifeTime(age=age, max_age=args.max_pod_life_time_seconds, conditions=conditions)
        # The limit per node does not end the loop: later pods of the node are still tried.
        if handle.evict(pod, why) is Result.TOTAL_LIMIT:
            break
    return ""


def _created(pod: Pod) -> int:
    time = pod.metadata.creation_timestamp
    return parse_time(time) if time else -(2**63)


def _tests(args: PodLifeTimeArgs, world: DeschedulerWorld) -> Iterator[_Test]:
    """The criteria, all of which must be met."""
    if args.max_pod_life_time_seconds is not None:
        yield _is_older(args.max_pod_life_time_seconds, world)
    if args.states:
        yield _is_in_state(args)
    owners = args.owner_kinds
    if owners is not None and (owners.include or owners.exclude):
        kinds = frozenset(owners.include or owners.exclude)
        wanted = bool(owners.include)
        yield lambda pod: any(owner.kind in kinds for owner in pod.metadata.owner_references) is wanted
    if args.conditions:
        yield lambda pod: any(
            _matches(condition, each, world) for each in args.conditions for condition in pod.status.conditions
        )
    if args.exit_codes:
        codes = frozenset(args.exit_codes)
        yield lambda pod: not codes.isdisjoint(exit_codes(pod, init=args.including_init_containers))


def _is_older(limit: int, world: DeschedulerWorld) -> _Test:
    """Whether the pod is older, in whole seconds; a pod from the future is not."""

    def test(pod: Pod) -> bool:
        age = world.age(pod.metadata.creation_timestamp)
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


def _matches(condition: PodCondition, wanted: PodConditionFilter, world: DeschedulerWorld) -> bool:
    for asked, found in (
        (wanted.type, condition.type),
        (wanted.status, condition.status),
        (wanted.reason, condition.reason),
    ):
        if asked and asked != found:
            return False
    least = wanted.min_time_since_last_transition_seconds
    if least is None:
        return True
    if not condition.last_transition_time:
        return False
    idle = world.age(condition.last_transition_time)
    return idle >= 0 and idle // SECOND >= least


def _asked_for(args: PodLifeTimeArgs) -> tuple[str, ...]:
    """The criteria besides the age, in short."""
    rows = [
        *args.states,
        *(" ".join(filter(None, (each.type or "any condition", each.status, each.reason))) for each in args.conditions),
        *(f"exit code {code}" for code in args.exit_codes),
    ]
    return tuple(rows)
