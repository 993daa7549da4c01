"""Hints: whether an event may help a rejected pod, and what the queue needs of the profiles for that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from enum import IntEnum
from functools import partial
from typing import NamedTuple

from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.meta import SECOND
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.framework.events import ClusterEvent
from kwhatif.scheduler.framework.hints import QUEUE, HintIndex, Keys, QueueingHint, Registration, registrations
from kwhatif.scheduler.framework.plugin import PreemptsBesideTheLoop, PreEnqueuePlugin
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.status import SUCCESS, Status, unresolvable
from kwhatif.scheduler.queue.queued_pod import QueuedPodInfo
from kwhatif.scheduler.queue.unschedulable_pods import CauseGroup, RejectionCause, UnschedulablePods
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

WAITING = unresolvable("waiting for the preemption for this pod to be finished")


class Preempting:
    """The asynchronous preemptions (`preemption/executor.go`), for DefaultPreemption's PreEnqueue."""

    def __init__(self, lister: Callable[[str], Pod | None]) -> None:
        self._lister = lister
        #: UID of the preemptor -> key of its last victim, "" until only that one is left.
        self._last_victims: dict[str, str] = {}

    def fork(self, lister: Callable[[str], Pod | None]) -> Preempting:
        """An independent copy."""
        other = Preempting(lister)
        other._last_victims = self._last_victims.copy()
        return other

    def start(self, uid: str) -> None:
        """The pod's preemption has begun: the pod is not tried until it ends."""
        self._last_victims[uid] = ""

    def reach_last(self, uid: str, victim: str) -> None:
        """Only this victim (its key) is left: once its deletion is seen, the preemption is over."""
        self._last_victims[uid] = victim

    def end(self, uid: str) -> None:
        """All API calls were made, or one has failed."""
        self._last_victims.pop(uid, None)

    def is_running(self, uid: str) -> bool:
        """Whether the pod's preemption is under way (`IsPodRunningPreemption`)."""
        victim = self._last_victims.get(uid)
        if not victim:
            return victim is not None
        pod = self._lister(victim)
        return pod is not None and pod.metadata.deletion_timestamp is None

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """SUCCESS, or that the pod waits for its own preemption."""
        return WAITING if self.is_running(pod.uid) else SUCCESS


#: A PreEnqueue plugin: its name, and its check of a pod.
PreEnqueue = tuple[str, Callable[[PodInfo], Status]]


class QueueProfile(NamedTuple):
    """The part of a profile that the queue needs."""

    registrations: Sequence[Registration] = ()
    pre_enqueue: Sequence[PreEnqueue] = ()


class QueueOptions(NamedTuple):
    """`podInitialBackoffSeconds`, `podMaxBackoffSeconds` and `--pod-max-in-unschedulable-pods-duration`."""

    initial_backoff: int = 1 * SECOND
    max_backoff: int = 10 * SECOND
    max_in_unschedulable_pods: int = 300 * SECOND


def queue_profile(profile: Profile, state: State, preempting: Preempting) -> QueueProfile:
    """The profile for the queue; PreEnqueue reads the state's cluster."""
    checks = tuple((plugin.name, _check(plugin, state, preempting)) for plugin in profile.pre_enqueue)
    return QueueProfile(registrations(profile), checks)


def _check(plugin: PreEnqueuePlugin, state: State, preempting: Preempting) -> Callable[[PodInfo], Status]:
    if isinstance(plugin, PreemptsBesideTheLoop):
        return preempting.pre_enqueue
    return partial(_ask, plugin, state)


def _ask(plugin: PreEnqueuePlugin, state: State, pod: PodInfo) -> Status:
    return plugin.pre_enqueue(pod, state)


class QueueingStrategy(IntEnum):
    """How a pod is requeued."""

    #: Not at all: it stays in the unschedulable pool.
    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


#: Answers by plugin; "*" stands for a wildcard event, for which no hint runs.
Answers = Mapping[str, QueueingHint]
WILDCARD_ANSWER: Answers = {"*": QUEUE}


class Occurrence(NamedTuple):
    """An event with the object before and after it."""

    event: ClusterEvent
    old: KubernetesObject | None
    new: KubernetesObject | None

    @property
    def pod_uid(self) -> str:
        """The UID of the pod that it is about; "" if it is about another object."""
        obj = self.old if self.new is None else self.new
        return obj.metadata.uid or self.key if isinstance(obj, Pod) else ""

    @property
    def key(self) -> str:
        """The key of the object that it is about."""
        obj = self.old if self.new is None else self.new
        return "" if obj is None else key_of(obj)


class QueueingHints:
    """The events that the plugins of all profiles are registered for."""

    def __init__(self, registrations: Mapping[str, Sequence[Registration]], cluster: Cluster) -> None:
        """`registrations`: by scheduler name; hints read `cluster`, as it is after the event."""
        self._registrations = registrations
        self.cluster = cluster
        self._matching: dict[tuple[str, ClusterEvent], tuple[Registration, ...]] = {}
        self._interest: dict[ClusterEvent, bool] = {}
        #: Answers of one plugin alone.
        self._single: dict[tuple[str, QueueingHint], Answers] = {}
        self._by_plugin: dict[str, set[ClusterEvent]] = {}
        for entry in (entry for entries in registrations.values() for entry in entries):
            self._by_plugin.setdefault(entry.plugin, set()).add(entry.event)

    def fork(self, cluster: Cluster) -> QueueingHints:
        """Hints that read another cluster; what is cached does not depend on the cluster."""
        other = copy(self)
        other.cluster = cluster
        return other

    def is_of_interest(self, event: ClusterEvent) -> bool:
        """Whether any plugin is registered for the event; others are dropped at once."""
        if event.is_wildcard:
            return True
        known = self._interest.get(event)
        if known is None:
            known = any(self._matching_of(name, event) for name in self._registrations)
            self._interest[event] = known
        return known

    def _matching_of(self, scheduler_name: str, event: ClusterEvent) -> tuple[Registration, ...]:
        key = scheduler_name, event
        found = self._matching.get(key)
        if found is None:
            entries = self._registrations[scheduler_name]
            found = self._matching[key] = tuple(entry for entry in entries if entry.event.matches(event))
        return found

    def answers(self, info: QueuedPodInfo, occurrence: Occurrence) -> Answers:
        """The answers of all plugins that rejected the pod; if a plugin has two hints, QUEUE wins."""
        rejectors = info.rejectors
        if occurrence.event.is_wildcard:
            named = occurrence.pod_uid
            return WILDCARD_ANSWER if rejectors and named in ("", info.uid) else {}
        return self._ask(self._asked(info.pod_info.pod.spec.scheduler_name, rejectors, occurrence), info, occurrence)

    def _asked(self, scheduler_name: str, rejectors: Collection[str], occurrence: Occurrence) -> Sequence[Registration]:
        if scheduler_name not in self._registrations:
            return ()
        matching = self._matching_of(scheduler_name, occurrence.event)
        return [entry for entry in matching if entry.plugin in rejectors] if matching else ()

    def _ask(self, asked: Sequence[Registration], info: QueuedPodInfo, occurrence: Occurrence) -> Answers:
        _, old, new = occurrence
        if len(asked) == 1:  # as mostly
            plugin, hint = asked[0].plugin, asked[0].hint
            said = QUEUE if hint is None else hint(info.pod_info, old, new, self.cluster)
            return self._single.setdefault((plugin, said), {plugin: said})
        answers: dict[str, QueueingHint] = {}
        for plugin, hint in ((entry.plugin, entry.hint) for entry in asked):
            if answers.get(plugin) is not QUEUE:
                answers[plugin] = QUEUE if hint is None else hint(info.pod_info, old, new, self.cluster)
        return answers

    @staticmethod
    def strategy(info: QueuedPodInfo | RejectionCause, answers: Answers) -> QueueingStrategy:
        """The strategy for these answers. A plugin that returned Pending skips backoff."""
        if not info.unschedulable_plugins and not info.pending_plugins:
            return QueueingStrategy.AFTER_BACKOFF
        best = QueueingStrategy.SKIP
        if QUEUE not in answers.values():
            return best
        for plugin, hint in answers.items():
            if hint is QUEUE:
                pending = plugin in info.pending_plugins
                best = max(best, QueueingStrategy.IMMEDIATELY if pending else QueueingStrategy.AFTER_BACKOFF)
        return best

    def judge_pool(
        self, pool: UnschedulablePods, occurrence: Occurrence, *, every_pod: bool
    ) -> Iterator[tuple[Answers, QueueingStrategy, Collection[QueuedPodInfo]]]:
        """The strategies for the pods in the pool; pods with equal answers are yielded together.

        A gated pod gets only events that its gating plugin has registered for.

        Args:
            pool: the pods.
            occurrence: the event.
            every_pod: yield all pods; else pods whose hints are sure to return QUEUE_SKIP may be missing.
        """
        own = pool.template_of(occurrence.key) if occurrence.pod_uid else None
        keys: dict[HintIndex, Keys] = {}
        for cause, group in pool.groups():
            if cause.gating_plugin and not self.reaches(occurrence.event, cause.gating_plugin):
                continue
            for answers, pods in self._answers_in(cause, group, occurrence, own, None if every_pod else keys):
                yield answers, self.strategy(cause, answers), pods

    def reaches(self, event: ClusterEvent, plugin: str) -> bool:
        """Whether the plugin has registered for such events."""
        return any(one.matches(event) for one in self._by_plugin.get(plugin, ()))

    def _answers_in(
        self,
        cause: RejectionCause,
        group: CauseGroup,
        occurrence: Occurrence,
        own: bytes | None,
        keys: dict[HintIndex, Keys] | None,
    ) -> Iterator[tuple[Answers, Collection[QueuedPodInfo]]]:
        """The answers for the pods that are in the pool for one cause.

        Replicas share an answer where possible; the pod that the event is about (`own` is its template) is
        evaluated separately.
        """
        templates = group.templates
        if occurrence.event.is_wildcard:
            for pods in templates.values():
                for info in pods.values():
                    yield self.answers(info, occurrence), (info,)
            return
        asked = self._asked(cause.scheduler_name, cause.rejectors, occurrence)
        if not asked:
            return
        together = all(entry.same_for_replicas for entry in asked) and not is_reference()
        for template in self._concerned(asked, group, occurrence, own, keys):
            pods = templates[template]
            if together and template != own:
                yield self._ask(asked, next(iter(pods.values())), occurrence), pods.values()
            else:
                for info in pods.values():
                    yield self._ask(asked, info, occurrence), (info,)

    def _concerned(
        self,
        asked: Sequence[Registration],
        group: CauseGroup,
        occurrence: Occurrence,
        own: bytes | None,
        keys: dict[HintIndex, Keys] | None,
    ) -> Iterable[bytes]:
        """The templates whose pods have to be evaluated; the event's keys are cached in `keys`."""
        if keys is None or is_reference():
            return group.templates
        found = {own: None} if own in group.templates else {}
        for entry in asked:
            index = entry.indexed_by
            if index is None:
                return group.templates
            if index not in keys:
                keys[index] = index.of_event(occurrence.old, occurrence.new, self.cluster)
            touched = keys[index]
            if touched is None:
                return group.templates
            found.update(dict.fromkeys(group.concerned(index, touched)))
        return found
