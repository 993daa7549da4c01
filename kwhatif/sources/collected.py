"""What a source brought in: objects as they were read, and what is to be said about the reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from kwhatif.admission.defaults import DEFAULT_NAMESPACE
from kwhatif.admission.load import admit
from kwhatif.errors import ClusterUnreadable, InputError, Problem
from kwhatif.model.cluster import Cluster
from kwhatif.model.missing import Missing
from kwhatif.model.node import Node
from kwhatif.report import KUBERNETES_VERSION
from kwhatif.sources.unread import unread_caveats


class LoadedCluster(msgspec.Struct, frozen=True):
    """A cluster as the API server would store it, and what is to be said about how it was read."""

    cluster: Cluster
    #: The files that were read, or the context.
    sources: list[str]
    #: `apiVersion/kind` of objects that no scheduling rule reads -> how many there were.
    skipped: Counter[str]
    #: Those about missing information are `Missing`.
    caveats: list[str]
    #: Where objects belong that name no namespace.
    namespace: str
    live: bool

    def require_complete(self) -> None:
        """What `--strict` asks for.

        Raises:
            InputError: information is missing in a dump.
            ClusterUnreadable: information is missing that a live cluster has.
        """
        missing = [str(caveat) for caveat in self.caveats if isinstance(caveat, Missing)]
        if missing and self.live:
            raise ClusterUnreadable("the cluster could not be read in full: " + "; ".join(missing))
        if missing:
            raise InputError([Problem(", ".join(self.sources), caveat) for caveat in missing])


class Collected(msgspec.Struct):
    """Objects with nothing filled in yet, and notes of the reading."""

    cluster: Cluster = msgspec.field(default_factory=Cluster)
    sources: list[str] = []
    skipped: Counter[str] = msgspec.field(default_factory=Counter)
    caveats: list[str] = []
    namespace: str = DEFAULT_NAMESPACE
    #: `1.36`; "" where it is not known.
    server_version: str = ""
    live: bool = False

    def fork(self) -> Collected:
        """The same, to be admitted without a trace here."""
        return msgspec.structs.replace(self, cluster=self.cluster.fork())

    def admitted(self) -> LoadedCluster:
        """The cluster as the API server would store it; `self.cluster` becomes that in place."""
        caveats = [
            *self.caveats,
            *_version_caveats(self.server_version),
            *unread_caveats(self.cluster.unread),
            *_no_nodes(self.cluster),
            *admit(self.cluster),
        ]
        return LoadedCluster(
            self.cluster,
            self.sources,
            self.skipped,
            caveats=caveats,
            namespace=self.namespace,
            live=self.live,
        )


def _version_caveats(version: str) -> Iterator[str]:
    if version and version != KUBERNETES_VERSION:
        yield (
            f"the cluster's API server is version {version}: judged by the rules of {KUBERNETES_VERSION}, from which"
            " its scheduler may differ"
        )


def _no_nodes(cluster: Cluster) -> Iterator[Missing]:
    if not cluster.all(Node):
        yield Missing("the input holds no Node: kube-scheduler finds no nodes available to schedule pods")
