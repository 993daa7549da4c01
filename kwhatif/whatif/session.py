"""A session: one cluster loaded, a snapshot made of it, and profiles to ask it with. Ask as often as you like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from kwhatif.catalog import default_profile
from kwhatif.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.model.caveat import Caveat, StaleSnapshot, merged
from kwhatif.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.model.originals import SessionOriginals
from kwhatif.model.pod import Pod
from kwhatif.model.policy import PodDisruptionBudget
from kwhatif.report import Decision, Report, SchedulerInfo, SnapshotInfo
from kwhatif.snapshot.pod_info import PodInfo
from kwhatif.snapshot.snapshot import Snapshot
from kwhatif.whatif.caveats import caveats_of
from kwhatif.whatif.completeness import lacking_for
from kwhatif.whatif.decide import decide, ignored
from kwhatif.whatif.nominations import keep_queued
from kwhatif.whatif.unmodelled import unmodelled_for

#: What was read longer ago than this many seconds is old.
HOUR = 3600


class Session:
    """Everything that answering needs. Questions do not change it."""

    def __init__(  # noqa: PLR0913 - all that is known about how the cluster was read
        self,
        cluster: Cluster,
        *,
        profiles: Mapping[str, Profile] | None = None,
        sources: Sequence[str] = (),
        caveats: Sequence[Caveat] = (),
        age: int | None = None,
        taken_at: str | None = None,
        namespace: str = "default",
        originals: SessionOriginals | None = None,
    ) -> None:
        self.cluster = cluster
        self.snapshot = Snapshot(cluster)
        #: Scheduler name -> profile.
        self.profiles = dict(profiles) if profiles else {DEFAULT_SCHEDULER: default_profile()}
        keep_queued(self.snapshot, self.profiles)
        #: Where manifests belong that name no namespace.
        self.namespace = namespace
        #: Where extenders are called: what pods and nodes were read from.
        self.originals = originals
        #: What is to be said about how the cluster was read.
        self.caveats = tuple(caveats)
        #: How long ago the cluster was read, in seconds, when this session was made; None: not known.
        self.age = age
        self._taken_at = taken_at
        self._sources = tuple(sources)

    def decide(self, pod: PodInfo, caveats: dict[Caveat, None]) -> Decision:
        """The decision about one pod; what it leaves out is added to `caveats` (a dict, to keep their order)."""
        name = pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER
        profile = self.profiles.get(name)
        if profile is None:
            return ignored(pod, name)
        decision, attempt = decide(profile, pod, self.snapshot)
        caveats.update(dict.fromkeys(caveats_of(attempt)))
        return decision

    def schedule(self, pods: Sequence[Pod], command: str = "schedule", caveats: Sequence[Caveat] = ()) -> Report:
        """Judge every pod on the same snapshot, each as if it were the next in the queue."""
        said = dict.fromkeys((*self.caveats, *caveats))
        decisions = tuple(self.decide(PodInfo(pod), said) for pod in pods)
        said |= dict.fromkeys((*self.left_out(self.cluster, decisions), *self.stale()))
        return self.report(command, decisions, said)

    def stale(self, limit: int = HOUR) -> Iterator[Caveat]:
        """The caveat that the cluster was read longer ago than `limit`, in seconds."""
        if self.age is not None and self._taken_at is not None and self.age > limit:
            yield StaleSnapshot(taken_at=self._taken_at, age=self.age)

    def left_out(self, cluster: Cluster, decisions: Sequence[Decision]) -> Iterator[Caveat]:
        """What the decisions depend on and this session does not know; `cluster` has what manifests bring."""
        yield from lacking_for(self.cluster, decisions)
        yield from unmodelled_for(cluster, decisions)

    @contextmanager
    def having(self, objects: Iterable[KubernetesObject]) -> Iterator[None]:
        """For the duration, the cluster has these objects as well; those that it has already stay as they are."""
        new = [obj for obj in objects if self.cluster.get(type(obj), key_of(obj)) is None]
        for obj in new:
            self.cluster.add(obj)
        try:
            yield
        finally:
            for obj in new:
                self.cluster.remove(obj)

    def pending_pods(self) -> list[Pod]:
        """The cluster's pending pods in queue order: highest priority first, then the oldest (`PrioritySort`)."""
        waiting = self.snapshot.pending.values()
        return [
            info.pod
            for info in sorted(waiting, key=lambda info: (-info.priority, info.pod.metadata.creation_timestamp or ""))
            if info.pod.metadata.deletion_timestamp is None
        ]

    def report(self, command: str, decisions: Sequence[Decision], caveats: Iterable[Caveat]) -> Report:
        """The decisions as a report about this session's cluster; `render.caveats.worded` completes it."""
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
                taken_at=self._taken_at,
            ),
            caveat_details=merged(caveats),
            decisions=tuple(decisions),
        )
