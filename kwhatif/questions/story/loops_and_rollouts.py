"""How a simulation ended: settled, stuck, or in a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from kwhatif.kube.model.cluster import Cluster, ObjectRef
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, is_ready, is_terminal
from kwhatif.kube.model.workload import DaemonSet, Deployment, ReplicaSet, StatefulSet
from kwhatif.report.story import CycleRow, LoopCause
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.history import GONE_VERBS, Event, Verb
from kwhatif.simulation.loops import EndlessLoop
from kwhatif.workloads.names import ordinal_of
from kwhatif.workloads.stateful_set import first_to_roll

_REVISION = "controller-revision-hash"
#: Kinds whose pods have to become ready; pods of Jobs only have to end.
_SERVING = ("ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet")
#: Events that create or remove a pod.
_CHURN: frozenset[Verb] = frozenset({"created", "deleted", *GONE_VERBS.values()})


def stuck_rollouts(engine: Engine) -> frozenset[str]:
    """Stuck rollouts: changed workloads with pods of two revisions."""
    return frozenset(_stuck(engine))


def _stuck(engine: Engine) -> Iterator[str]:
    api_server = engine.api_server
    changed = {event.object for event in api_server.history.events if event.verb in ("created", "changed")}
    for key, deployment in api_server.state.cluster.all(Deployment).items():
        if ObjectRef("Deployment", key) in changed and not deployment.spec.paused:
            sets = [each for each in api_server.owned(deployment, ReplicaSet) if each.spec.replicas]
            if len(sets) > 1:
                yield f"Deployment {key}"
    for kind in (StatefulSet, DaemonSet):
        workloads: Mapping[str, StatefulSet | DaemonSet] = api_server.state.cluster.all(kind)
        for key, workload in workloads.items():
            ref = ObjectRef(kind.__name__, key)
            if ref not in changed or workload.spec.update_strategy.type == "OnDelete":
                continue
            pods = [pod for pod in api_server.pods_of(workload) if not is_terminal(pod) and _is_rolled(pod, workload)]
            if len({pod.metadata.labels.get(_REVISION) for pod in pods}) > 1:
                yield str(ref)


def terminating_pods(engine: Engine) -> frozenset[str]:
    """Terminating pods whose end no kubelet reports."""
    pods = engine.api_server.state.cluster.all(Pod)
    return frozenset(key for key, pod in pods.items() if pod.metadata.deletion_timestamp is not None)


def _is_rolled(pod: Pod, workload: StatefulSet | DaemonSet) -> bool:
    """Whether a rollout replaces the pod; pods of a StatefulSet below its partition are kept, as for a canary."""
    if isinstance(workload, DaemonSet):
        return True
    first, number = first_to_roll(workload), ordinal_of(pod.metadata, workload.metadata.name)
    return first is not None and number is not None and number >= first


def unavailable_pods(engine: Engine) -> Counter[str]:
    """The number of new pods that never become ready, by workload."""
    api_server = engine.api_server
    pods = api_server.state.cluster.all(Pod)
    made = api_server.history.keys(Pod, "created")
    return Counter(
        engine.tally.root(pod)
        for pod in map(pods.get, dict.fromkeys(made))
        if pod is not None and _waits_to_be_ready(pod) and pod.spec.node_name not in api_server.silent
    )


def _waits_to_be_ready(pod: Pod) -> bool:
    owner = controller_of(pod.metadata)
    return owner is not None and owner.kind in _SERVING and not is_ready(pod) and not is_terminal(pod)


def participants(engine: Engine) -> frozenset[str]:
    """The workloads in the endless loop; none if the simulation has settled."""
    if engine.cycle is None:
        return frozenset()
    return frozenset(_participants(engine, engine.cycle))


def _participants(engine: Engine, cycle: EndlessLoop) -> Iterator[str]:
    pods = engine.api_server.state.cluster.all(Pod)
    gone = {gone.pod: gone.owner for gone in engine.api_server.history.gone.values() if gone.owner}
    for event in _churn(engine, cycle):
        key = event.object.key
        pod = pods.get(key)
        yield gone.get(key) or (str(event.object) if pod is None else engine.tally.root(pod))
    yield from map(engine.tally.root, _preemptors(engine, cycle))


def _churn(engine: Engine, cycle: EndlessLoop) -> Iterator[Event]:
    """The events in the loop that created or removed pods."""
    for event in engine.api_server.history.events[cycle.first : cycle.last]:
        if event.verb in _CHURN and event.object.kind == Pod.__name__:
            yield event


def _preemptors(engine: Engine, cycle: EndlessLoop) -> Iterator[Pod]:
    """The pods for which others were evicted in the loop."""
    pods = engine.api_server.state.cluster.all(Pod)
    by = dict.fromkeys(event.by for event in _churn(engine, cycle) if event.by is not None)
    return (pods[ref.key] for ref in by if ref.kind == Pod.__name__ and ref.key in pods)


def loop_row(engine: Engine, cycle: EndlessLoop) -> CycleRow:
    """The row of an endless loop: its workloads, and its causes."""
    return CycleRow(
        start=round(cycle.start, 3),
        period=round(cycle.end - cycle.start, 3),
        participants=tuple(sorted(participants(engine))),
        events=(cycle.first, max(cycle.first, cycle.last - 1)),
        remedies=(),
        suspected=bool(cycle.doubt),
        causes=tuple(sorted({cause for pod in _preemptors(engine, cycle) for cause in _causes(pod)})),
    )


def _causes(preemptor: Pod) -> Iterator[LoopCause]:
    """The rules of the preemptor that may conflict with its victims when they return."""
    affinity = preemptor.spec.affinity
    if affinity is not None and affinity.pod_anti_affinity is not None and affinity.pod_anti_affinity.required:
        yield "anti-affinity"
    if any(each.when_unsatisfiable == "DoNotSchedule" for each in preemptor.spec.topology_spread_constraints):
        yield "spread"


def makes_pods(engine: Engine, before: Cluster) -> bool:
    """Whether there are additional pods, or pods of a new template: other new pods use what the replaced ones used."""
    if any(gone.how == "RolledOut" for gone in engine.api_server.history.gone.values()):
        return True
    was, now = (
        Counter(pod.metadata.namespace for pod in cluster.all(Pod).values() if not is_terminal(pod))
        for cluster in (before, engine.api_server.state.cluster)
    )
    return bool(now - was)
