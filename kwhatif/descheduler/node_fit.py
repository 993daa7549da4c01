"""NodeFit: whether a pod might run on a node, in the descheduler's rough view (`descheduler/node/node.go`).

Not looked at: pod affinity, spread, ports, volumes, devices, anti-affinity of the pods that are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kwhatif.descheduler.tolerance import keeps_away, untolerated
from kwhatif.descheduler.world import DeschedulerWorld
from kwhatif.kube.matching.labels import Selector, SelectorError, compile_selector
from kwhatif.kube.matching.node_affinity import RequiredNodeAffinity
from kwhatif.kube.matching.node_selector import named
from kwhatif.kube.matching.requests import CPU, MEMORY, PODS
from kwhatif.kube.model.affinity import PodAffinityTerm
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.quantity import milli_value, parse_quantity, value
from kwhatif.scheduler.framework.reference import is_reference

_UNITS = 1000


class NodeFit:
    """Whether pods fit on nodes of one world, as it is at the moment of each question."""

    def __init__(self, world: DeschedulerWorld) -> None:
        self._world = world

    def fits_any(self, pod: Pod, nodes: Iterable[Node]) -> bool:
        """Whether the pod fits on one of the nodes (`PodFitsAnyNode`)."""
        terms = anti_affinity(pod)
        if terms is None:
            return False
        required = RequiredNodeAffinity(pod.spec)
        return any(self._fits(pod, node, required, terms) for node in nodes)

    def fits_another(self, pod: Pod, nodes: Iterable[Node]) -> bool:
        """Whether it fits on one that it is not on already (`PodFitsAnyOtherNode`)."""
        return self.fits_any(pod, (node for node in nodes if node.metadata.name != pod.spec.node_name))

    def _fits(self, pod: Pod, node: Node, required: RequiredNodeAffinity, terms: Sequence[AntiAffinity]) -> bool:
        """`PodFitsNode`; a pod that is on the node already has its room there."""
        if not takes(pod, node, required) or any(self._is_met(term, pod, node) for term in terms):
            return False
        return pod.spec.node_name == node.metadata.name or self._has_room(pod, node)

    def _is_met(self, term: AntiAffinity, pod: Pod, node: Node) -> bool:
        """QUIRK: pods of the same name count in no namespace, and only those on this very node are looked at."""
        if term.topology_key not in node.metadata.labels:
            return False
        return any(
            other.metadata.name != pod.metadata.name and term.matches(other)
            for other in self._world.active(node.metadata.name)
        )

    def _has_room(self, pod: Pod, node: Node) -> bool:
        """`fitsRequest`."""
        for resource, asked in self._world.requests(pod).items():
            if resource != PODS and milli_value(asked) > self.free(resource, node):
                return False
        return self.free(PODS, node) > 0

    def free(self, resource: str, node: Node) -> int:
        """How much of it no pod on the node requests, in thousandths; of pods, how many more it takes."""
        name = node.metadata.name
        allocatable = node.status.allocatable or {}
        room = parse_quantity(allocatable.get(resource, 0))
        if resource == PODS:
            return value(room) - len(self._world.active(name))
        taken = self._world.requested(name).get(resource, 0)
        if resource == CPU:
            return milli_value(room) - milli_value(taken)
        if resource in allocatable or resource == MEMORY:
            return (value(room) - value(taken)) * _UNITS
        return 0


def takes(pod: Pod, node: Node, required: RequiredNodeAffinity) -> bool:
    """Whether the node is open to pods like this one, whatever room there is."""
    if node.spec.unschedulable or not required.matches(named(node)):
        return False
    return untolerated(pod, node.spec.taints, keeps_away) is None


class _Known(msgspec.Struct):
    """What is known of pods that say the same."""

    required: RequiredNodeAffinity
    #: Resource and amount, in thousandths, of all that they request.
    asked: tuple[tuple[str, int], ...]
    #: Nodes that they fit on. Two are enough, as a pod is on one of them at the most.
    found: list[str]
    #: How many of the nodes have been looked at, in their order.
    position: int
    #: How many evictions there had been when somebody last looked.
    evictions: int


class OtherNodes:
    """`fits_another`, again and again for the same nodes: pods that say the same are asked about together.

    Nothing comes to a node while a cycle runs, so what fits goes on to fit; what does not is asked again only of nodes
    that a pod has left. Pods with anti-affinity terms are asked about one by one (see `NodeFit._is_met`).
    """

    def __init__(self, world: DeschedulerWorld, nodes: Sequence[Node]) -> None:
        self._world = world
        self._fit = NodeFit(world)
        self._nodes = nodes
        self._places = {node.metadata.name: place for place, node in enumerate(nodes)}
        self._known: dict[bytes, _Known] = {}
        self._free: dict[str, dict[str, int]] = {}
        self._evictions = 0

    def have_room(self, pod: Pod) -> bool:
        """Whether the pod fits on one that it is not on already."""
        if is_reference() or required_terms(pod):
            return self._fit.fits_another(pod, self._nodes)
        for name in self._world.left[self._evictions :]:
            self._free.pop(name, None)
        self._evictions = len(self._world.left)
        known = self._of(pod)
        return any(name != pod.spec.node_name for name in known.found) or self._look_again(pod, known)

    def _of(self, pod: Pod) -> _Known:
        requests = self._world.requests(pod)
        said = _said(pod, requests)
        known = self._known.get(said)
        if known is None:
            asked = tuple((name, milli_value(nanos)) for name, nanos in requests.items() if name != PODS)
            known = self._known[said] = _Known(RequiredNodeAffinity(pod.spec), asked, [], 0, self._evictions)
        return known

    def _look_again(self, pod: Pod, known: _Known) -> bool:
        changed = dict.fromkeys(self._world.left[known.evictions :])
        known.evictions = self._evictions
        for name in changed:
            place = self._places.get(name)
            if place is not None and place < known.position and self._adds(pod, self._nodes[place], known):
                return True
        while known.position < len(self._nodes):
            known.position += 1
            if self._adds(pod, self._nodes[known.position - 1], known):
                return True
        return False

    def _adds(self, pod: Pod, node: Node, known: _Known) -> bool:
        """Look at one node, and keep that pods like this one fit there; whether this one does."""
        name = node.metadata.name
        if name in known.found or not (self._has_room(node, known) and takes(pod, node, known.required)):
            return False
        known.found.append(name)
        return name != pod.spec.node_name

    def _has_room(self, node: Node, known: _Known) -> bool:
        free = self._free.setdefault(node.metadata.name, {})
        for name, asked in known.asked:
            if name not in free:
                free[name] = self._fit.free(name, node)
            if asked > free[name]:
                return False
        if PODS not in free:
            free[PODS] = self._fit.free(PODS, node)
        return free[PODS] > 0


def _said(pod: Pod, requests: Mapping[str, int]) -> bytes:
    """Equal for pods without anti-affinity that fit on the same nodes."""
    asked = [(name, str(nanos)) for name, nanos in sorted(requests.items())]
    return msgspec.json.encode((*said_of_nodes(pod), asked))


def said_of_nodes(pod: Pod) -> tuple[object, ...]:
    """Equal for pods that the same nodes take, whatever room there is."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    selector = sorted((pod.spec.node_selector or {}).items())
    return pod.spec.tolerations, selector, affinity.required if affinity else None


class AntiAffinity:
    """A required anti-affinity term as the descheduler reads it: it does not know namespace selectors."""

    def __init__(self, term: PodAffinityTerm, pod: Pod) -> None:
        """Compile.

        Raises:
            SelectorError: the selector is not valid.
        """
        self.topology_key = term.topology_key
        self.namespaces = frozenset(term.namespaces) or frozenset([pod.metadata.namespace])
        self._selector: Selector = compile_selector(term.label_selector)

    def matches(self, other: Pod) -> bool:
        """Whether the term is about the other pod."""
        return other.metadata.namespace in self.namespaces and self._selector.matches(other.metadata.labels)


def anti_affinity(pod: Pod) -> Sequence[AntiAffinity] | None:
    """The pod's required terms; None: one of them is not valid."""
    try:
        return [AntiAffinity(term, pod) for term in required_terms(pod)]
    except SelectorError:
        return None


def required_terms(pod: Pod) -> Sequence[PodAffinityTerm]:
    """Its required anti-affinity terms."""
    affinity = pod.spec.affinity
    return affinity.pod_anti_affinity.required if affinity and affinity.pod_anti_affinity else ()
