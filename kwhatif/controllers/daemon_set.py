"""DaemonSets (`pkg/controller/daemon/daemon_controller.go`): a pod on every eligible node.

A pod is replaced when it has finished, before it is gone; with `maxSurge`, as soon as it is terminating. Rolling
updates are in `workloads.daemon_set`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.controllers.contract import NOTHING, BackingOff, Create, DeletePod, SyncResult, View, Write, earliest
from kwhatif.controllers.pods import (
    is_available,
    keys_of,
    next_available,
    next_named,
    owners_of_changed,
    revision_label,
    revisions_of,
)
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.meta import created_at
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, PodTemplateSpec, is_ready, is_terminal
from kwhatif.kube.model.workload import DaemonSet
from kwhatif.workloads.daemon_set import (
    DaemonPodsOnNode,
    bounds_of,
    daemon_pod,
    node_of,
    pinned,
    rolling_update,
    selects_all,
    tolerable_nodes,
)
from kwhatif.workloads.names import hash_of
from kwhatif.workloads.removal import active
from kwhatif.workloads.stateful_set import REVISION_LABEL
from kwhatif.workloads.template import content_of

#: The maximum number of pods that one sync creates, and that it deletes.
_BURST = 250
_FIRST_BACKOFF, _LONGEST_BACKOFF = 1.0, 15 * 60.0
_NODES = "nodes"
_ON_DELETE = "OnDelete"


class DaemonSets(BackingOff):
    """The controller."""

    name = "DaemonSet"
    watches = (DaemonSet, Pod, Node)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`. Changes of labels and taints of nodes matter; a deleted node is seen at the next sync."""
        match before or after:
            case DaemonSet():
                if isinstance(before, DaemonSet) and after is not None:
                    newest_revision(before, view)
                return keys_of(after, kind=DaemonSet)
            case Pod():
                return owners_of_changed(before, after, self.name)
            case Node() if isinstance(after, Node) and (
                not isinstance(before, Node)
                or (before.metadata.labels, before.spec.taints) != (after.metadata.labels, after.spec.taints)
            ):
                return list(view.state.cluster.all(DaemonSet))
        return ()

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller` (`syncDaemonSet`)."""
        daemon_set = view.state.cluster.get(DaemonSet, key)
        if daemon_set is None or daemon_set.metadata.deletion_timestamp is not None:
            return NOTHING
        if selects_all(daemon_set):
            return NOTHING
        return self.synced(key, _Sync(daemon_set, key, view).outcome(), view)


def newest_revision(daemon_set: DaemonSet, view: View) -> str:
    """The revision label of its newest pods."""
    template = daemon_set.spec.template or PodTemplateSpec()
    return revisions_of(daemon_set, view, "", lambda: hash_of(content_of(template)))[-1].name


def nodes_of(daemon_set: DaemonSet, view: View) -> Mapping[str, bool]:
    """Names of nodes where pods may stay -> whether one should run there.

    This is cached until a node or the template changes.
    """
    cluster, memory = view.state.cluster, view.memory("DaemonSet", key_of(daemon_set))
    generation, template = cluster.generation(Node), daemon_set.spec.template
    known: tuple[int, object, dict[str, bool]] | None = memory.get(_NODES)
    if known is None or known[0] != generation or known[1] is not template:
        known = memory[_NODES] = (generation, template, tolerable_nodes(daemon_set, cluster))
    return known[2]


class _Sync:
    """One sync of one DaemonSet."""

    def __init__(self, daemon_set: DaemonSet, key: str, view: View) -> None:
        self._set, self._view = daemon_set, view
        self._memory = view.memory("DaemonSet", key)
        self._revision = newest_revision(daemon_set, view)
        self._should_run = nodes_of(daemon_set, view)
        self._pods: dict[str, list[Pod]] = {}
        for pod in view.pods_of(daemon_set):
            if not is_terminal(pod) or pod.metadata.deletion_timestamp is None:
                self._pods.setdefault(node_of(pod), []).append(pod)
        self._surges = bounds_of(daemon_set.spec.update_strategy, 1).surge > 0
        self._create: list[str] = []
        self._delete: list[Write] = []
        self._again: list[float] = []

    def outcome(self) -> SyncResult:
        """Create missing and delete surplus pods; if there are none, continue the rolling update."""
        self._manage()
        if not self._create and not self._delete and self._set.spec.update_strategy.type != _ON_DELETE:
            self._roll()
        everything = (pod for pods in self._pods.values() for pod in pods)
        available = next_available(everything, self._set.spec.min_ready_seconds, self._view)
        # A rejected pod ends the sync; upstream deletes pods nevertheless, so deletions come first.
        writes = (*self._delete[:_BURST], *map(Create, self._new_pods(self._create[:_BURST])))
        return SyncResult(writes, earliest(available, *self._again))

    def _manage(self) -> None:
        """`podsShouldBeOnNode` for every node."""
        for node, should_run in self._should_run.items():
            pods = self._pods.get(node)
            if pods is not None:
                self._keep(node, pods, should_run=should_run)
            elif should_run:
                self._create.append(node)
        nodes = self._view.state.cluster.all(Node)
        for node, pods in sorted(self._pods.items()):
            if node in self._should_run:
                continue
            for pod in pods:
                is_left = pod.metadata.deletion_timestamp is None if node in nodes else not pod.spec.node_name
                if is_left:
                    self._delete.append(DeletePod(key_of(pod), "ScaledDown"))

    def _keep(self, node: str, pods: Sequence[Pod], *, should_run: bool) -> None:
        running = active(pods)
        for pod in pods:
            if pod.metadata.deletion_timestamp is None and is_terminal(pod):
                self._delete_ended(node, pod)
        running.sort(key=_oldest_scheduled)
        if not self._surges:
            self._delete += [DeletePod(key_of(pod), "ScaledDown") for pod in running[1:]]
        elif not running and should_run:
            self._create.append(node)
        elif len(running) > 1:
            self._delete += self._doubled(running)

    def _delete_ended(self, node: str, pod: Pod) -> None:
        """Delete a failed pod, later each time: `failedPodsBackoff`, a `flowcontrol.Backoff`."""
        if pod.status.phase == "Failed":
            name, now = f"failed on {node}", self._view.now
            revision, seconds, since = self._memory.get(name, (self._revision, 0.0, now))
            if revision != self._revision or now - since > 2 * _LONGEST_BACKOFF:
                seconds = 0.0
            if seconds and now - since < seconds:
                # QUIRK: the full delay again, not the rest of it.
                self._again.append(now + seconds)
                return
            seconds = min(_LONGEST_BACKOFF, 2 * seconds) if seconds else _FIRST_BACKOFF
            self._memory[name] = (self._revision, seconds, now)
        self._delete.append(DeletePod(key_of(pod), "Completed"))

    def _doubled(self, running: Sequence[Pod]) -> Iterator[Write]:
        """A new pod may run beside an old one until it is available, or the old one is no longer ready."""
        new = [pod for pod in running if self._is_updated(pod)]
        old = [pod for pod in running if not self._is_updated(pod)]
        for pod in (*new[1:], *old[1:]):
            yield DeletePod(key_of(pod), "ScaledDown")
        if new and old and (not is_ready(old[0]) or self._is_available(new[0])):
            yield DeletePod(key_of(old[0]), "RolledOut")

    def _roll(self) -> None:
        nodes = {
            node: DaemonPodsOnNode.of(
                [
                    (key_of(pod), self._is_updated(pod), self._is_available(pod))
                    for pod in pods
                    if pod.metadata.deletion_timestamp is None
                ],
                should_run=self._should_run.get(node, False),
            )
            for node, pods in sorted(self._pods.items())
        }
        wanted = sum(self._should_run.values())
        moves = rolling_update(nodes, self._set.spec.update_strategy, wanted)
        self._create += moves.create
        self._delete += [DeletePod(key, "RolledOut") for key in moves.delete]

    def _is_updated(self, pod: Pod) -> bool:
        return revision_label(pod) == self._revision

    def _is_available(self, pod: Pod) -> bool:
        return is_available(pod, self._set.spec.min_ready_seconds, self._view)

    def _new_pods(self, nodes: Sequence[str]) -> Iterator[Pod]:
        if not nodes:
            return
        pod = daemon_pod(self._set, self._view.state.cluster)
        labels = {**pod.metadata.labels, REVISION_LABEL: self._revision}
        pod = replace(pod, metadata=replace(pod.metadata, labels=labels))
        fresh = next_named(pod, len(nodes), self._memory, self._view)
        yield from map(pinned, fresh, nodes)


def _oldest_scheduled(pod: Pod) -> tuple[bool, int, str]:
    """Sort key for pods of one node: the first one is kept (`podByCreationTimestampAndPhase`)."""
    return not pod.spec.node_name, created_at(pod.metadata), pod.metadata.name


CONTROLLERS = (DaemonSets(),)
