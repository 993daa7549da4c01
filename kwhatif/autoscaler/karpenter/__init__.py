"""Karpenter's provisioner and disruption controller (`sigs.k8s.io/karpenter` v1.14.1), with their default settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kwhatif.autoscaler.answer import ScalingPlan, ScalingRound
from kwhatif.autoscaler.karpenter.disruption import disruption_plan
from kwhatif.autoscaler.karpenter.instance_types import (
    Catalogue,
    InstanceType,
    build_instance_types,
    catalogue_of,
)
from kwhatif.autoscaler.karpenter.nodes import World
from kwhatif.autoscaler.karpenter.observed import observed_types, seen_version
from kwhatif.autoscaler.karpenter.provisioning import provisioning_round
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import KarpenterVersionAssumed, PricesUnknown, ShapesObservedOnly
from kwhatif.kube.model.meta import parse_time
from kwhatif.state.state import State

__all__ = ["InstanceType", "build_instance_types", "disrupt", "provision"]

_VERSION = "1.14.1"


def provision(state: State, types: Iterable[InstanceType] | None, at: str) -> tuple[ScalingRound, tuple[Caveat, ...]]:
    """What one round of the provisioner makes for the pods that are marked unschedulable.

    Args:
        state: the cluster, with its NodePools and NodeClaims; it stays as it is.
        types: the catalogue; None: not given, and only the shapes that run in the cluster are known.
        at: the moment, RFC 3339.
    """
    catalogue = catalogue_of(observed_types(state) if types is None else types)
    found = provisioning_round(World(state, catalogue, parse_time(at)))
    return found, tuple(_said(state, catalogue, is_observed=types is None))


def disrupt(state: State, types: Iterable[InstanceType] | None, at: str) -> tuple[ScalingPlan, tuple[Caveat, ...]]:
    """What the disruption controller would do now; arguments as of `provision`."""
    catalogue = catalogue_of(observed_types(state) if types is None else types)
    plan = disruption_plan(World(state, catalogue, parse_time(at)))
    return plan, tuple(_said(state, catalogue, is_observed=types is None))


def _said(state: State, catalogue: Catalogue, *, is_observed: bool) -> Iterator[Caveat]:
    if is_observed:
        yield ShapesObservedOnly(types=tuple(sorted(type_.name for type_ in catalogue.types)))
    unpriced = [type_.name for type_ in catalogue.types if any(each.price is None for each in type_.offerings)]
    if unpriced:
        yield PricesUnknown(names=() if is_observed else tuple(sorted(unpriced)))
    seen = seen_version(state)
    if seen is None or seen.split(".")[:2] != _VERSION.split(".")[:2]:
        yield KarpenterVersionAssumed(version=_VERSION)
