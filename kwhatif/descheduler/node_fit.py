"""Checks of pods that strategies share: tolerations, the order of evictions, states of containers, and `NodeFit`.

(`descheduler/pod/pods.go`, `utils/qos.go`, `utils/predicates.go`, `descheduler/node/node.go`.) NodeFit is the
descheduler's approximation of whether a pod might run on a node: it ignores pod affinity, spread, ports, volumes,
devices, and the anti-affinity of existing pods. QUIRK: the descheduler always supports the operators `Lt` and `Gt` of
tolerations; kube-scheduler 1.36 does so only if a feature gate is on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from kwhatif.descheduler.sandbox import Sandbox
from kwhatif.kube.matching.labels import Selector, SelectorError, compile_selector
from kwhatif.kube.matching.nodes import NO_EXECUTE, NO_SCHEDULE, RequiredNodeAffinity, named, tolerates
from kwhatif.kube.matching.requests import CPU, MEMORY, PODS, qos_class
from kwhatif.kube.model.go_sort import go_sort
from kwhatif.kube.model.node import Node, Taint
from kwhatif.kube.model.pod import ContainerState, Pod
from kwhatif.kube.model.pod_spec import PodAffinityTerm
from kwhatif.kube.model.quantity import milli_value, parse_quantity, value
from kwhatif.scheduler.framework.reference import is_reference

_UNITS = 1000


class NodeFit:
    """Whether pods fit on nodes of a cycle, in its current state."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def fits_any(self, pod: Pod, nodes: Iterable[Node]) -> bool:
        """Whether the pod fits on one of the nodes (`PodFitsAnyNode`)."""
        terms = anti_affinity(pod)
        if terms is None:
            return False
        required = RequiredNodeAffinity(pod.spec)
        return any(self._fits(pod, node, required, terms) for node in nodes)

    def fits_another(self, pod: Pod, nodes: Iterable[Node]) -> bool:
        """Whether the pod fits on one of the nodes, other than its own (`PodFitsAnyOtherNode`)."""
        return self.fits_any(pod, (node for node in nodes if node.metadata.name != pod.spec.node_name))

    def _fits(self, pod: Pod, node: Node, required: RequiredNodeAffinity, terms: Sequence[AntiAffinity]) -> bool:
        """`PodFitsNode`; the requests of a pod that is already on the node are not checked."""
        if not takes(pod, node, required) or any(self._is_met(term, pod, node) for term in terms):
            return False
        return pod.spec.node_name == node.metadata.name or self._has_room(pod, node)

    def _is_met(self, term: AntiAffinity, pod: Pod, node: Node) -> bool:
        """QUIRK: pods with the same name are ignored in any namespace, and only pods on this node are checked."""
        if term.topology_key not in node.metadata.labels:
            return False
        return any(
            other.metadata.name != pod.metadata.name and term.matches(other)
            for other in self._sandbox.active(node.metadata.name)
        )

    def _has_room(self, pod: Pod, node: Node) -> bool:
        """`fitsRequest`."""
        for resource, amount in self._sandbox.requests(pod).items():
            if resource != PODS and milli_value(amount) > self.free(resource, node):
                return False
        return self.free(PODS, node) > 0

    def free(self, resource: str, node: Node) -> int:
        """The unrequested amount of the resource, in thousandths; for pods, the number of further pods."""
        name = node.metadata.name
        allocatable = node.status.allocatable or {}
        room = parse_quantity(allocatable.get(resource, 0))
        if resource == PODS:
            return value(room) - len(self._sandbox.active(name))
        taken = self._sandbox.requested(name).get(resource, 0)
        if resource == CPU:
            return milli_value(room) - milli_value(taken)
        if resource in allocatable or resource == MEMORY:
            return (value(room) - value(taken)) * _UNITS
        return 0


def takes(pod: Pod, node: Node, required: RequiredNodeAffinity) -> bool:
    """Whether the node accepts pods like this one, regardless of resources."""
    if node.spec.unschedulable or not required.matches(named(node)):
        return False
    return untolerated(pod, node.spec.taints, keeps_away) is None


class _Known(msgspec.Struct):
    """Cached results for pods with equal specs."""

    required: RequiredNodeAffinity
    #: Resource and amount, in thousandths, of their requests.
    requests: tuple[tuple[str, int], ...]
    #: Nodes that they fit on. Two are enough, because a pod is on at most one of them.
    found: list[str]
    #: The number of checked nodes, in order.
    position: int
    #: The number of evictions at the last check.
    evictions: int


class OtherNodes:
    """`fits_another` for many pods and the same nodes: pods with equal specs share the result.

    No pod is added to a node during a cycle, so a pod that fits keeps fitting; otherwise only nodes that a pod has
    left are checked again. Pods with anti-affinity terms are checked one at a time (see `NodeFit._is_met`).
    """

    def __init__(self, sandbox: Sandbox, nodes: Sequence[Node]) -> None:
        self._sandbox = sandbox
        self._fit = NodeFit(sandbox)
        self._nodes = nodes
        self._index_of = {node.metadata.name: index for index, node in enumerate(nodes)}
        self._known: dict[bytes, _Known] = {}
        self._free: dict[str, dict[str, int]] = {}
        self._evictions = 0

    def have_room(self, pod: Pod) -> bool:
        """Whether the pod fits on a node other than its own."""
        if is_reference() or required_terms(pod):
            return self._fit.fits_another(pod, self._nodes)
        for name in self._sandbox.left[self._evictions :]:
            self._free.pop(name, None)
        self._evictions = len(self._sandbox.left)
        known = self._of(pod)
        return any(name != pod.spec.node_name for name in known.found) or self._look_again(pod, known)

    def _of(self, pod: Pod) -> _Known:
        requests = self._sandbox.requests(pod)
        shape = _shape(pod, requests)
        known = self._known.get(shape)
        if known is None:
            amounts = tuple((name, milli_value(nanos)) for name, nanos in requests.items() if name != PODS)
            known = self._known[shape] = _Known(RequiredNodeAffinity(pod.spec), amounts, [], 0, self._evictions)
        return known

    def _look_again(self, pod: Pod, known: _Known) -> bool:
        changed = dict.fromkeys(self._sandbox.left[known.evictions :])
        known.evictions = self._evictions
        for name in changed:
            index = self._index_of.get(name)
            if index is not None and index < known.position and self._adds(pod, self._nodes[index], known):
                return True
        while known.position < len(self._nodes):
            known.position += 1
            if self._adds(pod, self._nodes[known.position - 1], known):
                return True
        return False

    def _adds(self, pod: Pod, node: Node, known: _Known) -> bool:
        """Check one node, and store whether pods like this one fit there; returns whether this one does."""
        name = node.metadata.name
        if name in known.found or not (self._has_room(node, known) and takes(pod, node, known.required)):
            return False
        known.found.append(name)
        return name != pod.spec.node_name

    def _has_room(self, node: Node, known: _Known) -> bool:
        free = self._free.setdefault(node.metadata.name, {})
        for name, amount in known.requests:
            if name not in free:
                free[name] = self._fit.free(name, node)
            if amount > free[name]:
                return False
        if PODS not in free:
            free[PODS] = self._fit.free(PODS, node)
        return free[PODS] > 0


def _shape(pod: Pod, requests: Mapping[str, int]) -> bytes:
    """Cache key: equal for pods without anti-affinity that fit on the same nodes."""
    amounts = [(name, str(nanos)) for name, nanos in sorted(requests.items())]
    return msgspec.json.encode((*placement_key(pod), amounts))


def placement_key(pod: Pod) -> tuple[object, ...]:
    """Cache key: equal for pods that the same nodes accept, regardless of resources."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    selector = sorted((pod.spec.node_selector or {}).items())
    return pod.spec.tolerations, selector, affinity.required if affinity else None


class AntiAffinity:
    """A required anti-affinity term as the descheduler reads it: it ignores namespace selectors."""

    def __init__(self, term: PodAffinityTerm, pod: Pod) -> None:
        """Compile.

        Raises:
            SelectorError: the selector is not valid.
        """
        self.topology_key = term.topology_key
        self.namespaces = frozenset(term.namespaces) or frozenset([pod.metadata.namespace])
        self._selector: Selector = compile_selector(term.label_selector)

    def matches(self, other: Pod) -> bool:
        """Whether the term matches the other pod."""
        return other.metadata.namespace in self.namespaces and self._selector.matches(other.metadata.labels)


def anti_affinity(pod: Pod) -> Sequence[AntiAffinity] | None:
    """The pod's required anti-affinity terms; None: one of them is not valid."""
    try:
        return [AntiAffinity(term, pod) for term in required_terms(pod)]
    except SelectorError:
        return None


def required_terms(pod: Pod) -> Sequence[PodAffinityTerm]:
    """Its required anti-affinity terms."""
    affinity = pod.spec.affinity
    return affinity.pod_anti_affinity.required if affinity and affinity.pod_anti_affinity else ()


def keeps_away(taint: Taint) -> bool:
    """Whether the taint keeps new pods away."""
    return taint.effect in (NO_SCHEDULE, NO_EXECUTE)


def untolerated(pod: Pod, taints: Sequence[Taint], counts: Callable[[Taint], bool] = lambda _: True) -> Taint | None:
    """The first relevant taint that the pod does not tolerate."""
    for taint in taints:
        if counts(taint) and not any(
            tolerates(toleration, taint, compares=True) for toleration in pod.spec.tolerations
        ):
            return taint
    return None


_CLASSES = ("BestEffort", "Burstable", "Guaranteed")


def sort_by_priority(pods: list[Pod]) -> None:
    """Sort in place: low priority before high, then BestEffort, Burstable, Guaranteed.

    QUIRK: (SortPodsBasedOnPriorityLowToHigh) each of two equal pods is less than the other, so equals are swapped.
    """
    go_sort(pods, _goes_before)


def _goes_before(one: Pod, other: Pod) -> bool:
    mine, others = one.spec.priority, other.spec.priority
    if mine != others:
        return mine is None or (others is not None and mine < others)
    my_class, other_class = qos_class(one), qos_class(other)
    if my_class != other_class or my_class not in _CLASSES:
        return my_class == "BestEffort" or (my_class == "Burstable" and other_class == "Guaranteed")
    annotations, other_annotations = one.metadata.annotations, other.metadata.annotations
    return annotations.prefer_no_eviction is None or other_annotations.prefer_no_eviction is not None


def states(pod: Pod, *, init: bool, ephemeral: bool = False) -> Iterator[ContainerState]:
    """The states of the pod's containers, and of its init and ephemeral containers if requested."""
    status = pod.status
    for counts, statuses in (
        (True, status.container_statuses),
        (init, status.init_container_statuses),
        (ephemeral, status.ephemeral_container_statuses),
    ):
        for row in statuses if counts else ():
            if row.state is not None:
                yield row.state


def waiting_reasons(pod: Pod, *, init: bool, ephemeral: bool = False) -> Sequence[str]:
    """The reasons of waiting containers."""
    return [state.waiting.reason for state in states(pod, init=init, ephemeral=ephemeral) if state.waiting is not None]


def reasons(pod: Pod, *, init: bool, ephemeral: bool = False) -> Sequence[str]:
    """The reasons of waiting containers, then those of terminated ones."""
    ended = [state.terminated for state in states(pod, init=init, ephemeral=ephemeral) if state.terminated is not None]
    return [*waiting_reasons(pod, init=init, ephemeral=ephemeral), *(state.reason for state in ended)]


def exit_codes(pod: Pod, *, init: bool) -> Sequence[int]:
    """The exit codes of terminated containers."""
    return [state.terminated.exit_code for state in states(pod, init=init) if state.terminated is not None]
