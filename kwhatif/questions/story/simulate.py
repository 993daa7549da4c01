"""`simulate`: what happens after these steps, in order, each once the one before has settled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from msgspec.structs import replace

from kwhatif.admission.pod_update import is_resize
from kwhatif.controllers.catalog import all_controllers
from kwhatif.controllers.contract import Create, DeletePod, Moment, Remove, Update, Write
from kwhatif.controllers.controller_refs import CLAIMING
from kwhatif.controllers.disruption import recounted
from kwhatif.controllers.drain import KubectlDrain
from kwhatif.controllers.eviction import EvictionApi, EvictionGranted
from kwhatif.edits import edit as edits
from kwhatif.edits.edit import Apply, DeleteObjects, Edit, Fail, Recover, Resolved, Settle, SourcedEdit, Wait, Wrong
from kwhatif.edits.resolve import NotResolved, resolve
from kwhatif.edits.selection import Lookup, drain_options
from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import BudgetRecounted
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, ObjectRef, key_of
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from kwhatif.kube.model.workload import Namespace
from kwhatif.questions.manifests.applied import with_gate
from kwhatif.questions.manifests.writes import USER, as_applied
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.caveats import caveats_of_story
from kwhatif.questions.story.outcome import Ending, Without
from kwhatif.questions.story.rows import QuestionStart, Runs, command_row, compared_runs, resizes_not_granted, story_of
from kwhatif.report import Report
from kwhatif.report.story import CommandRow, Story
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.clock import Clock, start_of
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.parameters import Chance, Parameters
from kwhatif.simulation.view import SimulatedView
from kwhatif.state.change import Change, Delete, Upsert
from kwhatif.workloads.counts import EVICTING


def writes_of(edit: Edit, resolved: Resolved, api_server: Moment) -> Iterator[Write]:
    """An edit as writes to the API server, in order; each depends on the ones before."""
    for change in (*resolved.changes, *_in_deleted_namespaces(resolved)):
        write = _as_write(change, edit, api_server.state.cluster)
        if write is not None:
            yield write


def _in_deleted_namespaces(resolved: Resolved) -> list[Delete]:
    """What the namespace controller deletes: everything in deleted namespaces, pods last."""
    names = {change.key for change in resolved.changes if isinstance(change, Delete) and change.kind is Namespace}
    follow = [change for change in resolved.follow if isinstance(change, Delete)] if names else []
    there = [each for each in follow if RESOURCES[each.kind].namespaced and each.key.partition("/")[0] in names]
    return sorted(there, key=lambda each: each.kind is Pod)


def _as_write(change: Change, edit: Edit, cluster: Cluster) -> Write | None:
    match change:
        case Upsert(obj=obj):
            known = cluster.get(type(obj), key_of(obj))
            if known is None:
                return Create(obj)
            return Update(as_applied(obj, known) if isinstance(edit, Apply) else obj)
        case Delete(kind=kind, key=key):
            if kind is not Pod:
                return Remove(kind, key)
            return DeletePod(key, "Deleted", grace=0 if isinstance(edit, DeleteObjects) and edit.force else None)
    return None


def begin(
    session: Session, parameters: Parameters, chance: Chance | None = None, start: int | None = None
) -> tuple[Engine, tuple[Caveat, ...]]:
    """A settled simulation of the cluster as it is, and the assumptions about it.

    `start`: the moment at which it starts, nanoseconds since the epoch; None: what the cluster shows.
    """
    session = session.with_owners()
    state = session.state.fork()
    controllers = (*all_controllers(parameters.node_monitor_grace_period), *session.autoscalers())
    clock = Clock(start_of(state.cluster) if start is None else start)
    # The disruption controller has counted before the first action.
    budgets = list(recounted(SimulatedView(state, clock)))
    state.apply(*map(Upsert, budgets))
    caveats = (*session.inferred, *_recounted(budgets, session))
    engine = Engine(state, session.profiles, controllers, clock, parameters, chance, evicting=EVICTING)
    engine.begin(_edited(session))
    return engine, caveats


def _edited(session: Session) -> Iterator[tuple[KubernetesObject | None, KubernetesObject]]:
    """Edited objects that ownership may depend on: before and after.

    Created objects already have owners, except pods that are created by hand.
    """
    if session.unedited is None:
        return
    was, now = session.unedited.cluster, session.cluster
    for kind in (Pod, *CLAIMING):
        if was.generation(kind) == now.generation(kind):
            continue
        before: Mapping[str, KubernetesObject] = was.all(kind)
        after: Mapping[str, KubernetesObject] = now.all(kind)
        for key, obj in after.items():
            old = before.get(key)
            if old is not obj and (old is not None or kind is Pod):
                yield old, obj


def _recounted(budgets: Iterable[PodDisruptionBudget], session: Session) -> Iterator[BudgetRecounted]:
    """The budgets that allow more or fewer disruptions than their statuses say."""
    for budget in budgets:
        key, status = key_of(budget), budget.status or PodDisruptionBudgetStatus()
        before = session.cluster.get(PodDisruptionBudget, key)
        stated = before.status.disruptions_allowed if before is not None and before.status is not None else 0
        if stated != status.disruptions_allowed:
            yield BudgetRecounted(
                budget=key,
                stated=stated,
                allowed=status.disruptions_allowed,
                healthy=status.current_healthy,
                desired=status.desired_healthy,
            )


def simulate(
    session: Session,
    steps: Sequence[SourcedEdit],
    parameters: Parameters,
    namespace: str = "",
    runs: Runs | None = None,
) -> Report:
    """Simulate until nothing happens any more; the session is not changed.

    Args:
        session: the cluster.
        steps: the actions, in order.
        parameters: how long things take.
        namespace: of names without one.
        runs: how often to simulate it with other choices.

    Raises:
        InputError: a step names an object that does not exist at that point, or is refused.
    """
    player, story, assumed = _play(session, steps, parameters, namespace, Chance())
    if runs is not None:
        others = (_play(session, steps, parameters, namespace, Chance(seed))[1] for seed in runs.seeds)
        story = replace(story, runs=compared_runs(runs, others))
    caveats = (*session.caveats, *session.remarks(), *assumed, *caveats_of_story(player.engine, session.cluster))
    report = session.report("simulate", (), caveats)
    return session.with_growth(replace(report, story=story), player.engine.api_server)


def played(session: Session, steps: Sequence[SourcedEdit], parameters: Parameters) -> tuple[Story, tuple[Caveat, ...]]:
    """The story of these steps, and its caveats; objects that the API server refuses are skipped.

    Raises:
        InputError: a step names an object that does not exist at that point.
    """
    session = with_gate(session, applied_in(steps))
    player, story, assumed = _play(session, steps, parameters, "", Chance(), lenient=True)
    return story, (*assumed, *caveats_of_story(player.engine, session.cluster))


def _play(
    session: Session,
    steps: Sequence[SourcedEdit],
    parameters: Parameters,
    namespace: str,
    chance: Chance,
    *,
    lenient: bool = False,
) -> tuple[StepPlayer, Story, tuple[Caveat, ...]]:
    chances = chance.fork()
    engine, assumed = begin(session, parameters, chance)

    def again(session: Session) -> Callable[[], Engine]:
        return lambda: begin(session, parameters, chances.fork())[0]

    without = _without(session, steps, engine, again)
    asked = QuestionStart(engine.clock.now, len(engine.api_server.history.events)) if _changes(steps) else None
    if asked is None and without is not None:
        asked = QuestionStart(0.0, 0)
    engine.ask()
    player = StepPlayer(engine, namespace or session.namespace)
    player.lenient = lenient
    if not steps:
        engine.settle()
    for step, after in zip_longest(steps, steps[1:]):
        player.perform(step)
        if not _goes_on_at_once(step.edit, None if after is None else after.edit):
            player.engine.settle()
    ending = Ending(engine, None if without is None else without.at(engine.clock.now))
    return player, story_of(ending, tuple(player.commands), asked), assumed


def _without(
    session: Session, steps: Sequence[SourcedEdit], engine: Engine, again: Callable[[Session], Callable[[], Engine]]
) -> Without | None:
    """The simulation without the steps; if there are none, without the edits; None if there are no edits either.

    Args:
        session: the cluster with its edits; if there are steps, both simulations have the edits.
        steps: the actions.
        engine: the simulation before the first step.
        again: how a simulation of a session begins.
    """
    if _changes(steps):
        engine.api_server.state.prepare()
        return Without(engine.fork(), again(session))
    return None if session.unedited is None else Without(again(session.unedited)(), again(session.unedited))


def applied_in(steps: Sequence[SourcedEdit]) -> Iterator[object]:
    """The objects that the steps apply."""
    return (obj for step in steps if isinstance(step.edit, Apply) for obj in step.edit.objects)


def _changes(steps: Sequence[SourcedEdit]) -> bool:
    """Whether any step is an action, not only waiting."""
    return any(not isinstance(step.edit, Wait | Settle) for step in steps)


def _goes_on_at_once(step: Edit, after: Edit | None) -> bool:
    """Whether the next step starts before the cluster has settled."""
    if isinstance(step, Wait):
        return after is not None
    return isinstance(after, Wait) or (isinstance(step, edits.Drain) and not step.wait)


class StepPlayer:
    """Performs the steps of a question in a simulation."""

    def __init__(self, engine: Engine, namespace: str) -> None:
        self.engine = engine
        #: Whether it continues if the API server refuses an object.
        self.lenient = False
        #: Drains, each with the second at which it began, and refused commands.
        self._commands: list[tuple[KubectlDrain, float] | CommandRow] = []
        #: The pods that it has resized.
        self._resized: dict[str, None] = {}
        self._namespace = namespace

    def perform(self, step: SourcedEdit) -> None:
        """Perform the step, with all immediate reactions.

        Raises:
            InputError: it names an object that does not exist, or is refused.
        """
        engine, edit = self.engine, step.edit
        match edit:
            case Wait():
                engine.wait(edit.seconds)
            case Settle():
                engine.settle()
            case Fail():
                for name in self._nodes(step, edit.nodes):
                    engine.silence(name)
            case Recover():
                for name in self._nodes(step, edit.nodes):
                    engine.recover(name)
            case edits.Drain():
                self._drain(step, edit)
            case edits.EvictPods():
                self._evict(step, edit)
            case _:
                self._write(step)

    def _evict(self, step: SourcedEdit, edit: edits.EvictPods) -> None:
        """One eviction request for each pod, all at once; refused ones are not repeated."""
        lookup = Lookup(self.engine.api_server.state.cluster, self._namespace)
        pods = lookup.objects(edit.pods)
        if lookup.mistakes:
            raise _cannot(step, lookup.mistakes)

        def asked(api_server: ApiServer) -> None:
            api = EvictionApi(api_server)
            for pod in pods:
                answer = api.evict(key_of(pod))
                if isinstance(answer, EvictionGranted):
                    for write in answer.writes:
                        api_server.write(write, USER, None)
                else:
                    api_server.note(None, USER, "could not evict", pod, pod.spec.node_name, answer.message)

        self.engine.perform(asked)

    def _drain(self, step: SourcedEdit, edit: edits.Drain) -> None:
        try:
            options = drain_options(edit)
        except Wrong as wrong:
            raise _cannot(step, [wrong]) from wrong
        drain = KubectlDrain(tuple(self._nodes(step, edit.nodes)), options, self.engine.api_server.chance.order)
        self._commands.append((drain, self.engine.clock.now))
        self.engine.evict(drain)

    @property
    def commands(self) -> Iterator[CommandRow]:
        """The commands, and how they ended."""
        for each in self._commands:
            yield each if isinstance(each, CommandRow) else command_row(each[0], self.engine, each[1])
        yield from resizes_not_granted(self._resized, self.engine)

    def _nodes(self, step: SourcedEdit, words: tuple[str, ...]) -> list[str]:
        lookup = Lookup(self.engine.api_server.state.cluster, self._namespace)
        nodes: list[Node] = lookup.nodes(words)
        if lookup.mistakes:
            raise _cannot(step, lookup.mistakes)
        return [node.metadata.name for node in nodes]

    def _write(self, step: SourcedEdit) -> None:
        """An edit as writes to the API server; controllers and kubelets react to them.

        If several objects are applied, those that the API server refuses are skipped.
        """
        api_server = self.engine.api_server
        try:
            resolved = resolve(step.edit, api_server.state, namespace=self._namespace)
        except NotResolved as wrong:
            raise _cannot(step, wrong.mistakes) from wrong
        refusals: list[tuple[str, str]] = []
        pods = api_server.state.cluster.all(Pod)
        new = (change.obj for change in resolved.changes if isinstance(change, Upsert))
        self._resized |= {
            key_of(pod): None
            for pod in new
            if isinstance(pod, Pod) and (old := pods.get(key_of(pod))) is not None and is_resize(pod, old)
        }

        def written(api_server: ApiServer) -> None:
            for obj, message in resolved.refused:
                api_server.note(None, USER, "was refused", obj, detail=message)
                refusals.append((str(ObjectRef.of(obj)), message))
            for write in writes_of(step.edit, resolved, api_server):
                denied = api_server.write(write, USER, None)
                if denied is not None and isinstance(write, Create):
                    refusals.append((str(ObjectRef.of(write.obj)), denied.message))

        self.engine.perform(written)
        if refusals and not isinstance(step.edit, edits.Apply) and not self.lenient:
            raise InputError([Problem(step.where, message) for _, message in refusals])
        self._commands += (CommandRow(f"apply {name}", ok=False, seconds=0.0, why=why) for name, why in refusals)


def _cannot(step: SourcedEdit, mistakes: Sequence[Wrong]) -> InputError:
    return InputError([Problem(step.where, wrong.message, hint=wrong.hint) for wrong in mistakes])
