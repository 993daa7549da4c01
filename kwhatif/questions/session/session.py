"""A session: one loaded cluster, its state, and the profiles. It can answer any number of questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypedDict, Unpack

import msgspec
from msgspec.structs import replace

from kwhatif.admission.defaults import without_disabled
from kwhatif.controllers.contract import Controller, View
from kwhatif.kube.model.caveat import Caveat, merged
from kwhatif.kube.model.caveat.autoscaling import AutoscalerObjectsNotModelled
from kwhatif.kube.model.caveat.reading import StaleSnapshot, UndatedSnapshot
from kwhatif.kube.model.caveat.scheduling import MomentNotKnown
from kwhatif.kube.model.caveat.workloads import NodesNotAdded
from kwhatif.kube.model.cluster import Cluster, lacks
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.saved import SessionOriginals
from kwhatif.questions.session.completeness import (
    huge_amounts,
    lacking_for,
    nodes_not_in_input,
    said_of,
    unmodelled_for,
    without_modelled,
)
from kwhatif.questions.session.node_autoscalers import Scaling, nodes_not_added
from kwhatif.questions.session.stand_ins import stand_in_rows
from kwhatif.report import Report
from kwhatif.report.decision import Decision
from kwhatif.report.inputs import MadeEdit, SchedulerInfo, SnapshotInfo
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.attempt import run_pre_enqueue
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile, profile_of
from kwhatif.scheduler.release import Release
from kwhatif.state.change import Nominate, SetFacts, Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.claims import missing_classes, missing_storage
from kwhatif.workloads.inferred_owners import inferred_owners
from kwhatif.workloads.injections import ShownInjections


def keep_queued(state: State, profiles: Mapping[str, Profile]) -> None:
    """Forget nominations of pods that do not enter the queue: the scheduler notes a nomination when the pod does.

    (`pkg/scheduler/backend/queue/scheduling_queue.go`.)
    """
    pods = (pod for pods in state.nominated.values() for pod in pods)
    state.apply(*(Nominate(pod.key, None) for pod in pods if not _is_queued(pod, state, profiles)))


def _is_queued(pod: PodInfo, state: State, profiles: Mapping[str, Profile]) -> bool:
    """Whether this scheduler is responsible for the pod, and up to 1.36: nothing holds it back."""
    profile = profile_of(pod.pod, profiles)
    if profile is None or state.cluster.facts.nominates_gated:
        return profile is not None
    return run_pre_enqueue(profile, pod, state) is None


#: What was read longer ago than this many seconds is old.
HOUR = 3600


#: Commands that simulate time: all controllers react to edits there.
_PLAYED = ("simulate", "drain", "outage", "deschedule")


class AttemptLog:
    """The attempts of one question, as far as they say when to ask it again (`questions/again`)."""

    def __init__(self) -> None:
        self._results: list[tuple[PodInfo, frozenset[str]]] | None = []

    def begin(self) -> None:
        """Another question is asked."""
        self._results = []

    def note(self, result: ScheduleResult) -> None:
        """A pod was tried, whether or not it was asked for."""
        if result.outcome != "Unschedulable" or result.failed or not result.rejectors:
            self._results = None
        elif self._results is not None:
            self._results.append((result.pod, frozenset(result.rejectors)))

    def note_more(self) -> None:
        """The question needs more than one attempt for each pod."""
        self._results = None

    @property
    def unschedulable(self) -> Sequence[tuple[PodInfo, frozenset[str]]] | None:
        """All pods that were tried, and the plugins that rejected each; None: not all of them fit nowhere."""
        return self._results


def _default_profiles(release: Release) -> Mapping[str, Profile]:
    return {DEFAULT_SCHEDULER: release.default_profile()}


def _changed_pods(state: State) -> Iterator[Upsert]:
    """The pods that change with the release: fields are disabled, and `keep_queued` checks nominations again."""
    gates = state.cluster.facts.gates
    for info in list(state.pods.values()):
        pod = without_disabled(info.pod, gates)
        if pod is not info.pod or (pod.status.nominated_node_name and not pod.spec.node_name):
            yield Upsert(pod)


class SessionFacts(TypedDict, total=False):
    """Facts about a cluster besides its objects; see the fields of `Session`."""

    profiles_of: Callable[[Release], Mapping[str, Profile]]
    sources: Sequence[str]
    age: int | None
    taken_at: str | None
    namespace: str
    originals: SessionOriginals | None
    treats_as_gangs: bool
    workload_kinds: Any
    attempts: AttemptLog | None


class Session(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """Everything that answering needs; made by `Session.of`."""

    state: State
    #: Scheduler name -> profile.
    profiles: Mapping[str, Profile]
    #: Which release is asked, and how that is known.
    scheduler: SchedulerInfo
    #: What the configuration comes to with another release.
    profiles_of: Callable[[Release], Mapping[str, Profile]] = _default_profiles
    #: The sources, by the names that reports give them.
    sources: Sequence[str] = ()
    #: Caveats about how the cluster was read.
    caveats: tuple[Caveat, ...] = ()
    #: The same, as far as it matters only where an autoscaler adds or removes nodes.
    of_autoscalers: tuple[Caveat, ...] = ()
    #: What was made up of the pods, since the input lacks it (`with_owners`).
    inferred: tuple[Caveat, ...] = ()
    #: Whether it has all owners of pods that can be made up.
    has_owners: bool = False
    #: How long ago the cluster was read, in seconds, when this session was made; None: not known.
    age: int | None = None
    #: When the dump was taken; None of a live cluster, and where a dump does not show it.
    taken_at: str | None = None
    #: The namespace of manifests without one.
    namespace: str = "default"
    #: Where extenders are called: what pods and nodes were read from.
    originals: SessionOriginals | None = None
    #: Whether groups of pods of other schedulers, in manifests too, are judged as gangs.
    treats_as_gangs: bool = False
    #: Custom kinds of which pods are made, in manifests too; None: the built-in ones.
    workload_kinds: Any = None
    #: The edits that were made, and the session as it was without them.
    changes: tuple[MadeEdit, ...] = ()
    unedited: Session | None = None
    #: The autoscaler that adds nodes for pods that find no room; None: no node comes.
    scaling: Scaling | None = None
    #: Notes the attempts of questions, if the caller wants to know when to ask again.
    attempts: AttemptLog | None = None

    @classmethod
    def of(
        cls,
        cluster: Cluster | State,
        *,
        profiles: Mapping[str, Profile] | None = None,
        scheduler: SchedulerInfo | None = None,
        caveats: Sequence[Caveat] = (),
        **facts: Unpack[SessionFacts],
    ) -> Session:
        """A session of this cluster.

        Args:
            cluster: its objects, or its state.
            profiles: scheduler name -> profile; None: kube-scheduler's own.
            scheduler: which release is asked, and how that is known.
            caveats: about how the cluster was read.
            facts: what else is known of it.
        """
        state = cluster if isinstance(cluster, State) else State(cluster)
        state.apply(SetFacts.of(state.cluster, webhooks=ShownInjections(state.cluster)))
        profiles = dict(profiles) if profiles else {DEFAULT_SCHEDULER: default_profile()}
        keep_queued(state, profiles)
        return cls(
            state=state,
            profiles=profiles,
            scheduler=replace(scheduler or SchedulerInfo(), profile=next(iter(profiles))),
            caveats=tuple(each for each in caveats if not isinstance(each, AutoscalerObjectsNotModelled)),
            of_autoscalers=tuple(each for each in caveats if isinstance(each, AutoscalerObjectsNotModelled)),
            **facts,
        )

    def __repr__(self) -> str:
        sources = ", ".join(self.sources) or "objects"
        return f"<cluster of {sources}: {len(self.state.nodes)} nodes, {len(self.state.pods)} pods>"

    @property
    def cluster(self) -> Cluster:
        """The objects of the state."""
        return self.state.cluster

    def _but(self, **fields: Any) -> Session:
        """The same session with other values of these fields."""
        state = fields.get("state")
        if state is not None:
            keep_queued(state, fields.get("profiles", self.profiles))
        lacks_none = self.__dict__.get("_with_owners") is self
        return replace(self, **{"has_owners": self.has_owners or lacks_none} | fields)

    def without_caches(self) -> Session:
        """The same cluster without remembered results: a question that was stopped may have left incomplete ones."""
        profiles = {name: replace(profile) for name, profile in self.profiles.items()}
        return self._but(state=State(self.cluster), profiles=profiles, has_owners=False)

    def with_owners(self) -> Session:
        """The session with the owners of pods that the input lacks altogether; itself, where it lacks none.

        With what new pods of theirs need besides, and old ones have: classes, claims, volumes. All this is found when
        it is first asked for: where a pod lands does not depend on owners.
        """
        return self._with_owners

    @cached_property
    def _with_owners(self) -> Session:
        if self.has_owners:
            return self
        found = inferred_owners(self.cluster)
        objects = (*missing_classes(self.cluster), *missing_storage(self.cluster), *found.objects)
        if not objects:
            return self
        state = self.state.fork()
        made_up = {type(each).__name__ for each in objects if lacks(type(each), self.cluster)}
        facts = SetFacts.of(state.cluster, made_up=state.cluster.facts.made_up | made_up)
        state.apply(*map(Upsert, objects), facts)
        return replace(self, state=state, inferred=tuple(said_of(found, self.cluster)), has_owners=True)

    def after_edits(self, state: State, changes: Sequence[MadeEdit], caveats: Iterable[Caveat]) -> Session:
        """The session after edits: another state, and all caveats about it."""
        return self._but(
            state=state,
            changes=(*self.changes, *changes),
            caveats=tuple(caveats),
            unedited=self.unedited or self,
        )

    def at(self, state: State) -> Session:
        """The session at another moment of the same cluster."""
        return self if state is self.state else self._but(state=state)

    def for_release(self, release: Release) -> Session:
        """A session of this cluster and this configuration, with the scheduler of another release.

        Raises:
            InputError: that release refuses the configuration.
        """
        profiles = dict(self.profiles_of(release))
        state = self.state.fork()
        state.apply(SetFacts.of(state.cluster, **release.facts))
        state.apply(*_changed_pods(state))
        scheduler = replace(self.scheduler, version=release.version, version_source="asked")
        return self._but(state=state, profiles=profiles, scheduler=scheduler, unedited=None)

    def with_scaling(self, scaling: Scaling) -> Session:
        """The session with an autoscaler: all its questions count with the nodes that it adds."""
        unedited = None if self.unedited is None else self.unedited.with_scaling(scaling)
        return self._but(scaling=scaling, unedited=unedited)

    def autoscalers(self) -> tuple[Controller, ...]:
        """The autoscaler of nodes as a controller of simulations; empty without one."""
        return () if self.scaling is None else self.scaling.controllers(self.profiles)

    def remarks(self, limit: int | None = None) -> Iterator[Caveat]:
        """Caveats of every answer about the cluster: nodes that the input lacks, and the age of the input.

        `limit`: that it was read longer ago than this, in seconds (None: an hour), or at an unknown time.
        """
        yield from nodes_not_in_input(self.state)
        if self.age is None or self.taken_at is None:
            if self.age is None and limit is not None:
                yield UndatedSnapshot()
        elif self.age > (HOUR if limit is None else limit):
            yield StaleSnapshot(taken_at=self.taken_at, age=self.age)

    def left_out(self, cluster: Cluster, decisions: Sequence[Decision], *, admission: bool = True) -> Iterator[Caveat]:
        """Caveats about what the decisions depend on and the session does not know.

        Args:
            cluster: with what manifests bring.
            decisions: the report's.
            admission: whether new pods are admitted; else they are taken as they are.
        """
        pending = self.state.pending  # existing pods were admitted when they were created
        new = [each for each in decisions if each.pod not in pending]
        yield from lacking_for(self.cluster, decisions, makes_pods=admission and bool(new))
        yield from unmodelled_for(cluster, new)
        unschedulable = [each.pod for each in decisions if each.outcome == "Unschedulable"]
        pods = cluster.all(Pod)
        if self.scaling is None:
            yield from nodes_not_added(cluster, [pods[key] for key in unschedulable if key in pods])
        yield from huge_amounts(self.state.nodes)

    def with_growth(self, report: Report, view: View) -> Report:
        """The report with the nodes that the autoscaler has added in a simulation."""
        if self.scaling is None:
            return report
        row, caveats = self.scaling.played(view)
        story = report.story
        if story is not None:
            story = replace(story, parameters={**story.parameters, "nodeStartup": self.scaling.startup})
        known = (each for each in report.caveat_details if not isinstance(each, NodesNotAdded))
        return replace(report, autoscaler=row, story=story, caveat_details=merged((*known, *caveats)))

    def report(
        self, command: str, decisions: Sequence[Decision], caveats: Iterable[Caveat], *, groups: bool = True
    ) -> Report:
        """The decisions as a report about this session's cluster; `render.worded` completes it.

        `groups`: whether groups of pods were judged, where the cluster has them.
        """
        return Report(
            command=command,
            scheduler=self.scheduler,
            snapshot=SnapshotInfo(
                sources=tuple(self.sources),
                nodes=len(self.state.nodes),
                pods=len(self.state.pods),
                pod_disruption_budgets=(
                    None
                    if "PodDisruptionBudget" in self.cluster.facts.unread
                    else len(self.cluster.all(PodDisruptionBudget))
                ),
                taken_at=self.taken_at,
            ),
            changes=tuple(each.in_simulation() for each in self.changes) if command in _PLAYED else self.changes,
            caveat_details=merged(without_modelled(caveats, self.cluster) if groups else caveats),
            decisions=tuple(decisions),
            stand_ins=stand_in_rows(self.cluster),
        )


def moment_of(session: Session, at: str | None, now: str) -> tuple[str, Sequence[Caveat]]:
    """The reference time for ages, RFC 3339, and caveats about it.

    Args:
        session: the cluster.
        at: as the user says it; else when the dump was taken, else its newest time.
        now: for a live cluster, and for a dump without any time.

    Raises:
        ValueError: `at` is not a time.
    """
    if at is not None:
        parse_time(at)
        return at, ()
    if session.taken_at is not None or session.age == 0:
        return session.taken_at or now, ()
    newest = _newest_time(session)
    return newest or now, (MomentNotKnown(moment=newest),) if newest else ()


def _newest_time(session: Session) -> str | None:
    """The newest time in the input; None: it has none."""
    found: list[str | None] = []
    for pod in session.cluster.all(Pod).values():
        found += (pod.metadata.creation_timestamp, pod.status.start_time)
        found += (condition.last_transition_time for condition in pod.status.conditions)
    for node in session.cluster.all(Node).values():
        found += (node.metadata.creation_timestamp, *(each.last_heartbeat_time for each in node.status.conditions))
    return max((time for time in found if time), key=parse_time, default=None)
