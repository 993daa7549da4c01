"""The manifests are applied, and each pod is tried once, in the order of the queue: no time passes.

Objects are applied in their order. Their controllers make the pods, the scheduler takes them by priority, with those
that were pending before, and budgets are counted when the burst is over, as in a cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kwhatif.admission.outcome import Admitted, Denied
from kwhatif.controllers.catalog import MAKING_PODS
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.workload import CronJob, StatefulSet
from kwhatif.questions.judging.manifest_rollout import ManifestRollout
from kwhatif.questions.judging.planned import HOLDS_UP, Asked, PendingPods, Planned
from kwhatif.questions.manifests.new_pods import assumed_of_new
from kwhatif.questions.manifests.writes import apply_at_once, prepare
from kwhatif.questions.placing.described import AtOnce, Explain
from kwhatif.questions.session.session import Session
from kwhatif.report.decision import Decision
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.simulation.clock import Clock, start_of
from kwhatif.simulation.instant import WAITING, InstantEngine
from kwhatif.simulation.owned import root_of
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.comparison import Rollout


class InstantRun:
    """One question."""

    def __init__(
        self,
        session: Session,
        state: State,
        planned: Sequence[Planned],
        explain: Explain,
        rollout: Rollout,
    ) -> None:
        """Set up.

        Args:
            session: the cluster, before anything is applied.
            state: a fork of it, in which everything is applied but pods and what makes them.
            planned: these, in the order in which they are applied.
            explain: which decisions say why, and how.
            rollout: which moment of a rollout is asked for.
        """
        self._session, self._rollout = session, rollout
        self._manifests = [ManifestRollout(each) for each in planned]
        self._numbers = {name: number for number, manifest in enumerate(self._manifests) for name in manifest.roots()}
        counts_budgets = rollout != "end"
        self._engine = InstantEngine(
            state,
            session.profiles,
            MAKING_PODS,
            Clock(start_of(state.cluster)),
            self._is_ready,
            counts_budgets=counts_budgets,
        )
        self._world = self._engine.world
        workloads = [each.object for each in planned if each.update != "unchanged"]
        prepare(workloads, state.cluster, self._world.complete)
        self._decided = AtOnce(self._world, session.profiles, explain, counts_budgets=counts_budgets)
        #: The number of the object that is being applied.
        self._applying: int | None = None
        #: By UID of a pod that was made, the number of its object.
        self._made: dict[str, int] = {}
        self._pending: PendingPods | None = None
        #: What becomes of those that are asked for by themselves.
        self.others: list[Decision] = []
        self._world.watchers.append(self._observe)
        self._world.admission_watcher = self._admitted
        self._engine.watcher = self._tried

    def play(self, pending: PendingPods, unschedulable: Collection[str]) -> None:
        """Apply everything, and try the pods; `unschedulable`: keys of pending pods that are not tried.

        Raises:
            LivelockError: controllers never settle.
        """
        engine, self._pending = self._engine, pending
        for info in pending.in_order:
            is_asked = info.key in pending.asked or pending.holding_up(info.key) is not None
            if is_asked or (info.key not in unschedulable and pending.is_ours(info)):
                engine.enqueue(info, WAITING, is_asked=is_asked, is_known=info.key in pending.workloads)
        for number, manifest in enumerate(self._manifests):
            self._applying = number
            planned, before = manifest.planned, self._session.cluster
            if planned.is_refused:
                continue
            for obj in apply_at_once(planned.object, planned.plan, before, self._world, self._rollout):
                engine.reactions.look_at(obj, None)
            engine.react()
        self._applying = None
        if self._world.history.gone:
            engine.retry()
        engine.schedule()
        for manifest in self._manifests:
            if not manifest.planned.is_refused:
                self._finish(manifest)

    @property
    def state(self) -> State:
        """The cluster as it is now."""
        return self._world.state

    @property
    def earlier(self) -> list[Decision]:
        """About pods that were pending already, are not asked for, and came first."""
        return self._decided.earlier

    @property
    def evicting(self) -> int:
        """The number of pods that evict others."""
        return self._decided.evicting

    @property
    def caveats(self) -> Iterator[Caveat]:
        """The caveats of the decisions."""
        yield from self._decided.caveats

    @property
    def assumed(self) -> Iterator[Caveat]:
        """What had to be assumed of pods and claims."""
        return assumed_of_new(self._world)

    def _is_ready(self, info: PodInfo) -> bool:
        """At the moment of a rollout with the most pods, none is ready that comes for an old one."""
        number = self._made.get(info.uid)
        if self._rollout != "surge" or number is None:
            return True
        planned = self._manifests[number].planned
        is_first = isinstance(planned.object, StatefulSet) and info.key not in self._session.state.pods
        return is_first or planned.update != "changed"

    # --- watching ------------------------------------------------------------------------------------

    def _number_of(self, pod: Pod) -> int | None:
        """That of the object that the pod was made of."""
        itself = self._numbers.get(f"Pod {key_of(pod)}")
        if itself is not None:
            return itself
        root = root_of(pod, self.state.cluster)
        return self._applying if root is None else self._numbers.get(root)

    def _observe(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        del event
        if not isinstance(after, Pod) or (isinstance(before, Pod) and not _starts_again(before, after)):
            return
        number = self._number_of(after)
        if number is None:
            return
        manifest, info = self._manifests[number], PodInfo(after, self.state.cluster.resizes)
        if manifest.has_all:
            return
        self._made[info.uid] = number
        manifest.made[info.uid] = info.key
        manifest.planned.decisions[info.key] = None
        self._engine.enqueue(info, number, is_asked=True)

    def _admitted(self, pod: Pod, outcome: Admitted[Pod] | Denied) -> None:
        number = self._number_of(pod)
        if number is not None:
            self._manifests[number].admitted(pod, outcome)

    def _tried(self, result: ScheduleResult) -> None:
        pod = result.pod
        if self._session.tried is not None:
            self._session.tried.note(result)
        number = self._made.get(pod.uid)
        if number is not None:
            manifest = self._manifests[number]
            manifest.decide(self._decided.decide(result, manifest.planned.explained))
            return
        asked = self._asked(result)
        decision = self._decided.decide(result, None if asked is None else asked.explained)
        if asked is not None and asked.planned is None:
            self.others.append(decision)
        elif asked is not None and asked.planned is not None:
            asked.planned.decide(decision)

    def _asked(self, result: ScheduleResult) -> Asked | None:
        """With what a pod counts that was pending already."""
        key, pending = result.pod.key, self._pending
        assert pending is not None, "pods are tried once everything is applied"
        held_up = pending.holding_up(key) if result.outcome in HOLDS_UP else None
        if key in pending.asked or held_up is None or held_up.held_up is not None:
            return pending.asked.get(key)
        return Asked(held_up.explained, held_up)

    # --- the end -------------------------------------------------------------------------------------

    def _finish(self, manifest: ManifestRollout) -> None:
        planned, world = manifest.planned, self._world
        for key in [key for key, decision in planned.decisions.items() if decision is None]:
            del planned.decisions[key]  # its controller has deleted it
        if planned.update != "unchanged":
            for decision in manifest.missing(world, self._engine.reactions):
                planned.decide(decision)
        if not isinstance(planned.applied.object, Pod | CronJob):
            planned.removed = tuple(self._removed(manifest))

    def _removed(self, manifest: ManifestRollout) -> Iterator[Pod]:
        """The pods that were there and make way; those that had ended do not count."""
        pods = self._session.state.pods
        for gone in self._world.history.gone.values():
            number = self._numbers.get(gone.owner or "")
            if gone.initial and number is not None and self._manifests[number] is manifest and gone.pod in pods:
                yield pods[gone.pod].pod


def _starts_again(before: Pod, after: Pod) -> bool:
    return not after.spec.node_name and (bool(before.spec.node_name) or is_terminal(before))
