"""`ManifestRun`: applies the manifests on an engine; `InstantRun`: no time passes, and each pod is tried once.

Objects are applied in their order, and controllers create the pods. The scheduler tries them by priority, together with
the pods that were pending before. Budgets are counted once all have been tried, as in a cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from kwhatif.admission.outcome import Admitted, Denied
from kwhatif.controllers.catalog import MAKING_PODS
from kwhatif.kube.matching.owners import root_of
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import KubernetesObject, identity, key_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.workload import CronJob, StatefulSet
from kwhatif.questions.decisions.described import AtOnce, Described, Explainer
from kwhatif.questions.judging.manifest_rollout import HOLDS_UP, AskedPod, ManifestRollout, Planned
from kwhatif.questions.judging.pending_pods import PendingPods
from kwhatif.questions.manifests.new_pods import assumed_of_new
from kwhatif.questions.manifests.writes import apply, prepare
from kwhatif.questions.session.session import Session
from kwhatif.report.decision import Decision
from kwhatif.report.pod_groups import PodGroupsRow
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.clock import Clock, start_of
from kwhatif.simulation.instant import WAITING, InstantEngine
from kwhatif.simulation.reactions import Reactions
from kwhatif.state.change import Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.comparison import Rollout

#: How pods go that are replaced or scaled down; other pods are evicted.
ROLLED: Collection[str] = ("ScaledDown", "RolledOut", "Deleted", "Completed")


class ManifestOutcome(msgspec.Struct, kw_only=True):
    """The result of a run."""

    #: The objects of the manifests, with the decisions about their pods.
    planned: Sequence[Planned]
    #: The decisions about pending pods that are asked about by themselves.
    others: list[Decision]
    #: The decisions about other pods that were pending before, and were tried.
    earlier: list[Decision]
    caveats: Sequence[Caveat]
    #: What was assumed about pods and claims.
    assumed: Sequence[Caveat] = ()
    #: The API server at the end.
    api_server: ApiServer
    #: What became of groups of pods; None without groups.
    groups: PodGroupsRow | None = None
    #: The API server where an autoscaler may have added nodes; None: no time has passed.
    growth: ApiServer | None = None
    #: How many attempts have evicted others.
    evicting: int
    #: Whether it was played until nothing happened any more: all controllers have reacted to evictions.
    is_settled: bool


class ManifestRun:
    """One question on one engine. Subclasses say when the decision about a pod is final."""

    def __init__(
        self,
        session: Session,
        planned: Sequence[Planned],
        pending: PendingPods,
        api_server: ApiServer,
        reactions: Reactions,
        decided: Described,
    ) -> None:
        """Set up.

        Args:
            session: the cluster, before anything is applied.
            planned: the objects with pods, in the order in which they are applied.
            pending: the pods that are pending already.
            api_server: where they are applied; everything else is there.
            reactions: the controllers there.
            decided: turns the scheduler's results into decisions.
        """
        self._session, self._planned, self._pending = session, planned, pending
        self._manifests = [ManifestRollout(each, number) for number, each in enumerate(planned)]
        self._by_root = {name: manifest for manifest in self._manifests for name in manifest.roots()}
        #: UID of a created pod -> its object.
        self._made: dict[str, ManifestRollout] = {}
        self._api_server, self._reactions, self._decided = api_server, reactions, decided
        #: The decisions about pods that are asked about by themselves.
        self._others: list[Decision] = []
        self._evicting = 0
        api_server.watchers.append(self._observe)
        api_server.admission_watchers.append(self._admitted)

    def play(self) -> ManifestOutcome:
        """Apply everything, and collect the decisions.

        Raises:
            LivelockError: no time passes, and controllers never settle.
        """
        self._apply()
        for manifest in self._manifests:
            if not manifest.planned.is_refused:
                self._finish(manifest)
        return self._outcome()

    def _apply(self) -> None:
        raise NotImplementedError

    def _write(self, planned: Planned, moment: Rollout | None) -> None:
        """Apply one object; `moment`: see `apply`."""
        before, stored = self._session.cluster, planned.applied.stored
        for obj in apply(planned.object, planned.plan, before, self._api_server, moment, stored=stored):
            self._reactions.look_at(obj, None)

    def _outcome(self) -> ManifestOutcome:
        raise NotImplementedError

    def _finish(self, manifest: ManifestRollout) -> None:
        """Decide about pods that were not created, and note the pods that were removed."""
        planned = manifest.planned
        if planned.update != "unchanged":
            for decision in manifest.missing(self._api_server, self._reactions):
                planned.decide(decision)
        # All pods of a custom resource make way, also those of workloads that its controller has made.
        if not isinstance(planned.applied.object, Pod | CronJob | CustomResource):
            planned.removed = tuple(self._removed(manifest))

    def _removed(self, manifest: ManifestRollout) -> Iterator[Pod]:
        """The pods that existed before and were removed, without evicted ones and those that had ended."""
        pods = self._session.state.pods
        for gone in self._api_server.history.gone.values():
            is_its_own = self._by_root.get(gone.owner or "") is manifest
            if gone.initial and gone.how in ROLLED and is_its_own and gone.pod in pods:
                yield pods[gone.pod].pod

    # --- watching ------------------------------------------------------------------------------------

    def _manifest_of(self, pod: Pod) -> ManifestRollout | None:
        """The object that the pod belongs to."""
        itself = self._by_root.get(f"Pod {key_of(pod)}")
        return itself or self._by_root.get(root_of(pod, self._api_server.state.cluster, self._api_server.gone_sets))

    def _observe(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        del event
        if isinstance(after, Pod) and (not isinstance(before, Pod) or _starts_again(before, after)):
            manifest = self._manifest_of(after)
            if manifest is not None:
                self._appears(after, manifest)

    def _appears(self, pod: Pod, manifest: ManifestRollout) -> None:
        uid = identity(pod)
        self._made[uid] = manifest
        manifest.made[uid] = key_of(pod)

    def _admitted(self, pod: Pod, outcome: Admitted[Pod] | Denied) -> None:
        manifest = self._manifest_of(pod)
        if manifest is not None:
            manifest.admitted(pod, outcome)

    def _tried(self, result: ScheduleResult) -> None:
        self._evicting += bool(result.victims)
        if self._session.attempts is not None:
            self._session.attempts.note(result)
        asked = self._asked(result)
        decision = self._decided.decide(result, None if asked is None else asked.explained)
        if asked is not None and decision is not None:
            self._decide(asked, decision)

    def _asked(self, result: ScheduleResult) -> AskedPod | None:
        """The pod as it is asked about; None: it is not."""
        manifest = self._made.get(result.pod.uid)
        return self._pending.asked.get(result.pod.key) if manifest is None else manifest.asked

    def _decide(self, asked: AskedPod, decision: Decision) -> None:
        if asked.planned is None:
            self._others.append(decision)
        else:
            asked.planned.decide(decision)


class InstantRun(ManifestRun):
    """Each pod is tried once, in the order of the queue, and the result is final."""

    def __init__(
        self,
        session: Session,
        state: State,
        planned: Sequence[Planned],
        pending: PendingPods,
        explain: Explainer,
        rollout: Rollout,
        unschedulable: Collection[str] = (),
    ) -> None:
        """Set up.

        Args:
            session: the cluster, before anything is applied.
            state: a fork of it with everything that is applied, except pods and workloads.
            planned: these, in the order in which they are applied.
            pending: the pods that are pending already.
            explain: which decisions say why, and how.
            rollout: which moment of a rollout is asked for.
            unschedulable: keys of pending pods that are not tried.
        """
        self._rollout, self._unschedulable = rollout, unschedulable
        counts_budgets = rollout != "end"
        self._engine = InstantEngine(
            state,
            session.profiles,
            MAKING_PODS,
            Clock(start_of(state.cluster)),
            self._is_ready,
            counts_budgets=counts_budgets,
        )
        api_server = self._engine.api_server
        workloads = [each.object for each in planned if each.update != "unchanged"]
        prepare(workloads, state.cluster, lambda obj: api_server.assume(Upsert(obj)))
        self._at_once = AtOnce(api_server, session.profiles, explain, counts_budgets=counts_budgets)
        super().__init__(session, planned, pending, api_server, self._engine.reactions, self._at_once)
        self._engine.attempt_watchers.append(self._tried)

    def _apply(self) -> None:
        engine, pending = self._engine, self._pending
        for info in pending.in_order:
            is_asked = info.key in pending.asked or pending.holding_up(info.key) is not None
            if is_asked or (info.key not in self._unschedulable and pending.is_ours(info)):
                engine.enqueue(info, WAITING, is_asked=is_asked, is_known=info.key in pending.workloads)
        for planned in self._planned:
            if not planned.is_refused:
                self._write(planned, self._rollout)
                engine.react()
        if self._api_server.history.gone:
            engine.retry()
        engine.schedule()

    def _outcome(self) -> ManifestOutcome:
        return ManifestOutcome(
            planned=self._planned,
            others=self._others,
            earlier=self._at_once.earlier,
            caveats=tuple(self._decided.caveats),
            assumed=tuple(assumed_of_new(self._api_server)),
            api_server=self._api_server,
            evicting=self._evicting,
            is_settled=False,
        )

    def _is_ready(self, info: PodInfo) -> bool:
        """Whether the pod is ready at once. With rollout "surge", pods that replace old ones are not ready yet."""
        manifest = self._made.get(info.uid)
        if self._rollout != "surge" or manifest is None:
            return True
        planned = manifest.planned
        is_first = isinstance(planned.object, StatefulSet) and info.key not in self._session.state.pods
        return is_first or planned.update != "changed"

    def _appears(self, pod: Pod, manifest: ManifestRollout) -> None:
        if not manifest.has_all:
            super()._appears(pod, manifest)
            manifest.planned.decisions[key_of(pod)] = None
            info = PodInfo(pod, self._api_server.state.cluster.facts.resizes)
            self._engine.enqueue(info, manifest.number, is_asked=True)

    def _asked(self, result: ScheduleResult) -> AskedPod | None:
        """Also the first pending pod for which an ordered StatefulSet waits."""
        asked = super()._asked(result)
        held_up = self._pending.holding_up(result.pod.key) if asked is None and result.outcome in HOLDS_UP else None
        return asked if held_up is None or held_up.held_up is not None else AskedPod(held_up.explained, held_up)

    def _finish(self, manifest: ManifestRollout) -> None:
        decisions = manifest.planned.decisions
        for key in [key for key, decision in decisions.items() if decision is None]:
            del decisions[key]  # its controller has deleted it
        super()._finish(manifest)


def _starts_again(before: Pod, after: Pod) -> bool:
    return not after.spec.node_name and not is_terminal(after) and (bool(before.spec.node_name) or is_terminal(before))
