"""A session: one loaded cluster, its state, and the profiles. It can answer any number of questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.defaults import without_disabled
from kwhatif.admission.pod_security import enforced, fills_in_contexts
from kwhatif.admission.quota_scopes import KNOWN_SCOPES
from kwhatif.controllers.contract import Controller, View
from kwhatif.kube.matching.requests import pod_resources
from kwhatif.kube.model.caveat import Caveat, merged
from kwhatif.kube.model.caveat.autoscaling import AutoscalerObjectsNotModelled
from kwhatif.kube.model.caveat.manifests import PodSecurityNotChecked, UnknownQuotaScope
from kwhatif.kube.model.caveat.reading import StaleSnapshot, UndatedSnapshot, VersionNotDefault
from kwhatif.kube.model.caveat.scheduling import GangsNotModelled, HugeAmounts
from kwhatif.kube.model.caveat.workloads import NodesNotAdded
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of, lacks
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, has_groups
from kwhatif.kube.model.policy import PodDisruptionBudget, ResourceQuota
from kwhatif.kube.model.saved import SessionOriginals
from kwhatif.questions.session.completeness import lacking_for, nodes_not_in_input, said_of
from kwhatif.questions.session.node_autoscalers import nodes_not_added
from kwhatif.questions.session.scaling import Scaling
from kwhatif.questions.session.stand_ins import stand_in_rows
from kwhatif.questions.session.tried import Tried
from kwhatif.report import Report
from kwhatif.report.decision import Decision
from kwhatif.report.inputs import EditRow, SchedulerInfo, SnapshotInfo
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.attempt import run_pre_enqueue
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile, profile_of
from kwhatif.scheduler.release import Release
from kwhatif.state.change import Nominate, Upsert
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.claims import missing_classes, missing_storage
from kwhatif.workloads.inferred_owners import Inferred, inferred_owners
from kwhatif.workloads.injections import ShownInjections


def unmodelled_for(cluster: Cluster, decisions: Sequence[Decision]) -> Iterator[Caveat]:
    """Caveats about objects of the input that matter to these decisions and are not modelled.

    `cluster` has what the manifests bring.
    """
    pods: dict[str, list[str]] = {}
    for decision in decisions:
        if decision.outcome != "Denied":
            pods.setdefault(decision.pod.partition("/")[0], []).append(decision.pod)
    levels = {name: enforced(name, cluster).level for name in sorted(pods)}
    checked = tuple((name, level) for name, level in levels.items() if level != "privileged")
    if checked and fills_in_contexts(cluster):
        about = tuple(pod for name, _ in checked for pod in pods[name])
        yield PodSecurityNotChecked(namespaces=checked, pods=about)
    for quota in cluster.all(ResourceQuota).values():
        for scope in _scopes(quota) if quota.metadata.namespace in pods else ():
            if scope not in KNOWN_SCOPES:
                yield UnknownQuotaScope(quota=key_of(quota), scope=scope)


def huge_amounts(nodes: Iterable[NodeInfo]) -> Iterator[Caveat]:
    """That amounts of these nodes are so large that floats do not hold them, and 64 bits not their products."""
    names = tuple([node.name for node in nodes if node.is_huge])
    if names:
        yield HugeAmounts(nodes=names)


def _scopes(quota: ResourceQuota) -> Iterator[str]:
    yield from quota.spec.scopes
    if quota.spec.scope_selector is not None:
        yield from (requirement.scope_name for requirement in quota.spec.scope_selector.match_expressions)


def without_modelled(caveats: Iterable[Caveat], cluster: Cluster) -> Iterator[Caveat]:
    """The caveats without those about pods of groups, where these are placed together."""
    for caveat in caveats:
        if isinstance(caveat, GangsNotModelled) and has_groups(cluster):
            if caveat.groups:
                yield GangsNotModelled(groups=caveat.groups)
        elif isinstance(caveat, VersionNotDefault) and caveat.kind == PodGroup.__name__ and has_groups(cluster):
            continue  # the gate asks for this version
        else:
            yield caveat


def keep_queued(state: State, profiles: Mapping[str, Profile]) -> None:
    """Forget nominations of pods that do not enter the queue: the scheduler notes a nomination when the pod does.

    (`pkg/scheduler/backend/queue/scheduling_queue.go`.)
    """
    pods = (pod for pods in state.nominated.values() for pod in pods)
    state.apply(*(Nominate(pod.key, None) for pod in pods if not _is_queued(pod, state, profiles)))


def _is_queued(pod: PodInfo, state: State, profiles: Mapping[str, Profile]) -> bool:
    """Whether this scheduler is responsible for the pod, and up to 1.36: nothing holds it back."""
    profile = profile_of(pod.pod, profiles)
    if profile is None or state.cluster.nominates_gated:
        return profile is not None
    return run_pre_enqueue(profile, pod, state) is None


#: What was read longer ago than this many seconds is old.
HOUR = 3600


#: Commands that play the cluster forward: everybody reacts to edits there.
_PLAYED = ("simulate", "drain", "outage", "deschedule")


def _default_profiles(release: Release) -> Mapping[str, Profile]:
    return {DEFAULT_SCHEDULER: release.default_profile()}


def _counted_otherwise(state: State) -> Iterator[Upsert]:
    """The pods that do not count as they did, now that the cluster is of another release."""
    gates, resizes = state.cluster.gates, state.cluster.resizes
    for info in list(state.pods.values()):
        pod = without_disabled(info.pod, gates)
        nominated = pod.status.nominated_node_name and not pod.spec.node_name  # for `keep_queued` to look at again
        if pod is not info.pod or nominated or pod_resources(pod, resizes) != info.resources:
            yield Upsert(pod)


class Session:
    """Everything that answering needs. Questions do not change it."""

    def __init__(  # noqa: PLR0913 - all that is known about how the cluster was read
        self,
        cluster: Cluster | State,
        *,
        profiles: Mapping[str, Profile] | None = None,
        scheduler: SchedulerInfo | None = None,
        profiles_of: Callable[[Release], Mapping[str, Profile]] | None = None,
        sources: Sequence[str] = (),
        caveats: Sequence[Caveat] = (),
        age: int | None = None,
        taken_at: str | None = None,
        namespace: str = "default",
        originals: SessionOriginals | None = None,
    ) -> None:
        self.state = cluster if isinstance(cluster, State) else State(cluster)
        self.state.cluster.webhooks = ShownInjections(self.state.cluster)
        #: Scheduler name -> profile.
        self.profiles = dict(profiles) if profiles else {DEFAULT_SCHEDULER: default_profile()}
        keep_queued(self.state, self.profiles)
        #: What the configuration comes to with another release.
        self._profiles_of = profiles_of or _default_profiles
        #: Which release is asked, and how that is known.
        self.scheduler = replace(scheduler or SchedulerInfo(), profile=next(iter(self.profiles)))
        #: Where manifests belong that name no namespace.
        self.namespace = namespace
        #: Where extenders are called: what pods and nodes were read from.
        self.originals = originals
        #: Caveats about how the cluster was read.
        self.caveats: tuple[Caveat, ...] = tuple(
            each for each in caveats if not isinstance(each, AutoscalerObjectsNotModelled)
        )
        #: The same, as far as it matters only where an autoscaler adds or removes nodes.
        self.of_autoscalers = tuple(each for each in caveats if isinstance(each, AutoscalerObjectsNotModelled))
        #: What was made up of the pods, since the input lacks it (`with_owners`).
        self.inferred: tuple[Caveat, ...] = ()
        #: This session with them, once that was asked for; itself, if it has them already.
        self._with_owners: Session | None = None
        #: The attempts of questions, if the caller wants to know when to ask again.
        self.tried: Tried | None = None
        #: How long ago the cluster was read, in seconds, when this session was made; None: not known.
        self.age = age
        #: When the dump was taken; None of a live cluster, and where a dump does not show it.
        self.taken_at = taken_at
        self._sources = tuple(sources)
        #: Whether groups of pods of other schedulers, in manifests too, are judged as gangs.
        self.treats_as_gangs = False
        #: Custom kinds of which pods are made (`sources.decoding.workload_kinds`); None: the built-in ones.
        self.workload_kinds: Any = None
        #: The edits that were made, and the session as it was without them.
        self.changes: tuple[EditRow, ...] = ()
        self.unedited: Session | None = None
        #: The autoscaler that adds nodes for pods that find no room; None: no node comes.
        self.scaling: Scaling | None = None
        #: Notes of these edits that are true only without reactions.
        self.notes_at_rest: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        sources = ", ".join(self._sources) or "objects"
        return f"<cluster of {sources}: {len(self.state.nodes)} nodes, {len(self.state.pods)} pods>"

    @property
    def cluster(self) -> Cluster:
        """The objects of the snapshot."""
        return self.state.cluster

    @property
    def sources(self) -> Sequence[str]:
        """What it was read from, by the names that reports give it."""
        return self._sources

    def anew(self) -> Session:
        """The same cluster with nothing remembered: a question that was stopped may have left half of a result."""
        other = copy(self)
        other.state = State(self.cluster)
        other.profiles = {name: replace(profile) for name, profile in self.profiles.items()}
        keep_queued(other.state, other.profiles)
        other._with_owners = None
        return other

    def with_owners(self) -> Session:
        """The session with the owners of pods that the input lacks altogether; itself, where it lacks none.

        With what new pods of theirs need besides, and old ones have: classes, claims, volumes. All this is found when
        it is first asked for: where a pod lands does not depend on owners.
        """
        if self._with_owners is None:
            found = inferred_owners(self.cluster)
            others = (*missing_classes(self.cluster), *missing_storage(self.cluster))
            self._with_owners = self._with(found, others) if found.objects or others else self
        return self._with_owners

    def _with(self, found: Inferred, others: Sequence[KubernetesObject]) -> Session:
        other = copy(self)
        other.state = self.state.fork()
        objects = (*others, *found.objects)
        other.state.apply(*map(Upsert, objects))
        made_up = {type(each).__name__ for each in objects if lacks(type(each), self.cluster)}
        other.cluster.made_up = other.cluster.made_up.union(made_up)
        other.inferred = tuple(said_of(found, self.cluster))
        other._with_owners = other
        return other

    def after_edits(
        self, state: State, changes: Sequence[EditRow], caveats: Iterable[Caveat], notes_at_rest: Iterable[str] = ()
    ) -> Session:
        """The session after edits: another snapshot, and all caveats about it."""
        other = copy(self)
        other.state = state
        other._with_owners = other if self._with_owners is self else None
        keep_queued(state, self.profiles)
        other.changes = (*self.changes, *changes)
        other.caveats = tuple(caveats)
        other.notes_at_rest = self.notes_at_rest.union(notes_at_rest)
        other.unedited = self.unedited or self
        return other

    def at(self, state: State) -> Session:
        """The session at another moment of the same cluster."""
        if state is self.state:
            return self
        other = copy(self)
        other.state = state
        other._with_owners = other if self._with_owners is self else None
        keep_queued(state, self.profiles)
        return other

    def for_release(self, release: Release) -> Session:
        """A session of this cluster and this configuration, with the scheduler of another release.

        Raises:
            InputError: that release refuses the configuration.
        """
        other = copy(self)
        other.profiles = dict(self._profiles_of(release))
        other.state = self.state.fork()
        release.follow(other.state.cluster)
        other.state.apply(*_counted_otherwise(other.state))
        keep_queued(other.state, other.profiles)
        other.scheduler = replace(self.scheduler, version=release.version, version_source="asked")
        other.unedited = None
        other._with_owners = other if self._with_owners is self else None
        return other

    def with_scaling(self, scaling: Scaling) -> Session:
        """The session with an autoscaler: every question about it goes on with the nodes that this adds."""
        other = copy(self)
        other.scaling, other._with_owners = scaling, other if self._with_owners is self else None
        if self.unedited is not None:
            other.unedited = self.unedited.with_scaling(scaling)
        return other

    def autoscalers(self) -> tuple[Controller, ...]:
        """The autoscaler of nodes as an actor of simulations; nothing where none is asked for."""
        return () if self.scaling is None else self.scaling.controllers(self.profiles)

    def remarks(self, limit: int | None = None) -> Iterator[Caveat]:
        """What every answer about the cluster leaves out: nodes that the input lacks, and what came since.

        `limit`: that it was read longer ago than this, in seconds (None: an hour), or at an unknown time.
        """
        yield from nodes_not_in_input(self.state)
        if self.age is None or self.taken_at is None:
            if self.age is None and limit is not None:
                yield UndatedSnapshot()
        elif self.age > (HOUR if limit is None else limit):
            yield StaleSnapshot(taken_at=self.taken_at, age=self.age)

    def left_out(self, cluster: Cluster, decisions: Sequence[Decision], *, admission: bool = True) -> Iterator[Caveat]:
        """What the decisions depend on and this session does not know.

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
                sources=self._sources,
                nodes=len(self.state.nodes),
                pods=len(self.state.pods),
                pod_disruption_budgets=(
                    None if "PodDisruptionBudget" in self.cluster.unread else len(self.cluster.all(PodDisruptionBudget))
                ),
                taken_at=self.taken_at,
            ),
            changes=tuple(map(self._going_on, self.changes)) if command in _PLAYED else self.changes,
            caveat_details=merged(without_modelled(caveats, self.cluster) if groups else caveats),
            decisions=tuple(decisions),
            stand_ins=stand_in_rows(self.cluster),
        )

    def _going_on(self, row: EditRow) -> EditRow:
        return replace(row, notes=tuple(note for note in row.notes if note not in self.notes_at_rest))
