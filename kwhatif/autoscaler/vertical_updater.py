"""The updater of VerticalPodAutoscalers: its decision about a running pod.

(`vertical-pod-autoscaler/pkg/updater` of kubernetes/autoscaler, 1.7: `logic/updater.go`, `restriction/*.go`,
`priority/*.go`, with the flags at their defaults.) Not modelled: pods that were killed for their memory soon after they
started, which it updates at once; startup boosts; and the rate at which it evicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from kwhatif.admission.vertical_autoscaler import OFF, granted_to, recommended, update_mode
from kwhatif.kube.model.bystanders import VerticalPodAutoscaler
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import SECOND, controller_of, parse_time
from kwhatif.kube.model.pod import RESIZE_IN_PROGRESS, RESIZE_PENDING, Pod, is_ready, is_terminal, pod_condition
from kwhatif.kube.model.quantity import milli_value, parse_quantity
from kwhatif.kube.model.workload import SCALABLE, Scalable

Act = Literal["resizes", "evicts", "waits", "leaves"]
#: Reasons: the update mode; a pod without a controller; requests within the recommended bounds, if the pod is too young
#: or the target too near; too few replicas; a group of which no more pods may be disrupted; a pod that does not run
#: yet; a resize that is in progress, deferred, infeasible, or refused by the API server.
Why = Literal[
    "",
    "mode",
    "no-controller",
    "within-bounds",
    "few-replicas",
    "group",
    "pending",
    "in-progress",
    "deferred",
    "infeasible",
    "refused",
]
#: Seconds after which it evicts a pod whose resize is deferred (in progress: an hour), and between two of its rounds.
DEFERRED_FOR, ROUND = 300.0, 60.0
#: `--min-replicas`, `--eviction-tolerance`, `--pod-update-threshold`, and the lifetime threshold in seconds.
_MIN_REPLICAS, _TOLERANCE, _THRESHOLD, _LIFETIME = 2, 0.5, 0.1, 12 * 3600


_SCALED: Mapping[str, type[Scalable]] = {kind.__name__: kind for kind in SCALABLE}


class UpdaterVerdict(NamedTuple):
    """What the updater does, and why; for a group: the number of its pods, and how many are needed."""

    acts: Act
    why: Why = ""
    replicas: int = 0
    needed: int = 0


def updater_decides(pod: Pod, vpa: VerticalPodAutoscaler, cluster: Cluster, now: int) -> UpdaterVerdict:
    """The decision of the updater's next round; `now`: in nanoseconds since the epoch."""
    mode = update_mode(vpa)
    if mode in (OFF, "Initial", "InPlace"):  # InPlace needs a feature gate that is off by default
        return UpdaterVerdict("leaves", "mode")
    group = _group(pod, cluster)
    if not group:
        return UpdaterVerdict("leaves", "no-controller")
    if not _is_due(pod, vpa, cluster, now):
        return UpdaterVerdict("leaves", "within-bounds")
    stated = vpa.spec.update_policy.min_replicas
    needed = _MIN_REPLICAS if stated is None else stated
    if len(group) < needed:
        return UpdaterVerdict("waits", "few-replicas", len(group), needed)
    disruptable, running, kept = _disruptable(pod, group, cluster)
    in_place = mode == "InPlaceOrRecreate"
    if pod.status.phase == "Pending":
        return UpdaterVerdict("waits", "pending") if in_place else UpdaterVerdict("evicts", "pending")
    if not disruptable:
        return UpdaterVerdict("waits", "group", running, kept)
    under_way = _under_way(pod)
    if under_way:
        return UpdaterVerdict("waits" if under_way == "in-progress" else "evicts", under_way)
    return UpdaterVerdict("resizes") if in_place else UpdaterVerdict("evicts", "mode")


def _group(pod: Pod, cluster: Cluster) -> Sequence[Pod]:
    """The pods of the same controller that have a node; none if there is no controller."""
    owner = controller_of(pod.metadata)
    if owner is None:
        return ()
    return [
        each
        for each in cluster.all(Pod).values()
        if each.metadata.namespace == pod.metadata.namespace
        and each.spec.node_name
        and not is_terminal(each)
        and each.metadata.deletion_timestamp is None
        and (found := controller_of(each.metadata)) is not None
        and (found.kind, found.name) == (owner.kind, owner.name)
    ]


def _disruptable(pod: Pod, group: Sequence[Pod], cluster: Cluster) -> tuple[bool, int, int]:
    """Whether one more pod may be disrupted (`isPodDisruptable`), how many pods run, and how many must stay."""
    owner = controller_of(pod.metadata)
    assert owner is not None, "it has a group"
    known: Scalable | None = None
    if owner.kind in _SCALED:
        known = cluster.get(_SCALED[owner.kind], f"{pod.metadata.namespace}/{owner.name}")
    configured = len(group)
    if owner.kind == "DaemonSet":
        configured = sum(map(is_ready, group))
    elif known is not None and known.spec.replicas:
        configured = known.spec.replicas
    running = sum(each.status.phase != "Pending" for each in group)
    tolerance = int(configured * _TOLERANCE)
    kept = configured - tolerance
    return running > kept or (configured == running and tolerance == 0), running, kept


def _under_way(pod: Pod) -> Why:
    """The state of a resize that the kubelet has not finished; "" if there is none."""
    pending = pod_condition(pod, RESIZE_PENDING)
    if pending is not None and pending.status == "True":
        return "infeasible" if pending.reason == "Infeasible" else "deferred"
    going = pod_condition(pod, RESIZE_IN_PROGRESS)
    return "in-progress" if going is not None and going.status == "True" else ""


def _is_due(pod: Pod, vpa: VerticalPodAutoscaler, cluster: Cluster, now: int) -> bool:
    """Whether the pod is outside the recommended bounds, or old enough and far from the target (`AddPod`)."""
    target, low, high = (recommended(pod, vpa, cluster, bound) for bound in ("target", "lower_bound", "upper_bound"))
    totals: dict[str, list[int]] = {}
    for container in pod.spec.containers:
        row = target.get(container.name)
        requests, _ = granted_to(container, pod)
        for name, text in () if row is None else row.requests.items():
            request = requests.get(name)
            if request is None:
                return True
            for bounds, sign in ((low, -1), (high, 1)):
                bound = bounds[container.name].requests.get(name) if container.name in bounds else None
                if bound is not None and (request - parse_quantity(bound)) * sign > 0:
                    return True
            total = totals.setdefault(name, [0, 0])
            total[0] += milli_value(request)
            total[1] += milli_value(parse_quantity(text))
    started = pod.status.start_time
    if started is None or now < parse_time(started) + _LIFETIME * SECOND:
        return False
    return sum(abs(request - wanted) / max(request, 1) for request, wanted in totals.values()) >= _THRESHOLD
