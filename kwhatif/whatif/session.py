"""A session: one cluster loaded, a snapshot made of it, and profiles to ask it with. Ask as often as you like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwhatif.catalog import default_profile
from kwhatif.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.model.cluster import Cluster
from kwhatif.model.originals import SessionOriginals
from kwhatif.model.policy import PodDisruptionBudget
from kwhatif.report import Decision, Report, SchedulerInfo, SnapshotInfo
from kwhatif.state.state import State
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

    @property
    def cluster(self) -> Cluster:
        """The objects of the snapshot."""
        return self.snapshot.cluster

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
