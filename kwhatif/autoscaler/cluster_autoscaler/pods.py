"""Pods as the Cluster Autoscaler sees them: the kind of each, which are equivalent, and which nodes are added for.

(`core/podlistprocessor/`.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.autoscaler.cluster_autoscaler.flags import Flags
from kwhatif.autoscaler.cluster_autoscaler.nodes import is_being_deleted
from kwhatif.autoscaler.cluster_autoscaler.snapshot import Snapshot, shape_of
from kwhatif.kube.model.go_sort import go_sort
from kwhatif.kube.model.meta import SECOND, controller_of, created_at, parse_time
from kwhatif.kube.model.pod import Pod, is_daemon_pod, is_unschedulable, pod_condition
from kwhatif.kube.model.pod_spec import Container
from kwhatif.kube.model.quantity import parse_duration
from kwhatif.kube.model.storage import CSINode
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.state.change import Change, Delete, Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: Seconds after its grace period after which a deleted pod counts as gone (`PodLongTerminatingExtraThreshold`).
_EXTRA_SECONDS = 30
#: The most equivalence groups of one controller (`maxEquivalenceGroupsByController`).
_MOST_KINDS = 10


def is_daemon(pod: Pod) -> bool:
    """Whether it is, or counts as, a pod of a DaemonSet (`IsDaemonSetPod` in `utils/pod/pod.go`)."""
    return is_daemon_pod(pod) or pod.metadata.annotations.counts_as_daemon == "true"


def is_mirror(pod: Pod) -> bool:
    """Whether it is the mirror of a static pod (`IsMirrorPod`)."""
    return pod.metadata.annotations.mirror is not None


def is_recreatable(pod: Pod) -> bool:
    """Whether a controller replaces it elsewhere (`FilterRecreatablePods`)."""
    source = pod.metadata.annotations.config_source
    is_from_file = source is not None and source != "api"
    return not (is_from_file or is_mirror(pod) or is_daemon(pod))


def is_unprocessed(pod: Pod) -> bool:
    """Whether no scheduler has tried it, as far as its status shows."""
    condition = pod_condition(pod, "PodScheduled")
    return condition is None or (condition.status == "False" and not condition.reason)


def is_expendable(pod: Pod, cutoff: int) -> bool:
    """Whether nodes are neither added nor kept for it (`FilterOutExpendablePods`)."""
    return pod.spec.priority is not None and pod.spec.priority < cutoff


def is_long_terminating(pod: Pod, now: int) -> bool:
    """Whether it should be gone by now (`IsPodLongTerminating`); `now` in nanoseconds."""
    if pod.metadata.deletion_timestamp is None:
        return False
    seconds = pod.spec.termination_grace_period_seconds + _EXTRA_SECONDS
    return parse_time(pod.metadata.deletion_timestamp) + seconds * SECOND < now


def is_young(pod: Pod, delay: int, now: int) -> bool:
    """Whether it is too early to add nodes for it (`filterOutYoungPods`); `delay` is that of all pods."""
    if pod.metadata.creation_timestamp is None:
        return False
    own = _delay(pod.metadata.annotations.scale_up_delay)
    return now - parse_time(pod.metadata.creation_timestamp) <= max(own, delay)


def _delay(text: str) -> int:
    try:
        return parse_duration(text) if text else 0
    except ValueError:
        return 0


class Equivalence:
    """Numbers groups of equivalent pods: of one controller, with equal labels and specs; up to a limit."""

    def __init__(self) -> None:
        self._known: dict[str, dict[bytes, int]] = {}
        self._next = 0
        self._shape = cache(lambda info: shape_of(info.pod))

    def number(self, info: PodInfo) -> int:
        """The number of the pod's group; a new one if it is equivalent to no other."""
        owner = controller_of(info.pod.metadata)
        if owner is None or is_daemon(info.pod):
            return self._new()
        known = self._known.setdefault(owner.uid, {})
        shape = self._shape(info)
        if shape in known:
            return known[shape]
        number = self._new()
        if len(known) < _MOST_KINDS:
            known[shape] = number
        return number

    def _new(self) -> int:
        self._next += 1
        return self._next


def equivalent(pods: Iterable[PodInfo]) -> Sequence[Sequence[PodInfo]]:
    """The pods in equivalence groups, in the given order (`BuildPodGroups`)."""
    equivalence, groups = Equivalence(), dict[int, list[PodInfo]]()
    for pod in pods:
        groups.setdefault(equivalence.number(pod), []).append(pod)
    return list(groups.values())


_TPU = "cloud-tpus.google.com/"
#: Suffix of the name of the copy that is tried for a pod that must leave its node.
_MOVED = " (drained)"


class UnschedulablePods(NamedTuple):
    """The pods to help, the highest priority first, and those that fit on existing nodes (`namespace/name` -> node)."""

    pods: Sequence[PodInfo]
    fitting: Mapping[str, str]
    #: Pods that have not waited for long enough.
    young: Sequence[PodInfo]


def snapshot_of(state: State, profile: Profile, flags: Flags, *, expendable: bool = False) -> Snapshot:
    """The cluster without pods that do not count; nominated pods are on their nodes.

    Expendable pods on nodes count with `expendable`. Volume limits of drivers are not known to the autoscaler unless
    `enable-csi-node-aware-scheduling` is given.
    """
    state = state.fork()
    changes: list[Change] = []
    for key, info in state.pods.items():
        pod = info.pod
        if not (pod.spec.node_name or pod.status.nominated_node_name):
            continue
        is_gone = is_expendable(pod, flags.expendable_pods_priority_cutoff) and not expendable
        if is_gone or not _is_allowed(pod, flags):
            changes.append(Delete(Pod, key))
        elif not pod.spec.node_name and pod.metadata.deletion_timestamp is None:
            changes.append(Upsert(replace(pod, spec=replace(pod.spec, node_name=pod.status.nominated_node_name))))
    if not flags.enable_csi_node_aware_scheduling:
        changes += (Delete(CSINode, name) for name in state.cluster.all(CSINode))
    state.apply(*changes)
    return Snapshot(state, profile)


def _is_allowed(pod: Pod, flags: Flags) -> bool:
    names = flags.allowed_scheduler_names
    return not names or pod.spec.scheduler_name in names


def pods_to_help(snapshot: Snapshot, state: State, flags: Flags, now: int) -> UnschedulablePods:
    """The pending pods to help; pods that fit on existing nodes are placed there.

    Args:
        snapshot: the cluster with all upcoming nodes.
        state: the cluster as it is.
        flags: the autoscaler's.
        now: nanoseconds since the epoch.
    """
    waiting = [info for info in state.pending.values() if _counts(info.pod, flags)]
    waiting = [_without_tpus(info) for info in sorted(waiting, key=_age)]
    waiting = [info for info in waiting if not is_expendable(info.pod, flags.expendable_pods_priority_cutoff)]
    waiting += _drained(state, now)
    go_sort(waiting, lambda one, other: one.priority > other.priority)
    fitting = _fitting(snapshot, waiting)
    left = [info for info in waiting if info.key not in fitting and not is_daemon(info.pod)]
    young = [info for info in left if is_young(info.pod, flags.new_pod_scale_up_delay, now)]
    keys = {info.key for info in young}
    return UnschedulablePods([info for info in left if info.key not in keys], fitting, young)


def _counts(pod: Pod, flags: Flags) -> bool:
    if pod.metadata.deletion_timestamp is not None or pod.status.nominated_node_name or not _is_allowed(pod, flags):
        return False
    is_bypassed = pod.spec.scheduler_name in flags.bypassed_scheduler_names
    return is_unschedulable(pod) or (is_bypassed and is_unprocessed(pod))


def _age(info: PodInfo) -> tuple[int, str]:
    """Upstream's order is random: here the oldest comes first."""
    return created_at(info.pod.metadata), info.key


def _drained(state: State, now: int) -> Iterator[PodInfo]:
    """Pods that have to leave nodes that are being deleted (`currently_drained_nodes.go`), under other names."""
    for name in sorted(state.by_name):
        if not is_being_deleted(state.by_name[name].node, now):
            continue
        for info in state.by_name[name].pods:
            pod = info.pod
            if pod.metadata.deletion_timestamp is None and is_recreatable(pod):
                meta = replace(pod.metadata, name=pod.metadata.name + _MOVED, uid="")
                yield PodInfo(
                    replace(pod, metadata=meta, spec=replace(pod.spec, node_name="")), state.cluster.facts.resizes
                )


def shown(pod: PodInfo) -> str:
    """The pod's name in the cluster, `namespace/name`."""
    return pod.key.removesuffix(_MOVED)


def _without_tpus(info: PodInfo) -> PodInfo:
    """The pod without requests for TPUs, which nodes of Google's cloud do not list (`ClearTPURequests`)."""
    spec = info.pod.spec
    every = (*spec.containers, *spec.init_containers)
    if not any(name.startswith(_TPU) for each in every for name in each.resources.requests):
        return info
    cleared = replace(spec, containers=_cleared(spec.containers), init_containers=_cleared(spec.init_containers))
    return PodInfo(replace(info.pod, spec=cleared))


def _cleared(containers: Iterable[Container]) -> tuple[Container, ...]:
    return tuple(
        replace(
            each,
            resources=replace(
                each.resources,
                requests={name: value for name, value in each.resources.requests.items() if not name.startswith(_TPU)},
                limits={name: value for name, value in each.resources.limits.items() if not name.startswith(_TPU)},
            ),
        )
        for each in containers
    )


def _fitting(snapshot: Snapshot, pods: Iterable[PodInfo]) -> Mapping[str, str]:
    """Put the pods on existing nodes, in order (`filterOutSchedulableByPacking`).

    A pod that is equivalent to one that did not fit is not tried.
    """
    found: dict[str, str] = {}
    equivalence, hopeless = Equivalence(), set[int]()
    for pod in pods:
        number = equivalence.number(pod)
        if number in hopeless:
            continue
        node = snapshot.schedule_anywhere(pod)
        if node:
            found[pod.key] = node
        else:
            hopeless.add(number)
    return found
