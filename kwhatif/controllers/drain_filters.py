"""The pod filters of `kubectl drain` (`k8s.io/kubectl/pkg/drain/filters.go`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kwhatif.controllers.contract import View
from kwhatif.controllers.pods import pods_assigned_to
from kwhatif.kube.matching.labels import parse_selector
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.workload import DaemonSet

DAEMON_SET = "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
DAEMON_SET_STAYS = "ignoring DaemonSet-managed Pods"
LOCAL_STORAGE = "Pods with local storage (use --delete-emptydir-data to override)"
NO_CONTROLLER = "Pods that declare no controller (use --force to override)"
NO_CONTROLLER_GOES = "deleting Pods that declare no controller"
#: Error -> the flag that avoids it.
FLAGS: Mapping[str, str] = {
    DAEMON_SET: "--ignore-daemonsets",
    LOCAL_STORAGE: "--delete-emptydir-data",
    NO_CONTROLLER: "--force",
}


class DrainOptions(msgspec.Struct, frozen=True, tag="drain"):
    """The flags of `kubectl drain` that are modelled, with its names and defaults."""

    ignore_daemonsets: bool = False
    delete_emptydir_data: bool = False
    force: bool = False
    disable_eviction: bool = False
    #: Seconds; negative: each pod's own grace period.
    grace_period: int = -1
    #: Seconds per node; 0: no timeout.
    timeout: float = 0.0
    #: Seconds; 0: no pod is skipped.
    skip_wait_for_delete_timeout: int = 0
    #: In kubectl's notation; "": all pods.
    pod_selector: str = ""
    #: How many nodes are drained in parallel; kubectl drains one at a time.
    parallel: int = 1

    @property
    def grace_seconds(self) -> float | None:
        """The grace period of all pods; None: each has its own."""
        return None if self.grace_period < 0 else float(self.grace_period)


#: `--ignore-daemonsets` and similar flags, without which hardly any node can be drained; budgets are honoured.
WITH_FLAGS = DrainOptions(ignore_daemonsets=True, delete_emptydir_data=True, force=True)


class PodDeleteStatus(NamedTuple):
    """The result of a filter for one pod."""

    goes: bool
    warning: str = ""
    #: Stops the drain of the whole node.
    error: str = ""


_GOES, _STAYS = PodDeleteStatus(goes=True), PodDeleteStatus(goes=False)


class PodDeleteList(NamedTuple):
    """The pods of a node, by namespace and name, with the results of the filters."""

    pods: Sequence[tuple[Pod, PodDeleteStatus]]

    @property
    def going(self) -> list[Pod]:
        """The pods that are evicted."""
        return [pod for pod, verdict in self.pods if verdict.goes]

    @property
    def errors(self) -> list[str]:
        """The error messages of kubectl, one for each kind of error; if there is one, no pod is evicted."""
        groups = self._grouped(lambda verdict: verdict.error)
        return [f"cannot delete {message}: {', '.join(keys)}" for message, keys in groups.items()]

    @property
    def warnings(self) -> str:
        """All warnings in one line, as kubectl prints them; kubectl's order is random, here it is that of the pods."""
        groups = self._grouped(lambda verdict: verdict.warning)
        return "; ".join(f"{message}: {', '.join(keys)}" for message, keys in groups.items())

    def _grouped(self, message: Callable[[PodDeleteStatus], str]) -> Mapping[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for pod, verdict in self.pods:
            if message(verdict):
                groups.setdefault(message(verdict), []).append(key_of(pod))
        return groups


def list_pods(node: str, options: DrainOptions, view: View) -> PodDeleteList:
    """The pods of the node that match the selector, with the results of the filters (`GetPodsForDeletion`)."""
    pods = view.state.cluster.all(Pod)
    found = (pods[key] for key in pods_assigned_to(node, view.state))
    selector = parse_selector(options.pod_selector)
    selected = [pod for pod in found if selector.matches(pod.metadata.labels)]
    return PodDeleteList([(pod, _delete_status(pod, options, view)) for pod in selected])


def is_left_out(pod: Pod, options: DrainOptions, view: View) -> bool:
    """Whether its deletion is overdue by more than `--skip-wait-for-delete-timeout` (`shouldSkipPod`)."""
    end, limit = pod.metadata.deletion_timestamp, options.skip_wait_for_delete_timeout
    return limit > 0 and end is not None and int(view.now - view.at(end)) > limit


def _delete_status(pod: Pod, options: DrainOptions, view: View) -> PodDeleteStatus:
    """The result of the first filter that does not delete the pod, in upstream's order; otherwise that of the last one.

    QUIRK: (makeFilters) warnings of filters before the last one are lost, such as `deleting Pods with local storage`.
    """
    if is_left_out(pod, options, view):
        return _STAYS
    of_daemon_set = _of_daemon_set(pod, options, view)
    if not of_daemon_set.goes:
        return of_daemon_set
    if pod.metadata.annotations.mirror is not None:
        return _STAYS
    if is_terminal(pod):
        return _GOES
    if has_local_storage(pod) and not options.delete_emptydir_data:
        return PodDeleteStatus(goes=False, error=LOCAL_STORAGE)
    if controller_of(pod.metadata) is not None:
        return _GOES
    if not options.force:
        return PodDeleteStatus(goes=False, error=NO_CONTROLLER)
    return PodDeleteStatus(goes=True, warning=NO_CONTROLLER_GOES)


def _of_daemon_set(pod: Pod, options: DrainOptions, view: View) -> PodDeleteStatus:
    owner = controller_of(pod.metadata)
    if owner is None or (owner.kind, owner.api_version) != ("DaemonSet", "apps/v1") or is_terminal(pod):
        return _GOES
    if view.state.cluster.get(DaemonSet, f"{pod.metadata.namespace}/{owner.name}") is None:
        return (
            _GOES if options.force else PodDeleteStatus(goes=False, error=f'daemonsets.apps "{owner.name}" not found')
        )
    if not options.ignore_daemonsets:
        return PodDeleteStatus(goes=False, error=DAEMON_SET)
    return PodDeleteStatus(goes=False, warning=DAEMON_SET_STAYS)


def has_local_storage(pod: Pod) -> bool:
    """Whether it has an `emptyDir`, of any medium; a `hostPath` does not count."""
    return any(volume.empty_dir is not None for volume in pod.spec.volumes)
