"""A session: one cluster loaded, a snapshot made of it, and profiles to ask it with. Ask as often as you like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy

from kwhatif.catalog import default_profile
from kwhatif.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.model.originals import SessionOriginals
from kwhatif.model.pod import Pod
from kwhatif.model.policy import PodDisruptionBudget
from kwhatif.report import Decision, Report, SchedulerInfo, SnapshotInfo
from kwhatif.state.change import Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.whatif.caveats import caveats_of
from kwhatif.whatif.decide import decide, ignored
from kwhatif.whatif.nominations import keep_queued


class Session:
    """Everything that answering needs. Questions do not change it."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        profiles: Mapping[str, Profile] | None = None,
        sources: Sequence[str] = (),
        caveats: Sequence[str] = (),
        namespace: str = "default",
        originals: SessionOriginals | None = None,
    ) -> None:
        self.snapshot = State(cluster)
        #: The objects of the snapshot.
        self.cluster = self.snapshot.cluster
        #: Scheduler name -> profile.
        self.profiles = dict(profiles) if profiles else {DEFAULT_SCHEDULER: default_profile()}
        keep_queued(self.snapshot, self.profiles)
        #: Where manifests belong that name no namespace.
        self.namespace = namespace
        #: Where extenders are called: what pods and nodes were read from.
        self.originals = originals
        #: What is to be said about how the cluster was read.
        self.caveats = tuple(caveats)
        self._sources = tuple(sources)

    def decide(self, pod: PodInfo, caveats: dict[str, None]) -> Decision:
        """The decision about one pod; what it leaves out is added to `caveats` (a dict, to keep their order)."""
        name = pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER
        profile = self.profiles.get(name)
        if profile is None:
            return ignored(pod, name)
        decision, attempt = decide(profile, pod, self.snapshot)
        caveats.update(dict.fromkeys(caveats_of(attempt)))
        return decision

    def schedule(self, pods: Sequence[Pod], command: str = "schedule", caveats: Sequence[str] = ()) -> Report:
        """Judge every pod on the same snapshot, each as if it were the next in the queue."""
        said = dict.fromkeys((*self.caveats, *caveats))
        decisions = tuple(self.decide(PodInfo(pod), said) for pod in pods)
        return self.report(command, decisions, said)

    def fork(self) -> Session:
        """A session on a fork of the snapshot: what changes there does not change this one."""
        other = copy(self)
        other.snapshot = self.snapshot.fork()
        other.cluster = other.snapshot.cluster
        return other

    def having(self, objects: Iterable[KubernetesObject]) -> Session:
        """A session whose cluster has these objects as well; those that it has already stay as they are."""
        new = [obj for obj in objects if self.cluster.get(type(obj), key_of(obj)) is None]
        if not new:
            return self
        other = self.fork()
        other.snapshot.apply(*map(Upsert, new))
        return other

    def pending_pods(self) -> list[Pod]:
        """The cluster's pending pods in queue order: highest priority first, then the oldest (`PrioritySort`)."""
        waiting = self.snapshot.pending.values()
        return [
            info.pod
            for info in sorted(waiting, key=lambda info: (-info.priority, info.pod.metadata.creation_timestamp or ""))
            if info.pod.metadata.deletion_timestamp is None
        ]

    def report(self, command: str, decisions: Sequence[Decision], caveats: Mapping[str, None]) -> Report:
        """The decisions as a report about this session's cluster."""
        return Report(
            command=command,
            scheduler=SchedulerInfo(profile=next(iter(self.profiles))),
            snapshot=SnapshotInfo(
                sources=self._sources,
                nodes=len(self.snapshot.nodes),
                pods=len(self.snapshot.pods),
                pod_disruption_budgets=(
                    None if "PodDisruptionBudget" in self.cluster.unread else len(self.cluster.all(PodDisruptionBudget))
                ),
            ),
            caveats=tuple(map(str, caveats)),  # plain text: what a caveat is about matters only until here
            decisions=tuple(decisions),
        )
