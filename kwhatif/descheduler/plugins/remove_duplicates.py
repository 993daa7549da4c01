"""RemoveDuplicates (`framework/plugins/removeduplicates`).

Owners are processed in the order in which they are first seen, and their nodes by name; upstream iterates over maps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import msgspec

from kwhatif.descheduler.attempt import Duplicate
from kwhatif.descheduler.handle import Handle, chosen
from kwhatif.descheduler.node_fit import keeps_away, placement_key, untolerated
from kwhatif.descheduler.policy import RemoveDuplicatesArgs
from kwhatif.kube.matching.nodes import RequiredNodeAffinity, named
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod


class _Owner(NamedTuple):
    namespace: str
    kind: str
    name: str
    images: str

    @property
    def text(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


#: Node -> pods, without the first of each kind on it.
_Duplicates = dict[str, list[Pod]]


def remove_duplicates(args: RemoveDuplicatesArgs, handle: Handle) -> str:
    """Evict pods of an owner from nodes with more of them than the average of the nodes that accept them."""
    choose = chosen(args.namespaces)
    counts: Counter[_Owner] = Counter()
    duplicates: dict[_Owner, _Duplicates] = {}
    for node in handle.nodes:
        name = node.metadata.name
        pods = [pod for pod in handle.sandbox.active(name) if choose(pod) and handle.is_evictable(pod)]
        for pod, is_duplicate in _on_one_node(pods, args.exclude_owner_kinds):
            for owner in _owners(pod):
                counts[owner] += 1
                if is_duplicate:
                    duplicates.setdefault(owner, {}).setdefault(name, []).append(pod)
    feasible = _Feasible(handle.nodes)
    for owner, by_node in duplicates.items():
        if not _spread(owner, by_node, counts[owner], feasible, handle):
            break
    return ""


def _images(pod: Pod) -> list[str]:
    return sorted(container.image for container in pod.spec.containers)


def _owners(pod: Pod) -> Iterator[_Owner]:
    images = "#".join(_images(pod))
    for owner in pod.metadata.owner_references:
        yield _Owner(pod.metadata.namespace, owner.kind, owner.name, images)


def _on_one_node(pods: Sequence[Pod], excluded: Collection[str]) -> Iterator[tuple[Pod, bool]]:
    """The relevant pods of one node, and whether each is a duplicate of an earlier one (same owners and images)."""
    seen: set[tuple[str, ...]] = set()
    for pod in pods:
        owners = pod.metadata.owner_references
        if not owners or any(owner.kind in excluded for owner in owners):
            continue
        namespace, images = pod.metadata.namespace, _images(pod)
        key = tuple(sorted(f"{namespace}/{owner.kind}/{owner.name}/{image}" for owner in owners for image in images))
        yield pod, key in seen
        seen.add(key)


def _spread(owner: _Owner, by_node: _Duplicates, count: int, nodes: _Feasible, handle: Handle) -> bool:
    """Evict the pods above the average; returns False if the total limit is reached."""
    feasible = len(nodes.of(by_node))
    if feasible < 2:
        handle.note(
            "Less than two feasible nodes for duplicates to land, skipping eviction",
            owner=f"{owner.namespace}/{owner.kind}/{owner.name}/{owner.images}",
        )
        return True
    average = -(-count // feasible)
    for pods in by_node.values():
        why = Duplicate(owner=owner.text, on_node=len(pods) + 1, average=average, nodes=feasible)
        above = pods[average - 1 :] if len(pods) + 1 > average else ()
        if not handle.evict_each((pod, why) for pod in above):
            return False
    return True


class _Feasible:
    """The nodes for duplicates; pods with equal requirements for nodes share the result."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._named = [(node, named(node)) for node in nodes]
        self._known: dict[bytes, frozenset[str]] = {}

    def of(self, by_node: _Duplicates) -> frozenset[str]:
        """The nodes that accept any of the pods; a pod that only one node accepts adds none."""
        shapes = {msgspec.json.encode(placement_key(pod)): pod for pods in by_node.values() for pod in pods}
        matching = (self._matching(shape, pod) for shape, pod in shapes.items())
        return frozenset[str]().union(*(nodes for nodes in matching if len(nodes) > 1))

    def _matching(self, shape: bytes, pod: Pod) -> frozenset[str]:
        """QUIRK: (getTargetNodes) a node affinity that does not parse excludes no node."""
        found = self._known.get(shape)
        if found is None:
            required = RequiredNodeAffinity(pod.spec)
            found = self._known[shape] = frozenset(
                node.metadata.name
                for node, known in self._named
                if untolerated(pod, node.spec.taints, keeps_away) is None
                and (required.matches(known) or required.fails_on(known))
            )
        return found
