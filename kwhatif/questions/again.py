"""`Concern`: when the question of a report is worth asking again.

Something that the answer did not depend on cannot change it (`Sight`). For pods that fit nowhere, kube-scheduler's
plugins know more: their queueing hints say whether an event can make a rejected pod schedulable. Where it is not known,
the question is asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from kwhatif.kube.model.bystanders import HorizontalPodAutoscaler, ServiceAccount
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.node import Node, NodeCondition
from kwhatif.kube.model.pod import ContainerStatus, Pod, PodCondition, SchedulingEvents, is_terminal
from kwhatif.kube.model.policy import ADMISSION_HOOKS, LimitRange, PodDisruptionBudget, ResourceQuota, RuntimeClass
from kwhatif.kube.model.resource import DeviceTaintRule, ResourceClaimTemplate
from kwhatif.kube.model.workload import CronJob, DaemonSet, Job
from kwhatif.questions.judging.pending_pods import in_queue_order
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.scheduler.framework.events import PLAIN, cluster_events
from kwhatif.scheduler.framework.hints import QUEUE, Registration, registrations
from kwhatif.scheduler.framework.profile import Profile, profile_of
from kwhatif.state.change import ChangedObject
from kwhatif.state.pod_info import PodInfo

T = TypeVar("T")
#: Conditions of nodes that become taints, or that the node lifecycle controller writes.
_OF_NODES = frozenset({"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"})
#: Conditions of pods that some rule reads; the failure policy of a Job may read any of its pods, and readiness gates
#: name others.
_OF_PODS = frozenset({"Ready", "PodScheduled", "DisruptionTarget", "PodResizePending", "PodResizeInProgress"})
#: What only the API server reads, when pods are made.
_OF_NEW_PODS: tuple[type, ...] = (LimitRange, ResourceQuota, RuntimeClass, ServiceAccount, *ADMISSION_HOOKS)
#: Commands about one moment of the cluster, in which only the scheduler and the API server act; the others simulate.
_INSTANT = ("schedule", "preempt", "capacity", "queue", "advise")


class Sight(NamedTuple):
    """What one answer was read from: a change of anything else cannot change the answer.

    Only what is known not to be read is left out; a field that the model gets in future counts as read. A law changes
    fields of objects at random, and asks again (`tests/property/test_asking_again.py`).
    """

    #: Kinds that were not read.
    unread: tuple[type, ...] = ()
    #: Whether controllers and kubelets act on conditions of nodes.
    reads_node_conditions: bool = True
    #: Whether the readiness of pods and the restarts of their containers were read; and since when they are ready.
    reads_ready: bool = True
    reads_ready_since: bool = True
    #: Whether it was read since when pods are pending.
    reads_waiting_since: bool = True

    def differs(self, change: ChangedObject) -> bool:
        """Whether anything that was read has changed."""
        before, after = change
        if isinstance(after if before is None else before, self.unread):
            return False
        if isinstance(before, Node) and isinstance(after, Node):
            return self._node(before) != self._node(after)
        if isinstance(before, Pod) and isinstance(after, Pod):
            return self._pod(before) != self._pod(after)
        return True

    def _node(self, node: Node) -> Node:
        """Annotations of nodes are not read, and the time of a heartbeat only if it was the last one."""
        conditions = tuple(self._node_conditions(node))
        metadata = replace(node.metadata, annotations={})
        return replace(node, metadata=metadata, status=replace(node.status, conditions=conditions))

    def _node_conditions(self, node: Node) -> Iterator[NodeCondition]:
        for each in node.status.conditions if self.reads_node_conditions else ():
            if each.type in _OF_NODES:
                last = each.last_heartbeat_time if each.status == "Unknown" else None
                yield replace(each, last_heartbeat_time=last, last_transition_time=None)

    def _pod(self, pod: Pod) -> Pod:
        owner, status = controller_of(pod.metadata), pod.status
        of_job = owner is not None and owner.kind == Job.__name__
        gates = {gate.condition_type for gate in pod.spec.readiness_gates}
        conditions = tuple(
            self._pod_condition(each)
            for each in status.conditions
            if of_job or (each.type in _OF_PODS and self._is_read(each, pod)) or each.type in gates
        )
        seen = replace(
            status,
            conditions=conditions,
            container_statuses=tuple(self._container(each, of_job=of_job) for each in status.container_statuses),
            init_container_statuses=tuple(
                self._container(each, of_job=of_job) for each in status.init_container_statuses
            ),
            ephemeral_container_statuses=(),
        )
        return replace(pod, status=seen)

    def _is_read(self, condition: PodCondition, pod: Pod) -> bool:
        if condition.type == "PodScheduled":
            return not pod.spec.node_name
        return condition.type != "Ready" or self.reads_ready

    def _pod_condition(self, condition: PodCondition) -> PodCondition:
        is_dated = {"Ready": self.reads_ready_since, "PodScheduled": self.reads_waiting_since}
        if is_dated.get(condition.type, True):
            return condition
        return replace(condition, last_transition_time=None)

    def _container(self, container: ContainerStatus, *, of_job: bool) -> ContainerStatus:
        """How the last run ended is only read for pods of Jobs."""
        restarts = container.restart_count if self.reads_ready or of_job else 0
        state = container.state if of_job else None
        if state is not None:
            state = replace(state, waiting=None)
        return replace(container, restart_count=restarts, state=state)


#: If autoscalers act, or custom plugins, which may read anything: only heartbeats are left out.
class _Everything(Sight):
    """All fields of objects, except heartbeats that are followed by others."""

    def differs(self, change: ChangedObject) -> bool:
        before, after = change
        if isinstance(before, Node) and isinstance(after, Node):
            return _without_heartbeats(before) != _without_heartbeats(after)
        return True


def _without_heartbeats(node: Node) -> Node:
    conditions = tuple(
        each if each.status == "Unknown" else replace(each, last_heartbeat_time=None) for each in node.status.conditions
    )
    return replace(node, status=replace(node.status, conditions=conditions))


EVERYTHING: Sight = _Everything()


def sight_of(report: Report) -> Sight:
    """What the answer was read from, apart from custom plugins."""
    if report.autoscaler is not None:
        return EVERYTHING
    if report.command not in _INSTANT or report.story is not None:
        return Sight()
    if report.changes:  # edits create pods, and delete others: first those that are not ready
        return Sight(reads_node_conditions=False)
    match report.command:
        case "queue":
            return Sight(
                (*_OF_NEW_PODS, HorizontalPodAutoscaler, CronJob, Job, DaemonSet, ResourceClaimTemplate),
                reads_node_conditions=False,
                reads_ready=_evicts(report),
                reads_ready_since=False,
            )
        case "capacity":
            return Sight(
                (HorizontalPodAutoscaler, CronJob),
                reads_node_conditions=False,
                reads_ready=_evicts(report),
                reads_ready_since=False,
                reads_waiting_since=False,
            )
    return Sight((HorizontalPodAutoscaler,), reads_node_conditions=False, reads_waiting_since=False)


def _evicts(report: Report) -> bool:
    """Whether pods may have been evicted since then: each that was ready lowers what its budgets allow."""
    capacity, queue = report.capacity, report.queue
    if capacity is not None and (capacity.preempting or capacity.added_nodes or capacity.shapes):
        return True  # not all pods that were tried are shown
    if queue is not None and len(queue.pods) < queue.pending:
        return True
    outcomes = {each.outcome for each in report.decisions} | {each.outcome for each in report.queued_before}
    return "Preempts" in outcomes or any(each.victims for each in report.decisions)


#: Commands that simulate the cluster and try pending pods from the beginning: they read no Events.
_PLAYED = ("drain", "outage")
#: Kinds that the scheduler watches. Budgets only matter for the choice of victims.
_HEARD_OF = (Pod, Node, DeviceTaintRule, PodDisruptionBudget, *PLAIN)


class Concern:
    """Whether changes can change the answer to a question; for pods that fit nowhere, their outcomes."""

    def __init__(self, report: Report, session: Session) -> None:
        """`report` is the answer; `session` is the cluster that was asked, which has noted what was tried."""
        guarded = {name for name, profile in session.profiles.items() if profile.has_custom_plugins}
        self._sight = EVERYTHING if guarded else sight_of(report)
        self._command = report.command
        self._pending = list(session.state.pending.values())
        self._events = self._read_events(session.cluster.facts.scheduling_events)
        self._waiting = None if guarded else _waiting(report, session)

    def _read_events(self, events: Mapping[str, SchedulingEvents]) -> object:
        """What is read of Events: everything that `queue` shows about pending pods, otherwise their order."""
        if self._command in _PLAYED:
            return None
        if self._command == "queue" or self._sight is EVERYTHING:
            return {info.key: events.get(info.key) for info in self._pending}
        return [info.key for info in in_queue_order(self._pending, events)]

    def is_of(
        self, changes: Iterable[ChangedObject], cluster: Cluster, events: Mapping[str, SchedulingEvents] | None = None
    ) -> bool:
        """Whether any of these changes may matter.

        Args:
            changes: all since the last question or call, each once.
            cluster: the cluster after them.
            events: the present Events of pods; None: as at the last call.
        """
        if events is not None and self._read_events(events) != self._events:
            return True
        seen = filter(self._sight.differs, changes)
        waiting = self._waiting
        if waiting is None:
            return any(True for _ in seen)
        return any(self._may_help(change, waiting, cluster) for change in seen)

    def _may_help(
        self, change: ChangedObject, waiting: Sequence[tuple[PodInfo, Sequence[Registration]]], cluster: Cluster
    ) -> bool:
        before, after = change
        if not isinstance(after if before is None else before, _HEARD_OF):
            return True
        if any(isinstance(obj, Pod) and not obj.spec.node_name and not is_terminal(obj) for obj in change):
            return True  # it is tried before the pods in question, or no longer
        if isinstance(before, Node) and after is None:
            return True  # its pods no longer count, even before they are deleted: hints wait for that
        if isinstance(after, Node) and before is None and _is_lived_on(after, cluster):
            return True
        if any(isinstance(obj, Pod) and _is_counted(obj, waiting, cluster) for obj in change):
            return True
        return any(
            each.hint is None or each.hint(pod, before, after, cluster) is QUEUE
            for event in cluster_events(before, after, cluster)
            for pod, registered in waiting
            for each in registered
            if each.event.matches(event)
        )


def _is_lived_on(node: Node, cluster: Cluster) -> bool:
    """Whether pods that were there before the node are on it."""
    return any(pod.spec.node_name == node.metadata.name for pod in cluster.all(Pod).values())


def _is_counted(pod: Pod, waiting: Sequence[tuple[PodInfo, Sequence[Registration]]], cluster: Cluster) -> bool:
    """Whether a quota counts this pod and also a pending one, which may therefore be refused now, or admitted."""
    namespace = pod.metadata.namespace
    if all(info.namespace != namespace for info, _ in waiting):
        return False
    return any(quota.metadata.namespace == namespace for quota in cluster.all(ResourceQuota).values())


def _waiting(report: Report, session: Session) -> list[tuple[PodInfo, list[Registration]]] | None:
    """The pods that were tried, if all of them fit nowhere, and the events that their rejecting plugins wait for."""
    found = None if session.attempts is None else session.attempts.unschedulable
    decided = {each.pod for each in report.decisions if each.outcome == "Unschedulable"}
    if not found or report.changes or decided != {each.pod for each in report.decisions}:
        return None
    if not decided <= {pod.key for pod, _ in found}:
        return None
    profiles: Mapping[str, Profile] = session.profiles
    waiting = []
    for pod, plugins in found:
        profile = profile_of(pod.pod, profiles)
        if profile is None:
            return None
        waiting.append((pod, [each for each in registrations(profile) if each.plugin in plugins]))
    return waiting
