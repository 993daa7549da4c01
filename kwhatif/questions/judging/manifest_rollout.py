"""`Planned`: an object of the manifests with the decisions about its pods; `ManifestRollout`: follows it in a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.admission.outcome import Admitted, ChangeRow, Denied
from kwhatif.controllers.contract import View
from kwhatif.controllers.daemon_set import newest_revision as newest_of_daemon_set
from kwhatif.controllers.daemon_set import nodes_of
from kwhatif.controllers.deployment import is_of_old_template
from kwhatif.controllers.pods import is_available, revision_label
from kwhatif.controllers.stateful_set import moves_of, newest_revision
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.cluster import KubernetesObject, ObjectRef, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.kube.model.workload import CronJob, DaemonSet, Deployment, ReplicaSet, StatefulSet
from kwhatif.questions.decisions.decide import denied
from kwhatif.questions.decisions.described import Explained
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.rows import decision_about
from kwhatif.report.decision import Decision, Outcome, RolloutRow, UpdateKind
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.reactions import Reactions
from kwhatif.workloads.comparison import WorkloadUpdate
from kwhatif.workloads.daemon_set import bounds_of
from kwhatif.workloads.deployment import bounds_for, free_names
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.job import run_of
from kwhatif.workloads.removal import active
from kwhatif.workloads.stateful_set import expand_stateful_set, first_to_roll, is_ordered, most_unavailable, ordinals_of

#: The outcomes of pods that never run as things are. A pod that evicts others runs once they are gone, and about a pod
#: of another scheduler nothing is known.
HOLDS_UP: Collection[Outcome] = ("Unschedulable", "Gated", "Denied")


class Planned(msgspec.Struct):
    """An object that has pods, and the decisions about them so far."""

    applied: Applied
    #: With its name, also where the API server generates it.
    object: KubernetesObject
    #: What applying it changes.
    plan: WorkloadUpdate = WorkloadUpdate("new")
    removed: tuple[Pod, ...] = ()
    #: In their controller's order; None while the pod is in the queue.
    decisions: dict[str, Decision | None] = {}
    #: The first pod that will never run as things are: ordered pods after it are not created.
    held_up: Decision | None = None
    #: How far the rollout gets, if its pods are replaced step by step.
    rollout: RolloutRow | None = None
    #: Whether the API server refuses the object itself.
    is_refused: bool = False
    explained: Explained = msgspec.field(default_factory=Explained)
    #: Key of a pod -> what admission has changed in it.
    changes: dict[str, tuple[ChangeRow, ...]] = {}

    @property
    def decided(self) -> list[Decision]:
        """The decisions made so far."""
        return [each for each in self.decisions.values() if each is not None]

    @property
    def update(self) -> UpdateKind:
        """How applying it changes the object."""
        return self.plan.kind

    @property
    def leaving(self) -> tuple[Pod, ...]:
        """The pods that go in any case; which other pods go, and when, depends on the new ones."""
        goes_on = self.update == "changed" and isinstance(self.object, StatefulSet)
        return () if goes_on else self.removed

    def copy(self) -> Planned:
        """The same plan, before anything is decided about its pods."""
        return replace(self, decisions=self.decisions.copy(), explained=Explained(), changes={})

    def decide(self, decision: Decision) -> None:
        """Record the decision about one of the pods."""
        self.decisions[decision.pod] = replace(
            decision,
            source=self.applied.source,
            runs_on=self.applied.runs_on,
            changes=() if decision.outcome == "Denied" else self.changes.get(decision.pod, ()),
        )
        if self.held_up is None and decision.outcome in HOLDS_UP:
            self.held_up = decision


class AskedPod(msgspec.Struct):
    """A pod that is asked about."""

    explained: Explained
    #: The object whose pods it counts with; None: it is asked about by itself.
    planned: Planned | None = None


def waiting_for(pod: Pod, first: Decision) -> Decision:
    """The decision about a pod that is not created yet; what admission would set is taken from the pod it waits for."""
    return decision_about(
        pod,
        "Waits",
        priority=first.priority,
        priority_class_name=first.priority_class_name,
        preemption_policy=first.preemption_policy,
        scheduler_name=first.scheduler_name,
        waits_for=first.pod,
    )


class ManifestRollout:
    """Follows one object and its pods in a run."""

    def __init__(self, planned: Planned, number: int) -> None:
        self.planned = planned
        self.asked = AskedPod(planned.explained, planned)
        #: Its index among all objects.
        self.number = number
        self._object: Any = planned.object
        #: The pods that it gets, unless it is rolled out.
        self.expected = planned.plan.added.pods
        #: UID -> key of the pods that were created.
        self.made: dict[str, str] = {}
        #: The times at which its controllers created or deleted pods.
        self.moments: set[float] = set()
        #: The first pod that the API server refused since it last admitted one.
        self.refused: tuple[Pod, Denied] | None = None

    def roots(self) -> Iterator[str]:
        """The names of what owns its pods at the top, such as "Deployment shop/web"."""
        obj = self._object
        yield str(ObjectRef.of(obj))
        if isinstance(obj, CronJob):
            yield f"Job {key_of(run_of(obj))}"
        yield from (f"Pod {key_of(pod)}" for pod in self.expected if isinstance(obj, Pod))

    # --- the end -------------------------------------------------------------------------------------

    @property
    def has_all(self) -> bool:
        """Whether all additional pods are created; pods that were missing before are not asked about."""
        return self.planned.update == "scaled" and len(self.made) >= self.planned.plan.more

    @property
    def limit(self) -> int | None:
        """The most pods to count, which leaves out replacements of evicted ones; None: any number."""
        if self.planned.update in ("new", "restarted"):
            return len(self.expected)
        return None if self.planned.update == "changed" else max(0, self.planned.plan.more)

    def missing(self, api_server: ApiServer, reactions: Reactions) -> Iterator[Decision]:
        """The decisions about pods that are not created: they are refused, or wait until another one runs."""
        planned, obj = self.planned, self._object
        lacking = [pod for pod in self._lacking(api_server) if key_of(pod) not in planned.decisions]
        if self.refused is None and lacking:
            self.refused = self._refused_claim(lacking[0], reactions)
        if self.refused is not None:
            pod, refused = self.refused
            others = [each for each in lacking if key_of(each) != key_of(pod)]
            in_order = isinstance(obj, StatefulSet) and is_ordered(obj)
            for each in [pod, *others][: 1 if in_order else max(1, len(lacking))]:
                own = refused.message.replace(f'"{pod.metadata.name}"', f'"{each.metadata.name}"')
                yield denied(each, replace(refused, message=own), api_server.state.cluster)
            lacking = others if in_order else []
        if isinstance(obj, StatefulSet) and lacking:
            first = planned.held_up or self._late(api_server)
            yield from (waiting_for(pod, first) for pod in lacking if first is not None)

    def _lacking(self, api_server: ApiServer) -> list[Pod]:
        """The pods that should have been created; if their names are generated, with free ones."""
        planned, there = self.planned, set(self.made.values())
        if isinstance(self._object, StatefulSet):
            return [] if planned.plan.rolls and self.refused is None else self._lacking_numbers(api_server)
        if self.expected:
            lacking = [pod for pod in self.expected if key_of(pod) not in there]
            return lacking[: max(0, len(self.expected) - len(planned.decisions))]
        if self.refused is None:
            return []
        like = self.refused[0]
        meta = like.metadata
        names = free_names(like, max(0, self._count(api_server) - 1), api_server.state.cluster, {meta.name})
        return [like, *(replace(like, metadata=replace(meta, name=name)) for name in names)]

    def _lacking_numbers(self, api_server: ApiServer) -> list[Pod]:
        """The same for a StatefulSet: missing ordinals, then old pods that are still to be replaced."""
        planned, stateful_set, cluster = self.planned, self._object, api_server.state.cluster
        known = cluster.get(StatefulSet, key_of(stateful_set))
        if known is None:
            return []
        meta, old = known.metadata, {key_of(pod) for pod in planned.removed}
        made = set(self.made.values())
        fresh = [
            number
            for number in ordinals_of(known, replicas_of(known))
            if (key := f"{meta.namespace}/{meta.name}-{number}") not in made and cluster.get(Pod, key) is None
        ]
        if planned.update in ("scaled", "changed"):
            few = max(0, planned.plan.more - len(made - old))
            fresh = fresh[len(fresh) - few :] if few else []
        again = [key_of(pod) for pod in planned.removed if planned.update == "changed" and key_of(pod) not in made]
        numbers = [*fresh, *(int(key.rpartition("-")[2]) for key in again)]
        return expand_stateful_set(known, numbers, cluster).pods

    def _count(self, api_server: ApiServer) -> int:
        """How many pods its controllers want to create now and cannot."""
        known: Any = api_server.state.cluster.get(type(self._object), key_of(self._object))
        if self.planned.update == "scaled":
            return self.planned.plan.more - len(self.made)
        if isinstance(known, Deployment):
            sets = api_server.owned(known, ReplicaSet)
            return sum(max(0, replicas_of(each) - api_server.count_active(each)) for each in sets)
        if isinstance(known, DaemonSet):
            return sum(nodes_of(known, api_server).values()) - api_server.count_active(known)
        return 1

    def _late(self, api_server: ApiServer) -> Decision | None:
        """An older pod that the StatefulSet waits for, if there is one."""
        known = api_server.state.cluster.get(StatefulSet, key_of(self._object))
        ordinal = None if known is None else moves_of(known, api_server).waits_for
        pod = None if known is None else api_server.state.cluster.get(Pod, f"{key_of(known)}-{ordinal}")
        return None if pod is None else decision_about(pod, "Waits")

    def admitted(self, pod: Pod, outcome: Admitted[Pod] | Denied) -> None:
        """The API server has admitted or refused one of its pods; an admitted pod ends an earlier refusal."""
        is_retried = not isinstance(self._object, Pod | CustomResource)
        if isinstance(outcome, Admitted):
            self.planned.changes[key_of(outcome.object)] = outcome.changes
            self.refused = None if is_retried else self.refused
        elif is_retried or self.refused is None:
            self.refused = pod, outcome

    def _refused_claim(self, pod: Pod, reactions: Reactions) -> tuple[Pod, Denied] | None:
        """The pod with the refusal, if it is not created because the API server refuses one of its claims."""
        names = set(self.roots())
        for refusal in reactions.refusals.values():
            if refusal.actor in names and isinstance(refusal.obj, PersistentVolumeClaim):
                return pod, refusal.denied
        return None

    def rollout(self, api_server: ApiServer) -> RolloutRow:
        """How far the rollout got, and what it waits for."""
        planned = self.planned
        known = api_server.state.cluster.get(type(self._object), key_of(self._object))
        assert isinstance(known, Deployment | StatefulSet | DaemonSet), "nothing else rolls"
        progress = progress_of(known, api_server)
        done = progress.done and not planned.plan.left_out
        late = (decision.pod for decision in planned.decisions.values() if decision and decision.outcome in HOLDS_UP)
        return RolloutRow(
            steps=len(self.moments),
            completed=done,
            wanted=progress.wanted + planned.plan.left_out,
            updated=progress.updated,
            old=progress.old,
            waits_for=None if done else progress.waits_for or next(late, None),
            limit="" if done else progress.limit,
        )


# --- how far a rollout is ----------------------------------------------------------------------------

Rolling = Deployment | StatefulSet | DaemonSet


class RolloutProgress(NamedTuple):
    """The progress of a rollout."""

    #: The desired number of pods of the new template, and how many of them are available.
    wanted: int
    updated: int
    #: The number of pods of the old template that are left.
    old: int
    #: `namespace/name` of the pod that the controller is waiting for; "" if there is none.
    waits_for: str
    #: The setting because of which it waits, such as `maxUnavailable 0`; "" if it is a default.
    limit: str
    done: bool


def progress_of(workload: Rolling, view: View) -> RolloutProgress:
    """The current progress; terminating pods do not count."""
    match workload:
        case Deployment():
            return _of_deployment(workload, view)
        case StatefulSet():
            return _of_stateful_set(workload, view)
        case DaemonSet():
            return _of_daemon_set(workload, view)


def _of_deployment(deployment: Deployment, view: View) -> RolloutProgress:
    sets = view.owned(deployment, ReplicaSet)
    outdated = [is_of_old_template(each, view) for each in sets]
    new = [pod for each, is_old in zip(sets, outdated, strict=True) if not is_old for pod in active(view.pods_of(each))]
    old = sum(len(active(view.pods_of(each))) for each, is_old in zip(sets, outdated, strict=True) if is_old)
    late = _late(new, deployment.spec.min_ready_seconds, view)
    bounds = bounds_for(deployment, replicas_of(deployment))
    return RolloutProgress(
        wanted=bounds.wanted,
        updated=len(new) - len(late),
        old=old,
        waits_for=late[0] if late else "",
        limit=f"maxUnavailable {bounds.unavailable}" if bounds.is_rolling else "",
        done=not old and not late and len(new) == bounds.wanted,
    )


def _late(pods: Iterable[Pod], min_ready_seconds: int, view: View) -> list[str]:
    """The keys of the pods that are not available."""
    return [key_of(pod) for pod in pods if not is_available(pod, min_ready_seconds, view)]


def _of_stateful_set(stateful_set: StatefulSet, view: View) -> RolloutProgress:
    lowest = first_to_roll(stateful_set) or 0
    ordinals = ordinals_of(stateful_set, replicas_of(stateful_set))
    updating = {f"{stateful_set.metadata.name}-{number}" for number in ordinals if number >= lowest}
    pods = [pod for pod in active(view.pods_of(stateful_set)) if pod.metadata.name in updating]
    newest = newest_revision(stateful_set, view)
    new = [pod for pod in pods if revision_label(pod) == newest]
    late = _late(new, stateful_set.spec.min_ready_seconds, view)
    waits_for = moves_of(stateful_set, view).waits_for
    unavailable = most_unavailable(stateful_set, len(ordinals), view.state.cluster.facts.gates)
    return RolloutProgress(
        wanted=len(updating),
        updated=len(new) - len(late),
        old=len(pods) - len(new),
        waits_for="" if waits_for is None else f"{key_of(stateful_set)}-{waits_for}",
        limit="one pod at a time" if unavailable in (None, 1) else f"maxUnavailable {unavailable}",
        done=waits_for is None and len(new) == len(updating) and not late,
    )


def _of_daemon_set(daemon_set: DaemonSet, view: View) -> RolloutProgress:
    wanted = sum(nodes_of(daemon_set, view).values())
    newest = newest_of_daemon_set(daemon_set, view)
    pods = active(view.pods_of(daemon_set))
    new = [pod for pod in pods if revision_label(pod) == newest]
    late = _late(new, daemon_set.spec.min_ready_seconds, view)
    _, unavailable, surge = bounds_of(daemon_set.spec.update_strategy, wanted)
    return RolloutProgress(
        wanted=wanted,
        updated=len(new) - len(late),
        old=len(pods) - len(new),
        waits_for=late[0] if late else "",
        limit=f"maxSurge {surge}" if surge else f"maxUnavailable {unavailable}",
        done=len(new) == wanted and not late and len(new) == len(pods),
    )
