"""Each pod, or group of pods, as if it were the only one: always on the same state, and first in the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.new_objects import check_workload
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.workloads import OneOfEqualPods, TooManyPods
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, group_of, has_groups
from kwhatif.kube.model.workload import PodSource
from kwhatif.questions.decisions.decide import decide, denied, ignored, refusal
from kwhatif.questions.decisions.described import caveats_of
from kwhatif.questions.judging.run import ManifestOutcome
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.new_pods import NewPod, NewPods, Planner
from kwhatif.questions.pod_groups import InstantGroupRows, decision_of_member
from kwhatif.report.decision import Decision
from kwhatif.report.pod_groups import PodGroupsRow
from kwhatif.scheduler.framework.profile import Profile, profile_of
from kwhatif.simulation.instant import InstantEngine
from kwhatif.state.change import Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.comparison import WorkloadUpdate, unstarted
from kwhatif.workloads.counts import beyond, capped
from kwhatif.workloads.deployment import free_names
from kwhatif.workloads.expand import expand
from kwhatif.workloads.template import ReplicaGroup


class _LoneGroup(NamedTuple):
    """A group of pods, in a fork without the other groups that are asked about."""

    trial: NewPods
    #: The pods that are asked about, each with its object of the manifests; None: the pod was pending already.
    pods: list[tuple[NewPod, Applied | None]]


class AloneRun:
    """Like `InstantRun`, but each pod is tried on the same state, beside the existing pods: none is replaced."""

    def __init__(
        self, profiles: Mapping[str, Profile], new_pods: NewPods, planner: Planner, described: int | None
    ) -> None:
        """Set up.

        Args:
            profiles: scheduler name -> profile.
            new_pods: where workloads are applied; pods are created in forks of it.
            planner: of the same state.
            described: how many candidates for eviction a decision describes, best first; None: all.
        """
        self._profiles, self._new_pods, self._planner, self._described = profiles, new_pods, planner, described
        #: Caveats of the decisions, and what was assumed about pods and claims.
        self._caveats: dict[Caveat, None] = {}
        self._assumed: dict[Caveat, None] = {}
        self._decisions: list[Decision] = []
        #: Names of pods that were judged, by namespace.
        self._names: dict[str, set[str]] = {}
        #: Groups by key.
        self._groups: dict[str, _LoneGroup] = {}

    @property
    def _state(self) -> State:
        return self._new_pods.api_server.state

    def add(self, applied: Applied) -> None:
        """Decide about the object's pods: about the first of equal ones; groups are decided in `play`."""
        update = self._apply(applied)
        if update.denied is not None:
            self._decisions.append(refusal(applied, update.denied, self._state.cluster))
            return
        workload, left_out, groups = applied.source.object, update.left_out, update.added.groups
        is_stored = isinstance(applied.object, Pod) and applied.restarted
        for group in groups:
            if self._is_member(group.pod):
                self._join(applied, group)
                continue
            first = group if is_stored else self._with_free_name(group)
            candidate, trial = self._new_pods.create_alone(first, applied.object, stored=is_stored)
            self._assumed.update(dict.fromkeys(trial.caveats))
            decision = self._decide(candidate, trial.api_server.state)
            self._decisions.append(replace(decision, source=applied.source, runs_on=applied.runs_on))
            if len(group.names) > 1:
                count = len(group.names) + (left_out if len(groups) == 1 else 0)
                self._caveats[OneOfEqualPods(workload=workload, count=count)] = None
        if left_out:
            judged = len(update.added.pods)
            self._caveats[TooManyPods(workload=workload, count=judged + left_out, judged=judged)] = None

    def add_pending(self, pod: Pod) -> None:
        """Decide about a pending pod as if it were the next in the queue."""
        if self._is_member(pod):
            self._group(group_of(pod)).pods.append((NewPod(pod), None))
        else:
            self._decisions.append(self._decide(NewPod(pod), self._state))

    def play(self) -> ManifestOutcome:
        """The decisions about all pods."""
        groups = self._place_groups()
        return ManifestOutcome(
            planned=(),
            others=self._decisions,
            earlier=[],
            caveats=tuple(self._caveats),
            assumed=tuple(self._assumed),
            api_server=self._new_pods.api_server,
            groups=groups,
            evicting=0,  # what one evicts is there for the next one
            is_settled=False,
        )

    def _apply(self, applied: Applied) -> WorkloadUpdate:
        """The pods that would be created in addition to existing ones."""
        obj, planner, cluster = applied.object, self._planner, self._state.cluster
        if isinstance(obj, CustomResource):
            return planner.pods_of_custom(obj)
        workload = cast("PodSource", obj)
        if isinstance(workload, Pod):
            return WorkloadUpdate("new", added=expand(unstarted(workload) if applied.restarted else workload, cluster))
        workload = planner.as_applied(workload, restarted=applied.restarted).object
        refused = check_workload(workload, cluster) if self._new_pods.admission else None
        self._new_pods.api_server.put(default_object(workload), None)
        made, left_out = expand(capped(workload, planner.limit), cluster), beyond(workload, planner.limit)
        return WorkloadUpdate("new", added=made, left_out=left_out, denied=refused)

    def _with_free_name(self, group: ReplicaGroup) -> ReplicaGroup:
        """The group with another name if a pod before it has the same one: generated names are free in the cluster."""
        used = self._names.setdefault(group.pod.metadata.namespace, set())
        names = group.names[:1]
        if group.pod.metadata.generate_name and not used.isdisjoint(names):
            names = free_names(group.pod, 1, self._state.cluster, used)
        used.update(names)
        return replace(group, names=names)

    def _decide(self, candidate: NewPod, state: State) -> Decision:
        if candidate.refusal:
            return denied(candidate.pod, candidate.refusal, state.cluster)
        profile = profile_of(candidate.pod, self._profiles)
        if profile is None:
            return ignored(candidate.pod)
        decision, result = decide(profile, PodInfo(candidate.pod), state, described=self._described)
        self._caveats.update(dict.fromkeys(caveats_of(result)))
        return replace(decision, changes=candidate.changes)

    # --- groups --------------------------------------------------------------------------------------

    def _is_member(self, pod: Pod) -> bool:
        """Whether the pod is in a group that the scheduler places as a whole."""
        cluster = self._state.cluster
        return has_groups(cluster) and group_of(pod) in cluster.all(PodGroup)

    def _group(self, key: str) -> _LoneGroup:
        found = self._groups.get(key)
        if found is None:
            found = self._groups[key] = _LoneGroup(self._new_pods.fork(), [])
        return found

    def _join(self, applied: Applied, group: ReplicaGroup) -> None:
        """Create all pods beside the others of their group, and decide about those that the API server refuses."""
        trial, pods = self._group(group_of(group.pod))
        is_stored = isinstance(applied.object, Pod) and (applied.restarted or applied.stored)
        for candidate in trial.create_all(group, applied.object, stored=is_stored):
            if candidate.refusal:
                refused = denied(candidate.pod, candidate.refusal, trial.api_server.state.cluster)
                self._decisions.append(replace(refused, source=applied.source))
            else:
                trial.api_server.assume(Upsert(candidate.pod))
                pods.append((candidate, applied))
        self._assumed.update(dict.fromkeys(trial.caveats))

    def _place_groups(self) -> PodGroupsRow | None:
        """Decide about the pods of groups, each group as if it were the only one; returns rows about the groups."""
        found = [self._place_group(trial, pods) for _, (trial, pods) in sorted(self._groups.items())]
        rows = [each for each in found if each is not None]
        groups, pods = (row for each in rows for row in each.groups), (row for each in rows for row in each.pods)
        return PodGroupsRow(tuple(groups), tuple(pods)) if rows else None

    def _place_group(self, trial: NewPods, pods: Sequence[tuple[NewPod, Applied | None]]) -> PodGroupsRow | None:
        state, decided = trial.api_server.state, list[Decision]()
        engine = InstantEngine(state, self._profiles)
        rows = InstantGroupRows(engine, self._profiles)
        infos = [PodInfo(candidate.pod, state.cluster.facts.resizes) for candidate, _ in pods]
        engine.run(
            infos,
            on_result=lambda result: decided.append(ignored(result.pod.pod)),
            on_member=lambda result: decided.append(decision_of_member(result)),
        )
        for (candidate, applied), decision in zip(pods, decided, strict=True):
            source = None if applied is None else applied.source
            self._decisions.append(replace(decision, changes=candidate.changes, source=source))
        return rows.rows(zip(infos, decided, strict=True))
