"""`Karpenter`: its provisioner, its disruption controller, and the caveats of both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

import msgspec

from kwhatif.autoscaler.contract import Autoscaler, Decided, NewNode, ScalingPlan, free_names
from kwhatif.autoscaler.karpenter.amounts import parsed, subtracted
from kwhatif.autoscaler.karpenter.claims import NewClaim
from kwhatif.autoscaler.karpenter.disruption import disruption_plan
from kwhatif.autoscaler.karpenter.instance_types import Catalogue, InstanceType, Offering, catalogue_of
from kwhatif.autoscaler.karpenter.nodes import ClusterState
from kwhatif.autoscaler.karpenter.provisioning import launched, provisioning_round
from kwhatif.autoscaler.karpenter.requirements import ARCH, CAPACITY_TYPE, INSTANCE_TYPE, ON_DEMAND, OS, one_of
from kwhatif.autoscaler.karpenter.settings import DEFAULTS, Settings, settings_of
from kwhatif.kube.model.bystanders import NodeClaim, NodePool
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import (
    FlagsNotModelled,
    KarpenterVersionAssumed,
    PricesUnknown,
    ShapesObservedOnly,
)
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.node import ZONE, Node
from kwhatif.kube.model.pod_spec import ResourceList
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.state.state import State

#: Labels that follow from the instance type, as Karpenter's providers set them: `karpenter.k8s.aws/instance-cpu`.
_OF_PROVIDER = re.compile(r"karpenter\.(?!sh/)[^/]+/instance-.+|karpenter\.azure\.com/sku-.+")
_IMAGE = re.compile(r"karpenter(?:/[a-z-]*controller|-controller)?:v?([0-9]+\.[0-9]+\.[0-9]+)")

_Shape = tuple[Mapping[str, str], ResourceList, ResourceList]


def observed_types(state: State) -> Iterator[InstanceType]:
    """The instance types of existing nodes and NodeClaims.

    Each counts as offered in every zone, and with every capacity type, that any existing machine has. Prices are not
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
    """The version of Karpenter in the cluster; None if the cluster has no pod of it, or the image has no version."""
    for info in state.pods.values():
        for container in info.pod.spec.containers:
            match = _IMAGE.search(container.image)
            if match is not None:
                return match[1]
    return None


_VERSION = "1.14.1"


class Karpenter(msgspec.Struct, frozen=True):
    """The provisioner with its catalogue; `is_observed`: the catalogue was made from the existing nodes."""

    types: tuple[InstanceType, ...]
    is_observed: bool = False
    name: ClassVar[Autoscaler] = "karpenter"
    kind: ClassVar[str] = "Karpenter"
    settings: Settings = DEFAULTS

    @classmethod
    def of(cls, state: State, types: Iterable[InstanceType] | None, settings: Settings | None = None) -> Karpenter:
        """Karpenter with these instance types and settings; None: those that the cluster shows."""
        return cls(
            types=tuple(observed_types(state) if types is None else types),
            is_observed=types is None,
            settings=settings_of(state.cluster) if settings is None else settings,
        )

    @property
    def delay(self) -> float:
        """The seconds without a new pod after which a batch begins."""
        return self.settings.idle

    def decide(self, state: State, profiles: Mapping[str, Profile], at: str) -> Decided:
        """One batch; see `NodeAutoscaler`."""
        del profiles  # Karpenter has its own scheduler
        catalogue = catalogue_of(self.types)
        found, claims = provisioning_round(ClusterState(state, catalogue, parse_time(at), self.settings))
        caveats = tuple(_caveats(state, catalogue, settings=self.settings, is_observed=self.is_observed))
        return Decided(found, tuple(_made(claims, state, at)), self, caveats)

    def with_nodes(self, nodes: Sequence[NewNode]) -> Karpenter:
        """See `NodeAutoscaler`: NodeClaims get the names of their nodes."""
        del nodes
        return self

    def is_bounded(self, group: str, state: State) -> bool:
        """See `NodeAutoscaler`."""
        pool = state.cluster.get(NodePool, group)
        return pool is not None and bool(pool.spec.limits)


def disruption(
    state: State, types: Iterable[InstanceType] | None, at: str, settings: Settings | None = None
) -> tuple[ScalingPlan, Sequence[tuple[NewNode, ...]], tuple[Caveat, ...]]:
    """What the disruption controller would do now, and the replacement nodes of each command.

    Args:
        state: the cluster, with its NodePools and NodeClaims; it is not changed.
        types: the instance types; None: not given, so only those of existing machines are known.
        at: the moment, RFC 3339.
        settings: Karpenter's settings; None: those of its Deployment in the cluster.
    """
    karpenter = Karpenter.of(state, types, settings)
    catalogue = catalogue_of(karpenter.types)
    plan, commands = disruption_plan(ClusterState(state, catalogue, parse_time(at), karpenter.settings))
    made = [tuple(_made([claim for claim in command.replacements if claim.types], state, at)) for command in commands]
    return plan, made, tuple(_caveats(state, catalogue, settings=karpenter.settings, is_observed=karpenter.is_observed))


def _made(claims: Sequence[NewClaim], state: State, at: str) -> Iterator[NewNode]:
    names = {claim.template.name: free_names(claim.template.name, state) for claim in claims}
    nodes = (launched(claim, next(names[claim.template.name]), state, at) for claim in claims)
    return (node for node in nodes if node is not None)


def _caveats(state: State, catalogue: Catalogue, *, settings: Settings, is_observed: bool) -> Iterator[Caveat]:
    if settings.unmodelled:
        yield FlagsNotModelled(flags=settings.unmodelled)
    if is_observed:
        yield ShapesObservedOnly(types=tuple(sorted(type_.name for type_ in catalogue.types)))
    unpriced = [type_.name for type_ in catalogue.types if any(each.price is None for each in type_.offerings)]
    if unpriced:
        yield PricesUnknown(names=() if is_observed else tuple(sorted(unpriced)))
    seen = seen_version(state)
    if seen is None or seen.split(".")[:2] != _VERSION.split(".")[:2]:
        yield KarpenterVersionAssumed(version=_VERSION)
