"""`SettledRun`: applies the manifests in a simulation, and decides about their pods when nothing happens any more.

All objects are applied at one moment, in their order. Controllers react, the scheduler tries the waiting pods in the
order of its queue, together with those that were pending before. Budgets are counted once all have been tried, as in a
cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial

from msgspec.structs import replace

from kwhatif.controllers.catalog import all_controllers
from kwhatif.kube.model.cluster import KubernetesObject, identity, key_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.pod_group import group_of, has_groups
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.questions.decisions.decide import group_preemption_row, ignored, in_short
from kwhatif.questions.decisions.described import Described, Explained, Explainer, caveats_of
from kwhatif.questions.judging.manifest_rollout import AskedPod, ManifestRollout, Planned
from kwhatif.questions.judging.pending_pods import PendingPods
from kwhatif.questions.judging.run import ROLLED, ManifestOutcome, ManifestRun
from kwhatif.questions.manifests.writes import prepare
from kwhatif.questions.pod_groups import group_rows, is_about_groups
from kwhatif.questions.rows import decision_about, with_chosen
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.caveats import caveats_of_verdict
from kwhatif.report.decision import Decision, PreEnqueueRow, VictimRow
from kwhatif.scheduler.batch import ScheduleResult, result_of
from kwhatif.scheduler.framework.attempt import run_pre_enqueue
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.clock import Clock, start_of
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.parameters import FAKE_CLIENT, Parameters, SchedulerOptions
from kwhatif.simulation.pods import begins_to_go, running
from kwhatif.state.change import Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


class Attempts(Described):
    """Pods may be tried several times: the decision about each is made at the end."""

    def __init__(self, engine: Engine, profiles: Mapping[str, Profile], explain: Explainer) -> None:
        super().__init__(engine.api_server, profiles, explain)
        self._engine = engine
        #: By UID: the decision about a pod that got its node, and the decisions about one that evicted others.
        self._placed: dict[str, Decision] = {}
        self._evicted: dict[str, list[Decision]] = {}

    def decide(self, result: ScheduleResult, explained: Explained | None) -> None:
        """See `Described`: no decision is final before the end."""
        self.note(result)
        if explained is not None:
            self._keep(result, explained)
        elif self._api_server.was_there(result.pod.pod):
            before = self._earlier.get(result.pod.key)
            if before is None or before.outcome != "Preempts" or result.outcome == "Preempts":
                self._earlier[result.pod.key] = result.settled
        self.uncounted.add(result.victims)

    def _keep(self, result: ScheduleResult, explained: Explained) -> None:
        uid = result.pod.uid
        if result.outcome == "Placed":
            is_member = bool(group_of(result.pod.pod)) and has_groups(self._api_server.state.cluster)
            self._placed[uid] = in_short(result) if is_member else self.described(explained, result)
        elif result.outcome == "Preempts" and not all(victim.pod.terminating for victim in result.victims):
            gone = {each.pod for each in self._api_server.history.gone.values()}
            row = _with_victims(self.described(explained, result), lambda victim: victim.pod not in gone)
            self._evicted.setdefault(uid, []).append(self.uncounted.as_left(row))

    # --- the end -------------------------------------------------------------------------------------

    def has_evicted(self, uid: str) -> bool:
        """Whether the pod has evicted others."""
        return uid in self._evicted

    def fate(self, explained: Explained, uid: str, key: str) -> Decision | None:
        """The decision about the pod; None: it is gone and has evicted no pods."""
        pod = self._api_server.state.cluster.get(Pod, key)
        if pod is None or pod.metadata.uid != uid or pod.metadata.deletion_timestamp is not None:
            return self._eviction(uid)
        if self.profile_of(pod) is None:
            return ignored(pod)
        if pod.spec.node_name or is_terminal(pod):
            return self._eviction(uid) or self._placed.get(uid)
        if self._engine.cycle is not None and uid in self._evicted:
            return self._evicted[uid][0]  # and so on without end
        return self._pending(explained, PodInfo(pod))

    def _eviction(self, uid: str) -> Decision | None:
        """The decision about the pod's last eviction, with all pods that it has evicted."""
        evicted = self._evicted.get(uid) or self._of_groups.get(uid)
        if evicted is None:
            return None
        *before, last = evicted
        victims = {victim.pod: victim for each in before for victim in each.victims}
        return _with_victims(last, lambda victim: victim.pod not in victims, *victims.values())

    @cached_property
    def _of_groups(self) -> Mapping[str, list[Decision]]:
        """Evictions by groups, by the UID of one pod that represents its group; complete only at the end."""
        scheduler, state = self._engine.scheduler, self._api_server.state
        found: dict[str, list[Decision]] = {}
        for fate in () if scheduler.groups is None else scheduler.groups.outcomes.values():
            members = [state.pods.get(each.key, each) for result in fate.evicting for each in result.members]
            first = next((each for each in members if each.pod.spec.node_name), None)
            if first is not None:
                node, budgets = first.pod.spec.node_name, Budgets(state.cluster)
                preemptions = [each.preemption for each in fate.evicting if each.preemption is not None]
                rows = [group_preemption_row(each, node, budgets) for each in preemptions]
                about = partial(decision_about, first.pod, "Preempts", node=node, detail="short")
                found[first.uid] = [about(preemption=row) for row in rows]
        return found

    def _pending(self, explained: Explained, info: PodInfo) -> Decision:
        """Why the pod is pending at the end; only the first of equal pods is explained."""
        message = self._engine.scheduler.messages.get(info.uid)
        if group_of(info.pod) and has_groups(self._api_server.state.cluster):
            return self._of_group(info, message)
        if message is not None and "Unschedulable" in explained.outcomes:
            return decision_about(info.pod, "Unschedulable", message=message, detail="short")
        whole = self.attempt(info)
        self.caveats.update(dict.fromkeys(caveats_of(whole)))
        return self.described(explained, result_of(whole), whole)

    def _of_group(self, info: PodInfo, message: str | None) -> Decision:
        """The decision about a pending member: unschedulable with its group, or kept out of the queue."""
        if message is not None:
            return decision_about(info.pod, "Unschedulable", message=message, detail="short")
        state, profile = self._api_server.state, self.profile_of(info.pod)
        others = state.members_of(group_of(info.pod)).values()
        gated = (
            run_pre_enqueue(profile, each, state) for each in (info, *others) if not each.pod.spec.node_name and profile
        )
        found = next(filter(None, gated), None)
        row = None if found is None else PreEnqueueRow(plugin=found.plugin, message=found.status.message)
        return decision_about(info.pod, "Gated", pre_enqueue=row, detail="short")

    def earlier(self) -> Iterator[Decision]:
        """The pods that were pending before and were tried, without those that their controllers have deleted."""
        pods = self._api_server.state.cluster.all(Pod)
        for key, result in self._earlier.items():
            pod = pods.get(key)
            if pod is not None and pod.metadata.deletion_timestamp is None:
                yield in_short(result)


def _with_victims(decision: Decision, keep: Callable[[VictimRow], bool], *others: VictimRow) -> Decision:
    """The decision with these victims of the chosen candidate, after earlier victims."""
    return with_chosen(decision, lambda row: replace(row, victims=(*others, *filter(keep, row.victims))))


#: Rollouts of large workloads take hours of simulated time.
_PARAMETERS = Parameters(horizon=30 * 24 * 3600.0)


class SettledRun(ManifestRun):
    """It goes on until nothing happens any more; then the pods are decided."""

    def __init__(
        self,
        session: Session,
        state: State,
        planned: Sequence[Planned],
        pending: PendingPods,
        explain: Explainer,
        unschedulable: Collection[str],
    ) -> None:
        """Set up; arguments as of `InstantRun`."""
        workloads = [each.object for each in planned if each.update != "unchanged"]
        prepare(workloads, state.cluster, lambda obj: state.apply(Upsert(obj)))
        clock = Clock(start_of(state.cluster))
        controllers = (*all_controllers(), *session.autoscalers())
        scheduling = FAKE_CLIENT if is_about_groups(state.cluster) else SchedulerOptions()
        self._engine = Engine(
            state,
            session.profiles,
            controllers,
            clock,
            _PARAMETERS,
            scheduling=replace(scheduling, unschedulable=unschedulable, score_single_node=True),
        )
        self._engine.scheduler.begin()
        self._attempts = Attempts(self._engine, session.profiles, explain)
        super().__init__(session, planned, pending, self._engine.api_server, self._engine.reactions, self._attempts)
        self._engine.scheduler.attempt_watchers.append(self._tried)

    def _apply(self) -> None:
        engine = self._engine
        for autoscaler in self._session.autoscalers():  # pods that wait already
            engine.reactions.sync_soon(autoscaler.name)
        applied = [each for each in self._planned if not each.is_refused]
        engine.perform(*(lambda _, each=each: self._write(each, None) for each in applied))
        engine.settle()
        while foreign := self._foreign():
            engine.perform(partial(_run, foreign))
            engine.settle()

    def _outcome(self) -> ManifestOutcome:
        for key, asked in self._pending.asked.items():
            if asked.planned is None:
                self._decide_in_the_end(asked, key)
        caveats = (*self._attempts.caveats, *caveats_of_verdict(self._engine, self._session.cluster))
        return ManifestOutcome(
            planned=self._planned,
            others=self._others,
            earlier=list(self._attempts.earlier()),
            caveats=caveats,
            api_server=self._api_server,
            groups=group_rows(self._engine),
            growth=self._api_server,
            evicting=self._evicting,
            is_settled=True,
        )

    def _foreign(self) -> list[Pod]:
        """Pods of the manifests that another scheduler places: they are assumed to run."""
        pods = self._api_server.state.cluster.all(Pod)
        found = (pods.get(key) for manifest in self._manifests for key in manifest.made.values())
        return [
            pod
            for pod in found
            if pod is not None
            and self._attempts.profile_of(pod) is None
            and pod.status.phase == "Pending"
            and not pod.spec.node_name
        ]

    # --- watching ------------------------------------------------------------------------------------

    def _observe(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        super()._observe(before, after, event)
        if isinstance(after, PodDisruptionBudget):
            self._attempts.uncounted.over(key_of(after))
        if isinstance(before, Pod) and (not isinstance(after, Pod) or begins_to_go(before, after)):
            gone = self._api_server.history.gone.get(identity(before))
            manifest = None if gone is None or gone.how not in ROLLED else self._manifest_of(before)
            if manifest is not None and gone is not None:
                manifest.moments.add(gone.at)

    def _appears(self, pod: Pod, manifest: ManifestRollout) -> None:
        super()._appears(pod, manifest)
        manifest.moments.add(self._api_server.now)

    # --- the end -------------------------------------------------------------------------------------

    def _finish(self, manifest: ManifestRollout) -> None:
        planned = manifest.planned
        for uid, key in self._counted(manifest):
            decision = self._attempts.fate(planned.explained, uid, key)
            if decision is not None:
                planned.decide(decision)
        super()._finish(manifest)
        for key, asked in self._pending.asked.items():
            if asked.planned is planned:
                self._decide_in_the_end(asked, key)
        if planned.plan.rolls:
            planned.rollout = manifest.rollout(self._api_server)

    def _decide_in_the_end(self, asked: AskedPod, key: str) -> None:
        info = self._api_server.state.pods.get(key)
        decision = None if info is None else self._attempts.fate(asked.explained, info.uid, key)
        if decision is not None:
            self._decide(asked, decision)

    def _counted(self, manifest: ManifestRollout) -> list[tuple[str, str]]:
        """UID and key of the created pods that still exist, or have evicted others; no replacements of evicted ones."""
        there = self._api_server.state.cluster.all(Pod)

        def counts(uid: str, key: str) -> bool:
            pod = there.get(key)
            is_there = pod is not None and pod.metadata.uid == uid and pod.metadata.deletion_timestamp is None
            return is_there or self._attempts.has_evicted(uid)

        found = [(uid, key) for uid, key in manifest.made.items() if counts(uid, key)]
        return found[: manifest.limit]


def _run(pods: Sequence[Pod], api_server: ApiServer) -> None:
    for pod in pods:
        api_server.put(running(pod, api_server.stamp(api_server.now), ready=True), None)
