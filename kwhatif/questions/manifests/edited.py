"""`edit_session`: a session of the cluster after edits, with their direct effects, but without later reactions.

For example, a scaled workload has its pods: new ones are pending, and the pods that its controller deletes are gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.outcome import Admitted, Denied
from kwhatif.controllers.catalog import MAKING_PODS
from kwhatif.edits.edit import Edit, Requests, Resolved, Scaling, SourcedEdit
from kwhatif.edits.resolve import NotResolved, resolve
from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.bystanders import HorizontalPodAutoscaler
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import NoNodes
from kwhatif.kube.model.caveat.scheduling import BudgetComputed, BudgetNotComputed
from kwhatif.kube.model.caveat.workloads import TooManyPods
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.kube.model.workload import SCALABLE, Deployment, ReplicaSet, ReplicationController
from kwhatif.questions.manifests.applied import Applied, fill_budgets
from kwhatif.questions.manifests.daemons import DaemonPods, run_daemons
from kwhatif.questions.manifests.differences import (
    Differences,
    EditedResizes,
    placed_in_order,
    recounted_quotas,
    stale_budgets,
    touched_rows,
)
from kwhatif.questions.manifests.new_pods import NewPods, Planner, caveats_of_webhooks
from kwhatif.questions.manifests.writes import apply, prepare
from kwhatif.questions.session.session import Session
from kwhatif.report.edit_notes import AutoscalerSets, EditNote, PodsNotMade, PodsRefused
from kwhatif.report.inputs import MadeEdit, SourceRow
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.clock import Clock, start_of
from kwhatif.simulation.instant import InstantEngine
from kwhatif.state.change import Change, Delete, Upsert
from kwhatif.state.state import State
from kwhatif.workloads.comparison import WorkloadUpdate
from kwhatif.workloads.counts import allowed_pods, most_pods, out_of_bounds, scalers_of, wanted
from kwhatif.workloads.owners import pods_of
from kwhatif.workloads.removal import active


class MadeByControllers:
    """Runs controllers on a fork of a state: the objects that they create for workloads before any pod is scheduled."""

    def __init__(self, state: State, workloads: Sequence[Any]) -> None:
        """Set up.

        Args:
            state: without the workloads; it is not changed.
            workloads: that will be applied.
        """
        self._before = state.cluster.fork()
        ahead = state.fork()
        # A scaled ReplicaSet has the number that was asked for, even if its Deployment would change it later.
        rolls = any(isinstance(each, Deployment) for each in workloads)
        controllers = [each for each in MAKING_PODS if rolls or each.name != Deployment.__name__]
        self._engine = InstantEngine(
            ahead, {}, controllers, Clock(start_of(ahead.cluster)), lambda _: True, counts_budgets=False
        )
        prepare(workloads, ahead.cluster, lambda obj: self._engine.api_server.assume(Upsert(obj)))
        self._engine.api_server.watchers.append(self._observe)
        self._engine.api_server.admission_watchers.append(self._admitted)
        #: By kind and key, what is new, and None for pods that are gone; in order.
        self._touched: dict[tuple[type, str], None] = {}
        self._made = 0
        self._refused = ""

    def apply(self, obj: Any, update: WorkloadUpdate) -> tuple[int, str]:
        """Apply a workload; returns the number of its new pods, and the message if others are refused."""
        self._made, self._refused = 0, ""
        api_server = self._engine.api_server
        for each in apply(obj, update, self._before, api_server, "final", in_order=False):
            self._engine.reactions.look_at(each, None)
        self._engine.react()
        if self._engine.reactions.refusals and api_server.history.gone and not isinstance(obj, Pod):
            self._refused = ""
            self._engine.retry()
        refusals = self._engine.reactions.refusals.values()
        last = [each.denied.message for each in refusals if each.actor.endswith(key_of(obj))]
        return self._made, self._refused or next(iter(last), "")

    @property
    def caveats(self) -> Iterator[Caveat]:
        """The assumptions."""
        yield from caveats_of_webhooks(self._engine.api_server)

    def changes(self) -> Iterator[Change]:
        """The changes that they make."""
        cluster = self._engine.api_server.state.cluster
        for kind, key in self._touched:
            obj = cluster.get(kind, key)
            if obj is not None:
                yield Upsert(obj)
            elif self._before.get(kind, key) is not None:
                yield Delete(kind, key)

    def _observe(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        del event
        obj = after or before
        if obj is not None and (before is None or after is None):
            self._touched[type(obj), key_of(obj)] = None
            self._made += isinstance(after, Pod)

    def _admitted(self, pod: Pod, outcome: Admitted[Pod] | Denied) -> None:
        del pod
        if isinstance(outcome, Denied):
            self._refused = self._refused or outcome.message


def edit_session(
    session: Session, edits: Sequence[SourcedEdit], *, namespace: str | None = None, problems: Sequence[Problem] = ()
) -> Session:
    """The session after these edits, in order; the session itself is not changed.

    Args:
        session: the cluster.
        edits: in order.
        namespace: of objects that name none; else the session's.
        problems: of other edits, to be raised together.

    Raises:
        InputError: with all problems of the edits.
    """
    found = list(problems)
    state = session.state.fork()
    made_edits: list[MadeEdit] = []
    caveats: dict[Caveat, None] = {}
    resizes = EditedResizes()
    daemons = DaemonPods()
    for where, edit in edits:
        try:
            resolved = resolve(edit, state, namespace=namespace or session.namespace)
        except NotResolved as wrong:
            found.extend(Problem(where, each.message, hint=each.hint) for each in wrong.mistakes)
            continue
        before = state.fork()
        made = _Made(state, edit, resolved, session.profiles, daemons)
        differences = Differences(before, state)
        # Pods with other requests count as started with them: no kubelet has to decide.
        decided = tuple(resizes.settle(() if isinstance(edit, Requests) else differences.of(Pod), state))
        differences = Differences(before, state)
        state.apply(*map(Upsert, recounted_quotas(differences)), *placed_in_order(differences))
        found.extend(Problem(where, message) for message in made.refusals)
        caveats = _without_older(caveats, made.caveats) | made.caveats
        differences = Differences(before, state)
        remarks = (*resolved.notes, *stale_budgets(differences), *made.notes, *decided)
        caveats |= dict.fromkeys(session.inferred if resolved.workloads else ())
        touched = tuple(touched_rows(differences, edit))
        made_edits.append(MadeEdit(edit=edit.text, touched=touched, remarks=remarks))
    if found:
        raise InputError(found)
    caveats |= dict.fromkeys(resizes.caveats)
    if not state.nodes:
        caveats[NoNodes()] = None
    known = _without_older(dict.fromkeys(session.caveats), caveats)
    return session.after_edits(state, made_edits, known | caveats)


def make_edit(edit: Edit, state: State, profiles: Mapping[str, Profile], *, namespace: str) -> Sequence[str]:
    """Apply the edit to this state; returns messages of controllers or the API server that refuse it.

    `profiles`: scheduler name -> profile.

    Raises:
        NotResolved: it cannot be applied.
    """
    return _Made(state, edit, resolve(edit, state, namespace=namespace), profiles, DaemonPods()).refusals


def _without_older(caveats: Mapping[Caveat, None], newer: Mapping[Caveat, None]) -> dict[Caveat, None]:
    """The notes without those about budgets that were counted again."""
    about = {each.budget for each in newer if isinstance(each, BudgetComputed | BudgetNotComputed)}
    return {
        each: None
        for each in caveats
        if not (isinstance(each, BudgetComputed | BudgetNotComputed) and each.budget in about)
    }


class _Made:
    """Makes one edit in a state."""

    def __init__(
        self, state: State, edit: Edit, resolved: Resolved, profiles: Mapping[str, Profile], daemons: DaemonPods
    ) -> None:
        self.refusals = [message for _, message in resolved.refused]
        self.notes: list[EditNote] = []
        self.caveats: dict[Caveat, None] = dict.fromkeys(resolved.caveats)
        workloads = [Applied(obj, SourceRow(file=edit.text)) for obj in resolved.workloads]
        keys = {(type(obj), key_of(obj)) for obj in resolved.workloads}
        new = list(_new_nodes(resolved, state))
        # Before workloads, what their pods may need: priority classes, claims.
        state.apply(
            *(
                change
                for change in resolved.changes
                if not (isinstance(change, Upsert) and (type(change.obj), key_of(change.obj)) in keys)
            )
        )
        state.apply(*resolved.follow)
        upserts = [each.obj for each in resolved.changes if isinstance(each, Upsert)]
        scalers = [each for each in upserts if isinstance(each, HorizontalPodAutoscaler)]
        workloads += [Applied(each, SourceRow(file=edit.text)) for each in out_of_bounds(scalers, state.cluster)]
        if workloads:
            self._react(workloads, edit, state)
        if new:
            new_pods = NewPods(ApiServer.standing(state))
            self.notes += run_daemons(new_pods, new, profiles, daemons)
            self.caveats |= dict.fromkeys(new_pods.caveats)
        self.caveats |= dict.fromkeys(fill_budgets(state))

    def _react(self, workloads: Sequence[Applied], edit: Edit, state: State) -> None:
        """Let controllers create the pods of workloads, which stay pending, and volumes of claims, and delete pods."""
        limit = most_pods(state.cluster)  # of what was asked for before this edit
        new_pods = NewPods(ApiServer.standing(state))
        others: list[Applied] = []
        for applied in workloads:
            if isinstance(applied.object, PersistentVolumeClaim):
                denied = new_pods.create_claim(applied.object)
                self.refusals.extend([] if denied is None else [denied.message])
                continue
            if isinstance(edit, Scaling):
                _count_pods(applied.object, state)
            others.append(applied)
        self.caveats |= dict.fromkeys(new_pods.caveats)
        if others:
            # On a fork: the planner notes there what the workloads will be, and controllers have not seen it yet.
            self._replace_pods(others, Planner(state.fork(), "final", limit=limit), state)

    def _replace_pods(self, workloads: Sequence[Applied], planner: Planner, state: State) -> None:
        made = MadeByControllers(state, [each.object for each in workloads])
        for applied in workloads:
            obj = applied.object
            update = planner.plan(applied)
            if update.caveat is not None:
                self.caveats[update.caveat] = None
            if update.denied is not None:
                self.refusals.append(update.denied.message)
                continue
            self.notes.extend(_autoscaled(applied.object, planner.state.cluster))
            count, refused = made.apply(obj, update)
            if not isinstance(obj, Pod):
                state.apply(Upsert(planner.state.cluster.get(type(obj), key_of(obj))))
            if refused and isinstance(obj, Pod):
                self.refusals.append(refused)
            elif refused:
                number = max(1, _number_of(update, planner.state.cluster.get(type(obj), key_of(obj))) - count)
                self.notes.append(PodsRefused(number, refused))
            if update.left_out:
                self._leave_out(applied, count, update.left_out, planner, state)
        state.apply(*made.changes())
        self.caveats |= dict.fromkeys(made.caveats)

    def _leave_out(self, applied: Applied, made: int, left_out: int, planner: Planner, state: State) -> None:
        if planner.limit > allowed_pods(state.cluster):
            self.notes.append(PodsNotMade(left_out))
        else:
            caveat = TooManyPods(workload=applied.source.object, count=made + left_out, judged=made)
            self.caveats[caveat] = None


def _number_of(update: WorkloadUpdate, workload: object) -> int:
    """How many pods are to be created."""
    if update.kind == "scaled":
        return update.more
    return len(update.added.pods) or wanted(workload)


def _autoscaled(workload: object, cluster: Cluster) -> Iterator[EditNote]:
    """A note that a HorizontalPodAutoscaler changes the number of pods."""
    if isinstance(workload, SCALABLE) and workload.spec.replicas is not None:
        scaled = cluster.get(type(workload), key_of(workload))
        if scaled is not None and scaled.spec.replicas != workload.spec.replicas:
            yield AutoscalerSets(tuple(map(key_of, scalers_of(workload, cluster))), scaled.spec.replicas)


def _new_nodes(resolved: Resolved, state: State) -> Iterator[str]:
    """The names of nodes that do not exist before the edit."""
    for change in resolved.changes:
        if isinstance(change, Upsert) and isinstance(change.obj, Node):
            name = change.obj.metadata.name
            if state.node(name) is None:
                yield name


def _count_pods(workload: object, state: State) -> None:
    """Set its replicas to the number of existing pods: its controller starts from that number."""
    if isinstance(workload, Deployment | ReplicaSet | ReplicationController):
        there = len(active(pods_of(workload, state.cluster)))
        state.apply(Upsert(replace(workload, spec=replace(workload.spec, replicas=there))))
