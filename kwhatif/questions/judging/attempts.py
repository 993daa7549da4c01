"""`Attempts`: what the scheduler of a simulation has tried, and what that means for each pod in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.questions.decisions.caveats import caveats_of
from kwhatif.questions.decisions.decide import ignored
from kwhatif.questions.decisions.short import in_short
from kwhatif.questions.judging.described import Described
from kwhatif.questions.judging.planned import Explain
from kwhatif.questions.rows import decision_about, with_chosen
from kwhatif.report.decision import Decision, Outcome
from kwhatif.report.preemption import VictimRow
from kwhatif.scheduler.batch import ScheduleResult, result_of
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.simulation.engine import Engine
from kwhatif.state.pod_info import PodInfo


class Attempts(Described):
    """Pods are tried again and again: what becomes of each is known in the end."""

    def __init__(self, engine: Engine, profiles: Mapping[str, Profile], explain: Explain) -> None:
        super().__init__(engine.world, profiles, explain)
        self._engine = engine
        #: By UID: what became of a pod that has got its node, and of one that has evicted others.
        self._placed: dict[str, Decision] = {}
        self._evicted: dict[str, list[Decision]] = {}

    def keep(self, result: ScheduleResult, explained: list[Outcome] | None) -> None:
        """A pod was tried; `explained`: None where it is not asked for."""
        self.note(result)
        if explained is not None:
            self._keep(result, explained)
        elif self._world.was_there(result.pod.pod):
            before = self._earlier.get(result.pod.key)
            if before is None or before.outcome != "Preempts" or result.outcome == "Preempts":
                self._earlier[result.pod.key] = result.settled
        self.burst.add(result.victims)

    def _keep(self, result: ScheduleResult, explained: list[Outcome]) -> None:
        uid = result.pod.uid
        if result.outcome == "Placed":
            self._placed[uid] = self.described(explained, result)
        elif result.outcome == "Preempts" and not all(victim.pod.terminating for victim in result.victims):
            gone = {each.pod for each in self._world.history.gone.values()}
            row = _with_victims(self.described(explained, result), lambda victim: victim.pod not in gone)
            self._evicted.setdefault(uid, []).append(self.burst.as_left(row))

    # --- the end -------------------------------------------------------------------------------------

    def has_evicted(self, uid: str) -> bool:
        """Whether the pod has evicted others."""
        return uid in self._evicted

    def fate(self, explained: list[Outcome], uid: str, key: str) -> Decision | None:
        """What became of the pod; None: it has gone without evicting anybody."""
        pod = self._world.state.cluster.get(Pod, key)
        if pod is None or pod.metadata.uid != uid or pod.metadata.deletion_timestamp is not None:
            return self._eviction(uid)
        if self.profile_of(pod) is None:
            return ignored(pod)
        if pod.spec.node_name or is_terminal(pod):
            return self._eviction(uid) or self._placed.get(uid)
        if self._engine.cycle is not None and uid in self._evicted:
            return self._evicted[uid][0]  # and for ever so
        return self._pending(explained, PodInfo(pod))

    def _eviction(self, uid: str) -> Decision | None:
        """The last time that the pod has evicted others, with all whom it has evicted."""
        evicted = self._evicted.get(uid)
        if evicted is None:
            return None
        *before, last = evicted
        victims = {victim.pod: victim for each in before for victim in each.victims}
        return _with_victims(last, lambda victim: victim.pod not in victims, *victims.values())

    def _pending(self, explained: list[Outcome], info: PodInfo) -> Decision:
        """Why it is pending, as things are in the end; of pods alike, the last words of the scheduler."""
        message = self._engine.scheduler.messages.get(info.uid)
        if message is not None and "Unschedulable" in explained:
            return decision_about(info.pod, "Unschedulable", message=message, detail="short")
        whole = self.attempt(info)
        self.caveats.update(dict.fromkeys(caveats_of(whole)))
        return self.described(explained, result_of(whole), lambda: whole)

    def earlier(self) -> Iterator[Decision]:
        """The pods that were pending already, and were tried, but those whose controllers have deleted them."""
        pods = self._world.state.cluster.all(Pod)
        for key, result in self._earlier.items():
            pod = pods.get(key)
            if pod is not None and pod.metadata.deletion_timestamp is None:
                yield in_short(result)


def _with_victims(decision: Decision, keep: Callable[[VictimRow], bool], *others: VictimRow) -> Decision:
    """The decision with these victims of the chosen candidate, after others that went before."""
    return with_chosen(decision, lambda row: replace(row, victims=(*others, *filter(keep, row.victims))))
