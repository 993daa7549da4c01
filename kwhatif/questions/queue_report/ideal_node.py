"""The node that a pod waits for: made for it, so that hints can be asked what they think of its like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kwhatif.kube.matching.requests import CPU, pod_requests, to_resources
from kwhatif.kube.model.meta import AnnotatedMeta, Requirement
from kwhatif.kube.model.node import Node, NodeStatus
from kwhatif.kube.model.pod import Pod

#: The value of labels of which only the key is asked for.
_ANY = "new"


def requested(pod: Pod) -> dict[str, int]:
    """What the pod asks for, by resource: milli-cpu, bytes, units."""
    amounts = to_resources(pod_requests(pod))
    return {name: amounts.of(name) for name in amounts.asked}


def ideal_node(pod: Pod, name: str = "") -> Node:
    """An empty node with room for the pod, the labels that it asks for, each topology key, and no taints."""
    amounts = {what: f"{amount}m" if what == CPU else str(amount) for what, amount in requested(pod).items()}
    labels = dict.fromkeys(_topology_keys(pod), _ANY) | dict(_wanted_labels(pod))
    return Node(
        metadata=AnnotatedMeta(name=name, labels=labels), status=NodeStatus(allocatable={"pods": "110", **amounts})
    )


def _topology_keys(pod: Pod) -> Iterator[str]:
    yield from (constraint.topology_key for constraint in pod.spec.topology_spread_constraints)
    affinity = pod.spec.affinity
    for part in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ():
        yield from (term.topology_key for term in part.required) if part else ()


def _wanted_labels(pod: Pod) -> Iterator[tuple[str, str]]:
    """Of several terms, one is enough: the first."""
    affinity = pod.spec.affinity
    required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    if required is not None and required.node_selector_terms:
        yield from _satisfying(required.node_selector_terms[0].match_expressions)
    yield from (pod.spec.node_selector or {}).items()


def _satisfying(requirements: Iterable[Requirement]) -> Iterator[tuple[str, str]]:
    """A label for each requirement that needs one; that two of one key agree is not looked after."""
    for requirement in requirements:
        match requirement.operator:
            case "In":
                yield requirement.key, requirement.values[0] if requirement.values else _ANY
            case "Exists":
                yield requirement.key, _ANY
            case "Gt":
                yield requirement.key, _beyond(requirement, 1)
            case "Lt":
                yield requirement.key, _beyond(requirement, -1)


def _beyond(requirement: Requirement, step: int) -> str:
    text = requirement.values[0] if requirement.values else ""
    return str(int(text) + step) if text.removeprefix("-").isdecimal() else _ANY
