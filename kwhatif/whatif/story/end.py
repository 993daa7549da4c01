"""How a simulation ended: settled, stuck, or in a loop."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from kwhatif.model.cluster import key_of
from kwhatif.model.meta import controller_of
from kwhatif.model.pod import Pod, is_ready, is_terminal
from kwhatif.model.workload import DaemonSet, Deployment, ReplicaSet, StatefulSet
from kwhatif.report.story import CycleRow, LoopCause, PendingRow, RefusedRow, Settled
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.loops import EndlessLoop
from kwhatif.workloads.numbers import ordinal_of
from kwhatif.workloads.stateful_set import first_to_roll

_REVISION = "controller-revision-hash"
#: Kinds whose pods have to be ready; those of Jobs only have to end.
_SERVING = ("ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet")
#: What makes a pod, or takes one away.
_CHURN = ("created", "preempted", "evicted", "evicted by taint", "deleted", "collected")


def settled(engine: Engine, pending: Collection[PendingRow], refused: Collection[RefusedRow]) -> Settled:
    """The worst that can be said."""
    if engine.is_over_horizon:
        return "horizon"
    if engine.cycle is not None:
        return "cycling"
    if refused or _is_stuck(engine):
        return "rollout-stuck"
    if engine.evictors.names:
        return "stalled"
    pods = engine.world.state.cluster.all(Pod).values()
    if any(pod.metadata.deletion_timestamp is not None for pod in pods):
        return "terminating"
    if pending:
        return "pending"
    return "rollout-stuck" if _is_unavailable(engine) else "settled"


def _is_stuck(engine: Engine) -> bool:
    """Whether a rollout stands still half way that this simulation has seen: pods of two revisions are there."""
    world = engine.world
    changed = {event.object for event in world.history.events if event.verb in ("created", "changed")}
    for deployment in world.state.cluster.all(Deployment).values():
        if f"Deployment {key_of(deployment)}" in changed and not deployment.spec.paused:
            sets = [each for each in world.owned(deployment, ReplicaSet) if each.spec.replicas]
            if len(sets) > 1:
                return True
    for kind in (StatefulSet, DaemonSet):
        workloads: Mapping[str, StatefulSet | DaemonSet] = world.state.cluster.all(kind)
        for workload in workloads.values():
            if f"{kind.__name__} {key_of(workload)}" not in changed or workload.spec.update_strategy.type == "OnDelete":
                continue
            pods = [pod for pod in world.pods_of(workload) if not is_terminal(pod) and _is_rolled(pod, workload)]
            if len({pod.metadata.labels.get(_REVISION) for pod in pods}) > 1:
                return True
    return False


def _is_rolled(pod: Pod, workload: StatefulSet | DaemonSet) -> bool:
    """Whether a rollout replaces the pod: not those of a StatefulSet below its partition, which is a canary's end."""
    if isinstance(workload, DaemonSet):
        return True
    first, number = first_to_roll(workload), ordinal_of(pod.metadata, workload.metadata.name)
    return first is not None and number is not None and number >= first


def _is_unavailable(engine: Engine) -> bool:
    """Whether a pod that a workload has made in this simulation runs, and never gets ready."""
    world = engine.world
    pods = world.state.cluster.all(Pod)
    made = (event.object.removeprefix("Pod ") for event in world.history.events if event.verb == "created")
    return any(
        _waits_to_be_ready(pod) and pod.spec.node_name not in world.silent
        for pod in map(pods.get, dict.fromkeys(made))
        if pod is not None
    )


def _waits_to_be_ready(pod: Pod) -> bool:
    owner = controller_of(pod.metadata)
    return owner is not None and owner.kind in _SERVING and not is_ready(pod) and not is_terminal(pod)


def loop_row(engine: Engine, cycle: EndlessLoop, owners: Mapping[str, str]) -> CycleRow:
    """A loop that never ends: who takes part in it; `owners` are the workloads of pods, by their names in events."""
    events = engine.world.history.events[cycle.first : cycle.last]
    pods = engine.world.state.cluster.all(Pod)
    participants: dict[str, None] = {}
    causes: dict[LoopCause, None] = {}
    for event in events:
        if not event.object.startswith("Pod ") or event.verb not in _CHURN:
            continue
        participants[owners.get(event.object, event.object)] = None
        preemptor = pods.get(event.detail.removeprefix("for "))
        if preemptor is not None:
            participants[engine.tally.root(preemptor)] = None
            causes |= dict.fromkeys(_causes(preemptor))
    return CycleRow(
        start=round(cycle.start, 3),
        period=round(cycle.end - cycle.start, 3),
        participants=tuple(sorted(participants)),
        events=(cycle.first, max(cycle.first, cycle.last - 1)),
        remedies=(),
        suspected=bool(cycle.doubt),
        causes=tuple(sorted(causes)),
    )


def _causes(preemptor: Pod) -> Iterator[LoopCause]:
    """What of the pod those may meet who come back after it has evicted them."""
    affinity = preemptor.spec.affinity
    if affinity is not None and affinity.pod_anti_affinity is not None and affinity.pod_anti_affinity.required:
        yield "anti-affinity"
    if any(each.when_unsatisfiable == "DoNotSchedule" for each in preemptor.spec.topology_spread_constraints):
        yield "spread"
