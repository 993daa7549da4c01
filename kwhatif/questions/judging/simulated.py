"""The manifests are applied in a simulation: what becomes of their pods once nothing happens any more.

Objects are applied in their order, at one moment. Controllers act on what that sets in motion, the scheduler takes the
pods that wait in the order of its queue, with those that were pending before, and budgets are counted when the burst is
over, as in a cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from kwhatif.admission.changes import ChangeRow
from kwhatif.admission.outcome import Admitted, Denied
from kwhatif.admission.quota.state import QuotaUsage
from kwhatif.controllers.catalog import all_controllers
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.questions.judging.attempts import Attempts
from kwhatif.questions.judging.course import Course
from kwhatif.questions.judging.planned import Asked, Explain, Planned
from kwhatif.questions.manifests.prepared import prepare
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.caveats import caveats_of_verdict
from kwhatif.report.decision import Decision
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.simulation.clock import Clock, start_of
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.parameters import Parameters
from kwhatif.simulation.pods import begins_to_go, running
from kwhatif.simulation.world import World
from kwhatif.state.state import State

#: Rollouts of big sets take hours: nobody waits for them here.
_PARAMETERS = Parameters(horizon=30 * 24 * 3600.0)
_ROLLED: Sequence[str] = ("ScaledDown", "RolledOut", "Deleted", "Completed")


class Simulated:
    """One question, played forward."""

    def __init__(
        self,
        session: Session,
        state: State,
        planned: Sequence[Planned],
        explain: Explain,
        asleep: Collection[str],
        usage: QuotaUsage,
    ) -> None:
        """Set up.

        Args:
            session: the cluster, before anything is applied.
            state: a fork of it, in which everything is applied but pods and what makes them.
            planned: these, in the order in which they are applied.
            explain: which decisions say why, and how.
            asleep: keys of pending pods that are not tried.
            usage: what is used of quotas.
        """
        self._session = session
        self._courses = [Course(each) for each in planned]
        self._by_root = {name: course for course in self._courses for name in course.roots()}
        workloads = [each.object for each in planned if each.update != "unchanged"]
        prepare(workloads, state.cluster, state.cluster.add)
        clock = Clock(start_of(state.cluster))
        controllers = all_controllers()
        self._engine = Engine(
            state, session.profiles, controllers, clock, _PARAMETERS, asleep=asleep, usage=usage, scored=True
        )
        self._engine.scheduler.begin()
        self._world = self._engine.world
        self._attempts = Attempts(self._engine, session.profiles, explain)
        #: By key, how admission has changed the pod.
        self._changes: dict[str, tuple[ChangeRow, ...]] = {}
        #: The pending pods that are asked for, by key.
        self._asked: Mapping[str, Asked] = {}
        self._world.watchers.append(self._observe)
        self._world.admission_watcher = self._admitted
        self._engine.scheduler.watcher = self._tried

    def play(self, asked: Mapping[str, Asked]) -> list[Decision]:
        """Apply everything, and go on until nothing happens any more.

        Args:
            asked: pending pods that count with their workloads.

        Returns:
            What became of the other pods that were pending already, and were tried.
        """
        self._asked = asked
        engine = self._engine
        engine.perform(*(partial(course.apply, self._session.cluster) for course in self._courses))
        engine.settle()
        while foreign := self._foreign():
            engine.perform(partial(_run, foreign))
            engine.settle()
        for course in self._courses:
            if not course.planned.is_refused:
                self._finish(course)
        return list(self._attempts.earlier())

    @property
    def state(self) -> State:
        """The cluster as it is now."""
        return self._world.state

    @property
    def caveats(self) -> Iterator[Caveat]:
        """What the simulation leaves out, once it has come to its end."""
        yield from self._attempts.caveats
        yield from caveats_of_verdict(self._engine, self._session.cluster)

    def _foreign(self) -> list[Pod]:
        """Pods of the manifests that another scheduler places: they are taken to run."""
        pods = self._world.state.cluster.all(Pod)
        found = (pods.get(key) for course in self._courses for key in course.made.values())
        return [
            pod
            for pod in found
            if pod is not None
            and self._attempts.profile_of(pod) is None
            and pod.status.phase == "Pending"
            and not pod.spec.node_name
        ]

    # --- watching ------------------------------------------------------------------------------------

    def _course_of(self, pod: Pod) -> Course | None:
        return self._by_root.get(f"Pod {key_of(pod)}") or self._by_root.get(self._engine.tally.root(pod))

    def _observe(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        del event
        if isinstance(after, PodDisruptionBudget):
            self._attempts.burst.over(key_of(after))
        pod = after or before
        if not isinstance(pod, Pod):
            return
        if isinstance(before, Pod) and isinstance(after, Pod) and not begins_to_go(before, after):
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
            course.was_refused(pod, outcome.message)
            return
        course.was_admitted()
        self._changes[key_of(outcome.object)] = outcome.changes

    def _tried(self, result: ScheduleResult) -> None:
        pod = result.pod
        course = self._course_of(pod.pod)
        is_made = course is not None and pod.uid in course.made
        if course is not None and is_made:
            self._attempts.keep(result, course.planned.explained)
        else:
            asked = self._asked.get(pod.key)
            self._attempts.keep(result, None if asked is None else asked.explained)

    # --- the end -------------------------------------------------------------------------------------

    def _finish(self, course: Course) -> None:
        planned, world = course.planned, self._world
        for uid, key in self._counted(course):
            decision = self._attempts.fate(planned.explained, uid, key)
            if decision is not None:
                planned.decide(replace(decision, changes=self._changes.get(key, ())))
        if planned.update != "unchanged":
            for decision in course.missing(world, self._engine.reactions):
                planned.decide(decision)
        planned.removed = tuple(self._removed(course))
        for key, asking in self._asked.items():
            info = world.state.pods.get(key)
            if asking.planned is not planned or info is None:
                continue
            decision = self._attempts.fate(planned.explained, info.uid, key)
            if decision is not None:
                planned.decide(decision)
        if planned.plan.rolls:
            planned.rollout = course.rollout(world)

    def _counted(self, course: Course) -> list[tuple[str, str]]:
        """The pods that were made and are there still, or have evicted others: what comes for evicted ones is none."""
        there = self._world.state.cluster.all(Pod)

        def counts(uid: str, key: str) -> bool:
            pod = there.get(key)
            is_there = pod is not None and pod.metadata.uid == uid and pod.metadata.deletion_timestamp is None
            return is_there or self._attempts.has_evicted(uid)

        found = [(uid, key) for uid, key in course.made.items() if counts(uid, key)]
        return found[: course.most]

    def _removed(self, course: Course) -> Iterator[Pod]:
        """The pods that were there and make way; evicted ones do not count, nor those that had ended."""
        pods = self._session.state.pods
        for gone in self._world.history.gone.values():
            owner = self._by_root.get(f"Pod {gone.pod}") or self._by_root.get(gone.owner or "")
            if gone.initial and gone.how in _ROLLED and owner is course and gone.pod in pods:
                yield pods[gone.pod].pod


def _run(pods: Sequence[Pod], world: World) -> None:
    for pod in pods:
        world.put(running(pod, world.stamp(world.now), ready=True), None)
