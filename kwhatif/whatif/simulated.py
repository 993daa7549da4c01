"""The manifests are applied in a simulation: what becomes of their pods once nothing happens any more.

Objects are applied in their order, at one moment. Controllers act on what that sets in motion, the scheduler takes the
pods that wait in the order of its queue, with those that were pending before, and budgets are counted when the burst is
over, as in a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.denied import Denied
from kwhatif.admission.outcome import Admitted
from kwhatif.batch import ScheduleResult, result_of
from kwhatif.controllers.catalog import all_controllers
from kwhatif.controllers.contract import Create, DeletePod, Remove, Update
from kwhatif.controllers.pods import reference
from kwhatif.controllers.progress import progress_of
from kwhatif.framework.attempt import Attempt, attempt
from kwhatif.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.model.caveat import Caveat
from kwhatif.model.caveat.scheduling import Batching
from kwhatif.model.cluster import KubernetesObject, key_of
from kwhatif.model.custom import CustomResource
from kwhatif.model.pod import Pod, is_terminal
from kwhatif.model.policy import PodDisruptionBudget
from kwhatif.model.workload import CronJob, DaemonSet, Deployment, ReplicaSet, StatefulSet
from kwhatif.report.decision import Decision
from kwhatif.report.inputs import ChangeRow
from kwhatif.report.preemption import VictimRow
from kwhatif.report.workload import RolloutRow
from kwhatif.simulation.clock import Clock, start_of
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.parameters import Parameters
from kwhatif.simulation.pods import running
from kwhatif.simulation.world import World
from kwhatif.state.change import Delete
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.whatif.burst import Burst
from kwhatif.whatif.candidates import Candidate
from kwhatif.whatif.caveats import caveats_of
from kwhatif.whatif.decide import denied, ignored
from kwhatif.whatif.placer import Describe
from kwhatif.whatif.prepared import prepare
from kwhatif.whatif.queue import HOLDS_UP, Explain, Planned, waiting_for
from kwhatif.whatif.rows import decision_about
from kwhatif.whatif.session import Session
from kwhatif.whatif.short import in_short
from kwhatif.whatif.simulate import USER, as_applied
from kwhatif.whatif.story_caveats import caveats_of_verdict
from kwhatif.whatif.taken_room import took_room
from kwhatif.workloads.expand import named
from kwhatif.workloads.job import run_of
from kwhatif.workloads.many import capped
from kwhatif.workloads.removal import active
from kwhatif.workloads.rollout import applied_to
from kwhatif.workloads.stateful_set import is_ordered

#: Rollouts of big sets take hours: nobody waits for them here.
_PARAMETERS = Parameters(horizon=30 * 24 * 3600.0)
_ROLLED: Sequence[str] = ("ScaledDown", "RolledOut", "Deleted", "Completed")


class _Course:
    """What has become of one object's pods so far."""

    def __init__(self, planned: Planned) -> None:
        self.planned = planned
        obj: Any = planned.applied.object
        kind = obj.kind if isinstance(obj, CustomResource) else type(obj).__name__
        self.name = f"{kind} {key_of(obj)}"
        #: The pods that it is sure to get, where it does not roll.
        self.expected = [pod for stage in planned.stages for group in stage for pod in group.pods()]
        #: By UID the keys of the pods that were made.
        self.made: dict[str, str] = {}
        #: When its controllers have made or deleted pods.
        self.moments: set[float] = set()
        #: The first pod that the API server has refused since it has last admitted one.
        self.refused: tuple[Pod, str] | None = None


class Simulated:
    """One question, played forward."""

    def __init__(
        self,
        session: Session,
        state: State,
        planned: Sequence[Planned],
        explain: Explain,
        asleep: Collection[str],
    ) -> None:
        """Set up.

        Args:
            session: the cluster, before anything is applied.
            state: a fork of it, in which everything is applied but pods and what makes them.
            planned: these, in the order in which they are applied.
            explain: which decisions say why, and how.
            asleep: keys of pending pods that are not tried.
        """
        self._session = session
        self._explain = explain
        self.caveats: dict[Caveat, None] = {}
        self._courses = [_Course(each) for each in planned]
        self._by_root = {name: course for course in self._courses for name in _roots(course)}
        prepare(state, [each.applied.object for each in planned if each.update != "unchanged"])
        clock = Clock(start_of(state.cluster))
        controllers = all_controllers()
        self._engine = Engine(state, session.profiles, controllers, clock, _PARAMETERS, asleep=asleep, scored=True)
        self._engine.scheduler.begin()
        self._world = self._engine.world
        #: By UID: what became of a pod that has got its node, and of one that has evicted others.
        self._placed: dict[str, Decision] = {}
        self._evicted: dict[str, list[Decision]] = {}
        self._burst = Burst()
        #: The attempts of pods that were pending already, in the order in which they were first tried.
        self._earlier: dict[str, ScheduleResult] = {}
        #: By key, how admission has changed the pod.
        self._changes: dict[str, tuple[ChangeRow, ...]] = {}
        #: The pending pods that are asked for, by key.
        self._asked: Mapping[str, Planned] = {}
        self._world.watchers.append(self._observe)
        self._world.admission_watcher = self._admitted
        self._engine.scheduler.watcher = self._tried

    def play(self, asked: Mapping[str, Planned]) -> list[Decision]:
        """Apply everything, and go on until nothing happens any more.

        Args:
            asked: pending pods that count with their workloads.

        Returns:
            What became of the other pods that were pending already, and were tried.
        """
        self._asked = asked
        engine = self._engine
        engine.perform(*(partial(self._write, course) for course in self._courses))
        engine.settle()
        while foreign := self._foreign():
            engine.perform(partial(_run, foreign))
            engine.settle()
        for course in self._courses:
            self._finish(course)
        self.caveats.update(dict.fromkeys(caveats_of_verdict(engine, self._session.cluster)))
        return list(self._others())

    # --- applying ------------------------------------------------------------------------------------

    def _write(self, course: _Course, world: World) -> None:
        planned = course.planned
        if planned.update == "unchanged" or planned.is_refused:
            return
        obj: Any = planned.applied.object
        for pod in planned.removed if isinstance(obj, CustomResource) else ():
            world.write(DeletePod(key_of(pod), "Deleted"), USER, None)
        if isinstance(obj, Pod | CustomResource):
            for pod in planned.removed if isinstance(obj, Pod) else ():
                world.write(Remove(Pod, key_of(pod)), USER, None)
            for pod in course.expected:
                world.write(Create(_unbound(pod)), USER, None)
        elif isinstance(obj, CronJob):
            if course.expected:
                run = run_of(obj)
                owner = reference("CronJob", "batch/v1", obj)
                run = replace(run, metadata=replace(run.metadata, owner_references=(owner,)))
                world.write(Create(run), USER, None)
        else:
            self._write_workload(named(obj, self._session.cluster), world)

    def _write_workload(self, obj: Any, world: World) -> None:
        cluster = self._session.cluster
        made = default_object(applied_to(cluster, capped(obj, world.limits.most)))
        known = world.state.cluster.get(type(obj), key_of(obj))
        world.write(Create(made) if known is None else Update(as_applied(made, known)), USER, None)

    def _foreign(self) -> list[Pod]:
        """Pods of the manifests that another scheduler places: they are taken to run."""
        pods = self._world.state.cluster.all(Pod)
        found = (pods.get(key) for course in self._courses for key in course.made.values())
        return [
            pod
            for pod in found
            if pod is not None
            and self._profile_of(pod) is None
            and pod.status.phase == "Pending"
            and not pod.spec.node_name
        ]

    # --- watching ------------------------------------------------------------------------------------

    def _course_of(self, pod: Pod) -> _Course | None:
        return self._by_root.get(f"Pod {key_of(pod)}") or self._by_root.get(self._engine.tally.root(pod))

    def _observe(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        del event
        if isinstance(after, PodDisruptionBudget):
            self._burst.over(key_of(after))
        pod = after or before
        if not isinstance(pod, Pod) or (before is not None and after is not None and not _begins_to_go(before, after)):
            return
        course = self._course_of(pod)
        if course is None:
            return
        if before is None:
            course.made[pod.metadata.uid] = key_of(pod)
            course.moments.add(self._world.now)
        elif (gone := self._world.history.gone.get(pod.metadata.uid or key_of(pod))) and gone.how in _ROLLED:
            course.moments.add(gone.at)

    def _admitted(self, pod: Pod, outcome: Admitted[Pod] | Denied) -> None:
        course = self._course_of(pod)
        if course is None:
            return
        if isinstance(outcome, Denied):
            course.refused = course.refused or (pod, outcome.message)
            return
        course.refused = None
        self._changes[key_of(outcome.object)] = tuple(
            ChangeRow(by=each.by, field=each.field, before=each.before, after=each.after) for each in outcome.changes
        )

    def _tried(self, result: ScheduleResult) -> None:
        self._keep(result)
        self._burst.add(result.victims)

    def _keep(self, result: ScheduleResult) -> None:
        pod = result.pod
        if result.whole is not None:
            self.caveats.update(dict.fromkeys(caveats_of(result.whole)))
        if result.hinted:
            self.caveats[Batching()] = None
        course = self._course_of(pod.pod)
        planned = course.planned if course is not None and pod.uid in course.made else self._asked.get(pod.key)
        if planned is None:
            if self._world.was_there(pod.pod):
                self._keep_earlier(result)
            return
        if result.outcome == "Placed":
            self._placed[pod.uid] = self._described(planned, result)
        elif result.outcome == "Preempts" and not all(victim.pod.terminating for victim in result.victims):
            gone = {each.pod for each in self._world.history.gone.values()}
            row = _with_victims(self._described(planned, result), lambda victim: victim.pod not in gone)
            self._evicted.setdefault(pod.uid, []).append(self._burst.as_left(row))

    def _keep_earlier(self, result: ScheduleResult) -> None:
        before = self._earlier.get(result.pod.key)
        if before is None or before.outcome != "Preempts" or result.outcome == "Preempts":
            self._earlier[result.pod.key] = result.settled

    def _described(self, planned: Planned, result: ScheduleResult, whole: Attempt | None = None) -> Decision:
        """The decision, explained where that is wanted; before anything changes."""
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
        return replace(decision, after=took_room(result, before, whole.cycle.profile, whole.cycle.snapshot))

    def _whole(self, pod: PodInfo) -> Attempt:
        state = self._world.state.fork()
        state.apply(Delete(Pod, pod.key))
        profile = self._profile_of(pod.pod)
        assert profile is not None, "it was tried"
        return attempt(profile, pod, state)

    def _profile_of(self, pod: Pod) -> Profile | None:
        return self._session.profiles.get(pod.spec.scheduler_name or DEFAULT_SCHEDULER)

    # --- the end -------------------------------------------------------------------------------------

    def _finish(self, course: _Course) -> None:
        planned = course.planned
        if planned.is_refused:
            return
        for uid, key in self._counted(course):
            decision = self._fate(planned, uid, key)
            if decision is not None:
                planned.decide(replace(decision, changes=self._changes.get(key, ())))
        if planned.update != "unchanged":
            for decision in self._missing(course):
                planned.decide(decision)
        planned.removed = tuple(self._removed(course))
        for key, asking in self._asked.items():
            info = self._world.state.pods.get(key)
            decision = None if asking is not planned or info is None else self._fate(planned, info.uid, key)
            if decision is not None:
                planned.decide(decision)
        if planned.rolls:
            planned.rollout = self._rollout(course)

    def _counted(self, course: _Course) -> list[tuple[str, str]]:
        """The pods that were made and are there still, or have evicted others: what comes for evicted ones is none."""
        there = self._world.state.cluster.all(Pod)

        def counts(uid: str, key: str) -> bool:
            pod = there.get(key)
            is_there = pod is not None and pod.metadata.uid == uid and pod.metadata.deletion_timestamp is None
            return is_there or uid in self._evicted

        found = [(uid, key) for uid, key in course.made.items() if counts(uid, key)]
        return found if course.planned.rolls else found[: len(course.expected)]

    def _fate(self, planned: Planned, uid: str, key: str) -> Decision | None:
        """What became of the pod."""
        pod = self._world.state.cluster.get(Pod, key)
        if pod is None or pod.metadata.uid != uid or pod.metadata.deletion_timestamp is not None:
            return self._eviction(uid)
        if self._profile_of(pod) is None:
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

    def _missing(self, course: _Course) -> Iterator[Decision]:
        """Pods that there should be, and are not: refused, or not made before another one runs."""
        planned = course.planned
        there = set(course.made.values())
        missing = [pod for pod in course.expected if key_of(pod) not in there]
        if planned.rolls:
            count = self._lacking(planned.applied.object) if course.refused else 0
        else:
            count = len(course.expected) - len(planned.decisions)
        if count <= 0:
            return
        obj = planned.applied.object
        is_numbered, in_order = isinstance(obj, StatefulSet), isinstance(obj, StatefulSet) and is_ordered(obj)
        if course.refused is not None:
            pod, message = course.refused
            cluster = self._world.state.cluster
            names = [pod, *(each for each in missing if key_of(each) != key_of(pod))]
            for each in names[: 1 if in_order else count]:
                first = denied(Candidate(each, refusal=message), cluster)
                count -= 1
                yield first
            missing = [each for each in missing if key_of(each) != key_of(pod)]
        if is_numbered and planned.held_up is not None:
            yield from (waiting_for(pod, planned.held_up) for pod in missing[:count])

    def _lacking(self, obj: KubernetesObject) -> int:
        """How many pods a rollout that the API server refuses pods of cannot make now."""
        world = self._world
        known: Any = world.state.cluster.get(type(obj), key_of(obj))
        if isinstance(known, Deployment):
            sets = world.owned(known, ReplicaSet)
            return max(1, sum(max(0, (each.spec.replicas or 0) - len(active(world.pods_of(each)))) for each in sets))
        return 1

    def _removed(self, course: _Course) -> Iterator[Pod]:
        """The pods that were there and make way; evicted ones do not count."""
        pods = self._session.snapshot.pods
        for gone in self._world.history.gone.values():
            owner = self._by_root.get(f"Pod {gone.pod}") or self._by_root.get(gone.owner or "")
            if gone.initial and gone.how in _ROLLED and owner is course:
                yield pods[gone.pod].pod

    def _rollout(self, course: _Course) -> RolloutRow:
        planned, world = course.planned, self._world
        obj: Any = planned.applied.object
        known = world.state.cluster.get(type(obj), key_of(obj))
        assert isinstance(known, Deployment | StatefulSet | DaemonSet), "nothing else rolls"
        progress = progress_of(known, world)
        done = progress.done and not planned.left_out
        late = (decision.pod for decision in planned.decisions.values() if decision and decision.outcome in HOLDS_UP)
        return RolloutRow(
            steps=len(course.moments),
            completed=done,
            wanted=progress.wanted + planned.left_out,
            updated=progress.updated,
            old=progress.old,
            waits_for=None if done else progress.waits_for or next(late, None),
            limit="" if done else progress.limit,
        )

    def _others(self) -> Iterator[Decision]:
        """The pods that were pending already, and were tried, but those whose controllers have deleted them."""
        pods = self._world.state.cluster.all(Pod)
        for key, result in self._earlier.items():
            pod = pods.get(key)
            if pod is not None and pod.metadata.deletion_timestamp is None:
                yield in_short(result)


def _roots(course: _Course) -> Iterator[str]:
    """Under which names its pods are: a CronJob's are a Job's."""
    obj = course.planned.applied.object
    yield course.name
    yield from (f"Pod {key_of(pod)}" for pod in course.expected if isinstance(obj, Pod))
    if isinstance(obj, CronJob):
        yield f"Job {key_of(run_of(obj))}"


def _unbound(pod: Pod) -> Pod:
    """It is judged as if it were pending, even where its manifest names a node."""
    return replace(pod, spec=replace(pod.spec, node_name="")) if pod.spec.node_name else pod


def _begins_to_go(before: KubernetesObject, after: KubernetesObject) -> bool:
    return before.metadata.deletion_timestamp is None and after.metadata.deletion_timestamp is not None


def _run(pods: Sequence[Pod], world: World) -> None:
    for pod in pods:
        world.put(running(pod, world.stamp(world.now), ready=True), None)


def _with_victims(decision: Decision, keep: Callable[[VictimRow], bool], *others: VictimRow) -> Decision:
    """The decision with these victims of the chosen candidate, after others that went before."""
    preemption = decision.preemption
    chosen = preemption.chosen if preemption is not None else None
    if preemption is None or chosen is None:
        return decision
    changed = replace(chosen, victims=(*others, *filter(keep, chosen.victims)))
    candidates = tuple(changed if each is chosen else each for each in preemption.candidates)
    return replace(decision, preemption=replace(preemption, candidates=candidates))
