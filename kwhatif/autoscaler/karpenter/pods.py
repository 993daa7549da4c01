"""Pods as Karpenter sees them (`pkg/utils/pod/scheduling.go`, `scheduling/preferences.go`, `pkg/utils/pdb/pdb.go`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from kwhatif.autoscaler.karpenter.amounts import Amounts, requests_of
from kwhatif.autoscaler.karpenter.requirements import Refusal, Requirements, pod_requirements
from kwhatif.kube.matching.budgets import Names, budget_index
from kwhatif.kube.matching.labels import NOTHING, Selector, SelectorError, compile_selector
from kwhatif.kube.matching.nodes import ANY_IP, NO_SCHEDULE, PREFER_NO_SCHEDULE, HostPort, tolerates
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.go_sort import go_sort
from kwhatif.kube.model.meta import LabelSelector, parse_time
from kwhatif.kube.model.node import Taint
from kwhatif.kube.model.pod import Pod, is_terminal, pod_condition
from kwhatif.kube.model.pod_spec import Affinity, PodAffinity, Toleration
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.quantity import parse_duration

T = TypeVar("T")

DISRUPTED = Taint(key="karpenter.sh/disrupted", effect=NO_SCHEDULE)
_TOLERATE_PREFERENCES = Toleration(operator="Exists", effect=PREFER_NO_SCHEDULE)
_ALWAYS_ALLOW = "AlwaysAllow"


def is_owned_by(pod: Pod, api_version: str, kind: str) -> bool:
    """Whether any owner is of that kind."""
    return any(owner.kind == kind and owner.api_version == api_version for owner in pod.metadata.owner_references)


def is_daemon(pod: Pod) -> bool:
    """Whether a DaemonSet owns it."""
    return is_owned_by(pod, "apps/v1", "DaemonSet")


def is_mirror(pod: Pod) -> bool:
    """Whether its node owns it."""
    return is_owned_by(pod, "v1", "Node")


def is_terminating(pod: Pod) -> bool:
    """Whether it is being deleted."""
    return pod.metadata.deletion_timestamp is not None


def is_active(pod: Pod) -> bool:
    """Neither finished nor being deleted."""
    return not is_terminal(pod) and not is_terminating(pod)


def is_provisionable(pod: Pod) -> bool:
    """Whether nodes are created for it: it is unschedulable, and does not evict others (`IsProvisionable`)."""
    scheduled = pod_condition(pod, "PodScheduled")
    return (
        scheduled is not None
        and scheduled.reason == "Unschedulable"
        and not pod.spec.node_name
        and not pod.status.nominated_node_name
        and not is_daemon(pod)
        and not is_mirror(pod)
    )


def is_reschedulable(pod: Pod) -> bool:
    """Whether it is recreated when its node is removed: also a StatefulSet's pod that is being deleted."""
    comes_back = is_active(pod) or (is_terminating(pod) and is_owned_by(pod, "apps/v1", "StatefulSet"))
    return comes_back and not is_daemon(pod) and not is_mirror(pod)


def is_protected(pod: Pod, now: int) -> bool:
    """Whether `karpenter.sh/do-not-disrupt` holds at that moment, in nanoseconds (`IsDoNotDisruptActive`).

    A duration counts from the start of the pod; one that cannot be read protects nothing.
    """
    text = pod.metadata.annotations.do_not_disrupt
    if not text or text == "true":
        return text == "true"
    try:
        duration = parse_duration(text)
    except ValueError:
        return False
    if duration <= 0:
        return False
    return pod.status.start_time is None or now - parse_time(pod.status.start_time) < duration


def is_disruptable(pod: Pod, now: int) -> bool:
    """Whether the pod itself lets its node go."""
    return not is_active(pod) or not is_protected(pod, now)


def is_evictable(pod: Pod, now: int) -> bool:
    """Whether Karpenter would evict it at all (`IsEvictable`)."""
    return (
        is_active(pod)
        and taints_objection((DISRUPTED,), pod.spec.tolerations) is not None
        and not is_mirror(pod)
        and not is_protected(pod, now)
    )


def uses_claims(pod: Pod) -> bool:
    """Whether it asks for devices (`HasDRARequirements`)."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    return bool(pod.spec.resource_claims) or any(container.resources.claims for container in containers)


# --- taints and ports ----------------------------------------------------------------------------------------------


def taints_objection(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> Refusal | None:
    """The taints of any effect that are not tolerated; None if all are tolerated (`Tolerates`)."""
    if not taints:
        return None
    left = [taint for taint in taints if not any(tolerates(each, taint, compares=True) for each in tolerations)]
    return Refusal(lambda: "; ".join(_untolerated(taint) for taint in left)) if left else None


def _untolerated(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"did not tolerate taint (taint={taint.key}{value}:{taint.effect})"


def container_ports(pod: Pod) -> tuple[HostPort, ...]:
    """The host ports that Karpenter counts: those of containers, without sidecars (`GetHostPorts`)."""
    return tuple(
        HostPort(ANY_IP if port.host_ip in ("", "::") else port.host_ip, port.protocol or "TCP", port.host_port)
        for container in pod.spec.containers
        for port in container.ports
        if port.host_port
    )


# --- preferences ---------------------------------------------------------------------------------------------------


def sorted_preferences(pod: Pod) -> Pod:
    """The pod with its preferred node affinity, the heaviest first (`newPodRequirements` sorts it within the pod)."""
    affinity = pod.spec.affinity
    node = affinity and affinity.node_affinity
    if not affinity or not node or not node.preferred:
        return pod
    terms = list(node.preferred)
    go_sort(terms, lambda one, other: one.weight > other.weight)
    return _with_affinity(pod, replace(affinity, node_affinity=replace(node, preferred=tuple(terms))))


def relaxed(pod: Pod, *, tolerate_preferences: bool) -> Pod | None:
    """The pod without its next preference; None: it has none left (`Preferences.Relax`).

    `tolerate_preferences`: at last it tolerates taints that only ask (PreferNoSchedule), as a NodePool has some.
    """
    steps: tuple[Callable[[Pod], Pod | None], ...] = (
        without_first_term,
        _without_preferred_affinity,
        _without_preferred_anti_affinity,
        _without_preferred_node,
        _without_soft_spread,
    )
    if tolerate_preferences:
        steps += (tolerating_preferences,)
    return next(filter(None, (step(pod) for step in steps)), None)


def without_first_term(pod: Pod) -> Pod | None:
    """The pod without the first of its required node affinity terms; None if it has only one."""
    affinity = pod.spec.affinity
    node = affinity and affinity.node_affinity
    required = node and node.required
    if not affinity or not node or not required or len(required.node_selector_terms) <= 1:
        return None
    rest = replace(required, node_selector_terms=required.node_selector_terms[1:])
    return _with_affinity(pod, replace(affinity, node_affinity=replace(node, required=rest)))


def _without_preferred_node(pod: Pod) -> Pod | None:
    affinity = pod.spec.affinity
    node = affinity and affinity.node_affinity
    if not affinity or not node or not node.preferred:
        return None
    rest = _without_heaviest(node.preferred, lambda term: term.weight)
    return _with_affinity(pod, replace(affinity, node_affinity=replace(node, preferred=rest)))


def _without_preferred_affinity(pod: Pod) -> Pod | None:
    affinity = pod.spec.affinity
    rest = _without_preferred(affinity.pod_affinity) if affinity else None
    return _with_affinity(pod, replace(affinity, pod_affinity=rest)) if affinity and rest else None


def _without_preferred_anti_affinity(pod: Pod) -> Pod | None:
    affinity = pod.spec.affinity
    rest = _without_preferred(affinity.pod_anti_affinity) if affinity else None
    return _with_affinity(pod, replace(affinity, pod_anti_affinity=rest)) if affinity and rest else None


def _without_preferred(part: PodAffinity | None) -> PodAffinity | None:
    if part is None or not part.preferred:
        return None
    return replace(part, preferred=_without_heaviest(part.preferred, lambda term: term.weight))


def _without_heaviest(terms: Iterable[T], weight: Callable[[T], int]) -> tuple[T, ...]:
    return tuple(sorted(terms, key=weight, reverse=True)[1:])


def _without_soft_spread(pod: Pod) -> Pod | None:
    """Without the first soft constraint; the last one takes its place."""
    constraints = list(pod.spec.topology_spread_constraints)
    for index, each in enumerate(constraints):
        if each.when_unsatisfiable == "ScheduleAnyway":
            constraints[index] = constraints[-1]
            spec = replace(pod.spec, topology_spread_constraints=tuple(constraints[:-1]))
            return replace(pod, spec=spec)
    return None


def tolerating_preferences(pod: Pod) -> Pod | None:
    """The pod so that it tolerates every PreferNoSchedule; None: it does already."""
    tolerations = pod.spec.tolerations
    if any(
        (each.key, each.operator, each.value, each.effect) == ("", "Exists", "", PREFER_NO_SCHEDULE)
        for each in tolerations
    ):
        return None
    return replace(pod, spec=replace(pod.spec, tolerations=(*tolerations, _TOLERATE_PREFERENCES)))


def _with_affinity(pod: Pod, affinity: Affinity) -> Pod:
    return replace(pod, spec=replace(pod.spec, affinity=affinity))


# --- budgets -------------------------------------------------------------------------------------------------------


class PdbLimits:
    """The PodDisruptionBudgets of a cluster (`pdb.Limits`)."""

    def __init__(self, cluster: Cluster) -> None:
        self._index = budget_index(cluster)
        self._budgets = dict(cluster.all(PodDisruptionBudget))

    def blocking(self, pod: Pod, now: int, *, fully: bool = False) -> Names | None:
        """The budgets that prevent the pod's eviction now, or with `fully` at any time; None if none does."""
        found = self._index.of(pod.metadata.namespace, pod.metadata.labels)
        if not found or not is_evictable(pod, now):
            return None
        if len(found) > 1:
            return found
        budget = self._budgets[found[0]]
        spec, status = budget.spec, budget.status
        if spec.unhealthy_pod_eviction_policy == _ALWAYS_ALLOW and any(
            row.type == "Ready" and row.status == "False" for row in pod.status.conditions
        ):
            return None
        if fully:
            blocks = spec.max_unavailable in (0, "0%") or spec.min_available == "100%"
        else:
            blocks = status is None or status.disruptions_allowed == 0
        return found if blocks else None

    def reschedules(self, pod: Pod, now: int) -> bool:
        """Whether the pod can be expected to move now (`IsCurrentlyReschedulable`)."""
        return is_reschedulable(pod) and is_disruptable(pod, now) and self.blocking(pod, now, fully=True) is None


def selector_or_nothing(selector: LabelSelector | None) -> Selector:
    """The selector, compiled; a missing or invalid one selects nothing."""
    try:
        return compile_selector(selector)
    except SelectorError:
        return NOTHING


# --- compiled pods -----------------------------------------------------------------------------------


class PodData:
    """The requests and constraints of a pod, compiled (`PodData`)."""

    __slots__ = (
        "alternatives",
        "devices",
        "driver_claims",
        "ignores_preferences",
        "is_lost",
        "key",
        "labels",
        "namespace",
        "pod",
        "ports",
        "requests",
        "requirements",
        "size",
        "strict",
        "tolerations",
        "uid",
    )

    def __init__(
        self, pod: Pod, uid: str, alternatives: Sequence[Requirements] | None, *, ignores_preferences: bool = False
    ) -> None:
        #: With its preferences sorted.
        self.pod = sorted_preferences(pod)
        self.uid = uid
        self.key = key_of(pod)
        self.namespace, self.labels = pod.metadata.namespace, pod.metadata.labels
        self.tolerations = pod.spec.tolerations
        self.requests: Amounts = requests_of(pod)
        #: Pods of the same requests fit on the same nodes.
        self.size = tuple(sorted(self.requests.items()))
        self.ports = container_ports(pod)
        self.devices = uses_claims(pod)
        #: Where its volumes can be reached: one of these has to hold; none: anywhere.
        self.alternatives = alternatives or ()
        #: Something of its volumes does not exist. QUIRK: then they bind it to nothing, and topology overlooks the pod.
        self.is_lost = alternatives is None
        self.ignores_preferences = ignores_preferences
        self.requirements = pod_requirements(self.pod, strict=ignores_preferences)
        node = pod.spec.affinity and pod.spec.affinity.node_affinity
        self.strict = pod_requirements(self.pod, strict=True) if node and node.preferred else self.requirements

    def with_pod(self, pod: Pod) -> PodData:
        """The same pod with fewer preferences."""
        alternatives = None if self.is_lost else self.alternatives
        return PodData(pod, self.uid, alternatives, ignores_preferences=self.ignores_preferences)
