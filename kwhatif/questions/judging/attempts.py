"""`Attempts`: what the scheduler of a simulation has tried, and what that means for each pod in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import Batching
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.questions.decisions.caveats import caveats_of
from kwhatif.questions.decisions.decide import ignored
from kwhatif.questions.decisions.short import in_short
from kwhatif.questions.placing.burst import Burst
from kwhatif.questions.placing.placer import Describe
from kwhatif.questions.placing.queue import Explain, Planned
from kwhatif.questions.placing.taken_room import took_room
from kwhatif.questions.rows import decision_about, with_chosen
from kwhatif.report.decision import Decision
from kwhatif.report.preemption import VictimRow
from kwhatif.scheduler.batch import ScheduleResult, result_of
from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.simulation.engine import Engine
from kwhatif.state.change import Delete
from kwhatif.state.pod_info import PodInfo


class Attempts:
    """The results, each described before anything changes."""

    def __init__(self, engine: Engine, profiles: Mapping[str, Profile], explain: Explain) -> None:
        """`explain`: which decisions say why, and how."""
        self._engine, self._world = engine, engine.world
        self._profiles = profiles
        self._explain = explain
        self.caveats: dict[Caveat, None] = {}
        #: By UID: what became of a pod that has got its node, and of one that has evicted others.
        self._placed: dict[str, Decision] = {}
        self._evicted: dict[str, list[Decision]] = {}
        #: Those of pods that were pending already, in the order in which they were first tried.
        self._earlier: dict[str, ScheduleResult] = {}
        self.burst = Burst()

    def keep(self, result: ScheduleResult, planned: Planned | None) -> None:
        """A pod was tried; `planned`: the object that it counts with."""
        if result.whole is not None:
            self.caveats.update(dict.fromkeys(caveats_of(result.whole)))
        if result.hinted:
            self.caveats[Batching()] = None
        if planned is not None:
            self._keep(result, planned)
        elif self._world.was_there(result.pod.pod):
            before = self._earlier.get(result.pod.key)
            if before is None or before.outcome != "Preempts" or result.outcome == "Preempts":
                self._earlier[result.pod.key] = result.settled
        self.burst.add(result.victims)

    def _keep(self, result: ScheduleResult, planned: Planned) -> None:
        uid = result.pod.uid
        if result.outcome == "Placed":
            self._placed[uid] = self._described(planned, result)
        elif result.outcome == "Preempts" and not all(victim.pod.terminating for victim in result.victims):
            gone = {each.pod for each in self._world.history.gone.values()}
            row = _with_victims(self._described(planned, result), lambda victim: victim.pod not in gone)
            self._evicted.setdefault(uid, []).append(self.burst.as_left(row))

    def profile_of(self, pod: Pod) -> Profile | None:
        """None: another scheduler places it."""
        return self._profiles.get(pod.spec.scheduler_name or DEFAULT_SCHEDULER)

    # --- in words ------------------------------------------------------------------------------------

    def _described(self, planned: Planned, result: ScheduleResult, whole: Attempt | None = None) -> Decision:
        """The decision, explained where that is wanted."""
        describe = self._explain(result, planned.explained)
        if result.outcome not in planned.explained:
            planned.explained.append(result.outcome)
        if describe is None:
            return in_short(result)
        found = replace(self._with_others(result, describe, whole or self._whole(result.pod)), node=result.node)
        return replace(found, ties=result.ties) if result.hinted else found

    def _with_others(self, result: ScheduleResult, describe: Describe, whole: Attempt) -> Decision:
        before = [each for each in self._earlier.values() if each.node is not None]
        decision = describe(whole)
        if not before or result.outcome not in ("Preempts", "Unschedulable"):
            return decision
        return replace(decision, after=took_room(result, before, whole.cycle.profile, whole.cycle.state))

    def _whole(self, pod: PodInfo) -> Attempt:
        state = self._world.state.fork()
        state.apply(Delete(Pod, pod.key))
        profile = self.profile_of(pod.pod)
        assert profile is not None, "it was tried"
        return attempt(profile, pod, state)

    # --- the end -------------------------------------------------------------------------------------

    def has_evicted(self, uid: str) -> bool:
        """Whether the pod has evicted others."""
        return uid in self._evicted

    def fate(self, planned: Planned, uid: str, key: str) -> Decision | None:
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
        return self._pending(planned, PodInfo(pod))

    def _eviction(self, uid: str) -> Decision | None:
        """The last time that the pod has evicted others, with all whom it has evicted."""
        evicted = self._evicted.get(uid)
        if evicted is None:
            return None
        *before, last = evicted
        victims = {victim.pod: victim for each in before for victim in each.victims}
        return _with_victims(last, lambda victim: victim.pod not in victims, *victims.values())

    def _pending(self, planned: Planned, info: PodInfo) -> Decision:
        """Why it is pending, as things are in the end; of pods alike, the last words of the scheduler."""
        message = self._engine.scheduler.messages.get(info.uid)
        if message is not None and "Unschedulable" in planned.explained:
            return decision_about(info.pod, "Unschedulable", message=message, detail="short")
        whole = self._whole(info)
        self.caveats.update(dict.fromkeys(caveats_of(whole)))
        return self._described(planned, result_of(whole), whole)

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
