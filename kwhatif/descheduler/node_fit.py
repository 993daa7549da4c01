"""NodeFit: whether a pod might run on a node, in the descheduler's rough view (`descheduler/node/node.go`).

Not looked at: pod affinity, spread, ports, volumes, devices, anti-affinity of the pods that are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kwhatif.descheduler.tolerance import keeps_away, untolerated
from kwhatif.descheduler.world import World
from kwhatif.matching.labels import Selector, SelectorError, compile_selector
from kwhatif.matching.node_selector import RequiredNodeAffinity, named
from kwhatif.matching.requests import CPU, MEMORY, PODS
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod, PodAffinityTerm
from kwhatif.model.quantity import milli_value, parse_quantity, value

_UNITS = 1000


class NodeFit:
    """Asks the same world again and again."""

    def __init__(self, world: World) -> None:
        self._world = world

    def fits_any(self, pod: Pod, nodes: Iterable[Node]) -> bool:
        """Whether the pod fits on one of the nodes (`PodFitsAnyNode`)."""
        required, terms = required_affinity(pod), anti_affinity(pod)
        return any(not self._objection(pod, node, required, terms) for node in nodes)

    def fits_another(self, pod: Pod, nodes: Iterable[Node]) -> bool:
        """Whether it fits on one that it is not on already (`PodFitsAnyOtherNode`)."""
        return self.fits_any(pod, (node for node in nodes if node.metadata.name != pod.spec.node_name))

    def _objection(
        self, pod: Pod, node: Node, required: RequiredNodeAffinity, terms: Sequence[AntiAffinity] | None
    ) -> str:
        """Why not, in upstream's words; "" if it fits."""
        if node.spec.unschedulable:
            return "node is not schedulable"
        if not required.matches(named(node)):
            return "pod node selector does not match the node label"
        if untolerated(pod, node.spec.taints, keeps_away) is not None:
            return "pod does not tolerate taints on the node"
        if terms is None:
            return "the selector of an anti-affinity term is not valid"
        if any(self._is_met(term, pod, node) for term in terms):
            return "pod matches inter-pod anti-affinity rule of other pod on node"
        return "" if pod.spec.node_name == node.metadata.name else self._lacking(pod, node)

    def _is_met(self, term: AntiAffinity, pod: Pod, node: Node) -> bool:
        """QUIRK: pods of the same name count in no namespace, and only those on this very node are looked at."""
        if term.topology_key not in node.metadata.labels:
            return False
        return any(
            other.metadata.name != pod.metadata.name and term.matches(other)
            for other in self._world.active(node.metadata.name)
        )

    def _lacking(self, pod: Pod, node: Node) -> str:
        """`fitsRequest`."""
        name = node.metadata.name
        allocatable = node.status.allocatable or {}
        used = self._world.requested(name)
        pods = value(parse_quantity(allocatable.get(PODS, 0))) - len(self._world.active(name))
        for resource, asked in self._world.requests(pod).items():
            if resource == PODS:
                continue
            room = parse_quantity(allocatable.get(resource, 0))
            taken = used.get(resource, 0)
            if resource == CPU:
                free = milli_value(room) - milli_value(taken)
            elif resource in allocatable or resource == MEMORY:
                free = (value(room) - value(taken)) * _UNITS
            else:
                free = 0
            if milli_value(asked) > free:
                return f"insufficient {resource}"
        return "" if pods > 0 else f"insufficient {PODS}"


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


def required_affinity(pod: Pod) -> RequiredNodeAffinity:
    """The pod's node selector and required node affinity, compiled."""
    return RequiredNodeAffinity(pod.spec)
