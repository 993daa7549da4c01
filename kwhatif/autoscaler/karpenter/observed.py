"""What a cluster itself shows of its cloud, for who has no catalogue: the shapes of machines that run in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kwhatif.autoscaler.karpenter.amounts import parsed, subtracted
from kwhatif.autoscaler.karpenter.instance_types import InstanceType, Offering
from kwhatif.autoscaler.karpenter.requirements import ARCH, CAPACITY_TYPE, INSTANCE_TYPE, ON_DEMAND, OS, one_of
from kwhatif.kube.model.bystanders import NodeClaim
from kwhatif.kube.model.container import ResourceList
from kwhatif.kube.model.node import ZONE, Node
from kwhatif.state.state import State

#: Labels that a machine has for its type: those of Karpenter's providers, such as `karpenter.k8s.aws/instance-cpu`.
_OF_PROVIDER = re.compile(r"karpenter\.(?!sh/)[^/]+/instance-.+|karpenter\.azure\.com/sku-.+")
_IMAGE = re.compile(r"karpenter(?:/[a-z-]*controller|-controller)?:v?([0-9]+\.[0-9]+\.[0-9]+)")

_Shape = tuple[Mapping[str, str], ResourceList, ResourceList]


def observed_types(state: State) -> Iterator[InstanceType]:
    """The instance types of nodes and NodeClaims that are there.

    Each counts as offered in every zone, and with every capacity type, in which any machine runs; at which price is not
    known.
    """
    shapes: dict[str, list[_Shape]] = {}
    for labels, capacity, allocatable in _shapes(state):
        if labels.get(INSTANCE_TYPE) and capacity:
            shapes.setdefault(labels[INSTANCE_TYPE], []).append((labels, capacity, allocatable))
    every = [labels for found in shapes.values() for labels, _, _ in found]
    zones = sorted({labels[ZONE] for labels in every if ZONE in labels})
    kinds = sorted({labels.get(CAPACITY_TYPE, ON_DEMAND) for labels in every})
    for name, found in sorted(shapes.items()):
        labels, capacity, allocatable = found[0]
        common = {key: value for key, value in labels.items() if all(each[0].get(key) == value for each in found)}
        own = [one_of(k, v) for k, v in common.items() if k in (ARCH, OS) or _OF_PROVIDER.fullmatch(k)]
        total = parsed(capacity)
        overhead = subtracted(total, parsed(allocatable or capacity))
        yield InstanceType(name, total, overhead, own, [Offering(kind, zone, None) for zone in zones for kind in kinds])


def _shapes(state: State) -> Iterator[_Shape]:
    for node in state.cluster.all(Node).values():
        yield node.metadata.labels, node.status.capacity, node.status.allocatable or {}
    for claim in state.cluster.all(NodeClaim).values():
        yield claim.metadata.labels, claim.status.capacity, claim.status.allocatable


def seen_version(state: State) -> str | None:
    """The version of the Karpenter whose pod runs in the cluster; None: none is seen, or its image does not say."""
    for info in state.pods.values():
        for container in info.pod.spec.containers:
            match = _IMAGE.search(container.image)
            if match is not None:
                return match[1]
    return None
