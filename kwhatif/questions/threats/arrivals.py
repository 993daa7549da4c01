"""Which pending pods, and which new pods, would evict the pods of a subject: the scheduler tries each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.admission.outcome import Denied
from kwhatif.kube.matching.pods import ALL_PODS
from kwhatif.kube.matching.requests import CPU, EPHEMERAL_STORAGE, MEMORY, to_text
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.kube.model.meta import Requirement
from kwhatif.kube.model.pod import Pod, PodMeta, PodSpec
from kwhatif.kube.model.pod_spec import (
    Affinity,
    Container,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    ResourceRequirements,
    Toleration,
)
from kwhatif.kube.model.policy import PriorityClass
from kwhatif.kube.model.workload import SCALABLE, CronJob, Job
from kwhatif.questions.capacity.capacity import CapacityQuestion, ask_capacity
from kwhatif.questions.capacity.filling import CountedPart
from kwhatif.questions.capacity.more import pods_without_end
from kwhatif.questions.capacity.room import free
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Question
from kwhatif.questions.manifests.applied import Applied, restarted_workloads, with_groups
from kwhatif.questions.manifests.new_pods import NewPod, NewPods, Planner
from kwhatif.questions.rows import owner_and_workload
from kwhatif.questions.session.session import Session
from kwhatif.report.risks import ThreatRow
from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile, profile_of
from kwhatif.scheduler.preemption.candidate import Preemption
from kwhatif.simulation.api_server import ApiServer
from kwhatif.state.change import Upsert
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: The steps in which an amount grows: milli-CPU, and bytes.
_STEPS = {CPU: 1, MEMORY: 1 << 20, EPHEMERAL_STORAGE: 1 << 20}
#: The number of amounts that are tried for a pod of a class that may go to any node.
_MOST_AMOUNTS = 24


class NextPod(NamedTuple):
    """One more pod of a workload of the cluster, and the state in which it is scheduled."""

    name: str
    applied: Applied
    candidate: NewPod
    state: State


def next_pods(session: Session) -> Iterator[NextPod | Caveat]:
    """One more pod of each workload, by kind and name; at the end the caveats about them.

    Not of a DaemonSet, which has one for each node, and not of a bare pod.
    """
    session = session.with_owners()
    planner = Planner(session.state.fork(), "final")
    new_pods = NewPods(ApiServer.standing(session.state.fork()))
    assumed: dict[Caveat, None] = {}
    for restarted in restarted_workloads(session.cluster):
        if ObjectRef.parse(restarted.name).kind == "Pod":
            continue
        trial = new_pods.fork()
        candidate = next(pods_without_end(restarted.applied, trial, planner), None)
        if candidate is not None:
            yield NextPod(restarted.name, restarted.applied, candidate, trial.api_server.state)
        assumed.update(dict.fromkeys(trial.caveats))
    yield from assumed


def victims_of(result: Attempt, node: str = "") -> tuple[str, ...]:
    """The pods that the attempt evicts; `node`: on this node, if it is as good as the chosen one."""
    outcome = result.post_filter.outcome if result.post_filter is not None else None
    candidates = outcome.candidates if isinstance(outcome, Preemption) else ()
    found = next((each for each in candidates if node in ("", each.node)), None)
    return () if found is None else tuple(pod.key for pod in found.pods)


class Arrivals:
    """Asks which pods evict the pods of a subject."""

    def __init__(self, session: Session, subject: Collection[str]) -> None:
        """`subject`: the names of the pods, which are on nodes."""
        self._session = session
        self._state = session.state
        infos = [session.state.pods[key] for key in subject]
        self._subject = {info.key: info for info in infos}
        self._lowest = min((info.priority for info in infos), default=0)
        self.caveats: dict[Caveat, None] = {}
        self.templates_asked = 0

    def pending(self) -> Iterator[ThreatRow]:
        """The pending pods, in the order of the queue."""
        answer = judge(self._session, Question(pending=ALL_PODS, explain="outcomes", counts_pending=True))
        self.caveats.update(answer.caveats)
        for decision in answer.others:
            pods = self._hit(victim.pod for victim in decision.victims)
            if pods:
                yield ThreatRow(
                    kind="pending",
                    by=f"Pod {decision.pod}",
                    pods=pods,
                    priority=decision.priority,
                    command="kwhatif preempt",
                )

    def templates(self) -> Iterator[ThreatRow]:
        """One more pod of each workload of the cluster."""
        for found in next_pods(self._session):
            if not isinstance(found, NextPod):
                self.caveats[found] = None
                continue
            pod = found.candidate.pod
            profile = profile_of(pod, self._session.profiles)
            if found.candidate.refusal or profile is None:
                continue
            self.templates_asked += 1
            if not self.may_evict(pod):
                continue
            pods = self._hit(_victims_of_one_more(self._session, found.applied))
            if pods:
                yield ThreatRow(
                    kind="template",
                    by=found.name,
                    pods=pods,
                    priority=pod.spec.priority or 0,
                    command=_one_more(found),
                )

    def may_evict(self, pod: Pod) -> bool:
        """Whether the pod may evict any of the subject's."""
        return (pod.spec.priority or 0) > self._lowest and pod.spec.preemption_policy != "Never"

    def classes(self, classes: Sequence[PriorityClass]) -> Iterator[ThreatRow]:
        """A new pod of each of these classes, which may evict.

        First a pod that may use any node; if it evicts none, one that may only use the node of a pod of the subject.
        """
        profile = self._session.profiles.get(DEFAULT_SCHEDULER) or next(iter(self._session.profiles.values()))
        for each in classes:
            asking = _OfClass(each, profile, self._state)
            aimed = sorted(self._aimed(asking), key=lambda found: (found.share, found.resource, found.node.name))
            row = next(filter(None, (self._anywhere(asking, found) for found in aimed[:_MOST_AMOUNTS])), None)
            if row is None and aimed:
                row = self._row(asking, aimed[0].resource, aimed[0].amount, aimed[0].node)
            if row is not None:
                yield row

    def _aimed(self, asking: _OfClass) -> Iterator[_Amount]:
        """For each node and resource, the smallest amount that evicts a pod of the subject there."""
        places: dict[str, dict[str, None]] = {}
        for info in self._subject.values():
            if info.priority < asking.priority_class.value:
                asked = info.resources.requested.asked or (CPU,)
                places.setdefault(info.pod.spec.node_name, {}).update(dict.fromkeys(asked))
        for name, resources in sorted(places.items()):
            node = self._state.by_name[name]
            for resource in resources:
                amount = self._smallest(asking, node, resource)
                if amount is not None:
                    yield _Amount(amount, resource, node)

    def _smallest(self, asking: _OfClass, node: NodeInfo, resource: str) -> int | None:
        """The smallest request with which a pod for this node evicts a pod of the subject; None: there is none.

        Which pods are reprieved changes only where the request exceeds what is left free: only these are tried.
        """
        step = _STEPS.get(resource, 1)
        amount = step if len(node.pods) >= node.allowed_pods else _up(free(node, resource) + 1, step)
        while amount <= node.allocatable.of(resource):
            tried = asking.attempt(resource, amount, node)
            victims = victims_of(tried) if tried is not None else ()
            if not victims:
                return None
            if self._hit(victims):
                return amount
            freed = sum(self._state.pods[key].resources.requested.of(resource) for key in victims)
            amount = max(amount + step, _up(free(node, resource) + freed + 1, step))
        return None

    def _anywhere(self, asking: _OfClass, found: _Amount) -> ThreatRow | None:
        """A pod for any node that requests at least this amount; None: such a pod lands elsewhere."""
        step = _STEPS.get(found.resource, 1)
        most = max((free(node, found.resource) for node in self._state.nodes), default=0)
        for amount in dict.fromkeys((found.amount, max(found.amount, _up(most + 1, step)))):
            row = self._row(asking, found.resource, amount, None)
            if row is not None:
                return row
        return None

    def _row(self, asking: _OfClass, resource: str, amount: int, node: NodeInfo | None) -> ThreatRow | None:
        tried = asking.attempt(resource, amount, node)
        pods = self._hit(victims_of(tried)) if tried is not None else ()
        if tried is None or not pods:
            return None
        return ThreatRow(
            kind="class",
            by=f"PriorityClass {asking.priority_class.metadata.name}",
            pods=pods,
            priority=asking.priority_class.value,
            requests={resource: amount},
            node="" if node is None else node.name,
            manifest={"apiVersion": "v1", "kind": "Pod"} | msgspec.to_builtins(asking.pod(resource, amount, node)),
        )

    def _hit(self, keys: Iterator[str] | Sequence[str]) -> tuple[str, ...]:
        return tuple(key for key in keys if key in self._subject)


def _victims_of_one_more(session: Session, applied: Applied) -> tuple[str, ...]:
    """The pods that one more pod of the workload evicts, after the pending pods before it."""
    session, (*_, one) = with_groups(session, (applied,))
    question = CapacityQuestion(parts=(CountedPart(one),), applied=(one,), limit=1, evicts=True)
    found = ask_capacity(session, question).capacity
    return () if found is None or found.preempting is None else found.preempting.victims


class _Amount(NamedTuple):
    amount: int
    resource: str
    node: NodeInfo

    @property
    def share(self) -> float:
        """The share of the node: amounts of several resources are compared by it."""
        return self.amount / max(self.node.allocatable.of(self.resource), 1)


class _OfClass:
    """New pods of a PriorityClass, each with one request."""

    def __init__(self, priority_class: PriorityClass, profile: Profile, state: State) -> None:
        self.priority_class = priority_class
        self._profile = profile
        self._state = state
        self._new_pods = NewPods(ApiServer.standing(state.fork()))

    def pod(self, resource: str, amount: int, node: NodeInfo | None) -> Pod:
        """As a user would write it; `node`: the only one that it may use, with tolerations for its taints."""
        container = Container(
            name="main",
            image="new",
            resources=ResourceRequirements(
                requests={resource: to_text(resource, amount)},
                limits={resource: to_text(resource, amount)} if resource not in _STEPS else {},
            ),
        )
        meta = PodMeta(name="new", namespace="default")
        spec = PodSpec(containers=(container,), priority_class_name=self.priority_class.metadata.name)
        if node is None:
            return Pod(metadata=meta, spec=spec)
        term = NodeSelectorTerm(match_fields=(Requirement(key="metadata.name", operator="In", values=(node.name,)),))
        pinned = NodeAffinity(required=NodeSelector(node_selector_terms=(term,)))
        return Pod(
            metadata=meta,
            spec=replace(spec, affinity=Affinity(node_affinity=pinned), tolerations=(Toleration(operator="Exists"),)),
        )

    def attempt(self, resource: str, amount: int, node: NodeInfo | None) -> Attempt | None:
        """The attempt of the pod; None: the API server refuses it."""
        made = self._new_pods.fork().api_server.admit(self.pod(resource, amount, node))
        return None if isinstance(made, Denied) else attempt(self._profile, PodInfo(made), self._state)


def _up(amount: int, step: int) -> int:
    return -(-amount // step) * step


def _one_more(found: NextPod) -> str:
    """The command that shows what one more pod of the workload does."""
    known = isinstance(found.applied.object, (*SCALABLE, Job, CronJob))
    meta = found.applied.object.metadata
    name = ObjectRef.parse(found.name).argument if known else f"pod/{meta.namespace}/{meta.name}"
    return f"kwhatif capacity {name} --with-preemption --limit 1"


def workload_name(pod: Pod) -> str:
    """The workload of the pod, or the pod itself."""
    return owner_and_workload(pod)[1] or f"Pod {pod.metadata.namespace}/{pod.metadata.name}"


def with_priority(state: State, pods: Mapping[str, PodInfo], value: int) -> State:
    """The cluster, with that priority for these pods."""
    other = state.fork()
    other.apply(*(Upsert(replace(info.pod, spec=replace(info.pod.spec, priority=value))) for info in pods.values()))
    return other
