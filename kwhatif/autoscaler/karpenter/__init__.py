"""Karpenter's provisioner and its disruption controller (`sigs.k8s.io/karpenter` v1.14.1)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from kwhatif.autoscaler.answer import ScalingPlan, ScalingRound
from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.caveat import Caveat
from kwhatif.state.state import State


class InstanceType(msgspec.Struct, frozen=True):
    """A type of machine that a cloud offers."""

    name: str


def build_instance_types(data: object) -> tuple[InstanceType, ...]:
    """The instance types in the data of a file: a list, see the documentation of `--instance-types`.

    Raises:
        InputError: with everything that is wrong; each problem has its `field`, such as `[3].offerings`, and no place.
    """
    raise InputError([Problem("", "Karpenter is not modelled yet")])


def provision(state: State, types: Iterable[InstanceType] | None, at: str) -> tuple[ScalingRound, tuple[Caveat, ...]]:
    """What one round of the provisioner makes for the pods that are marked unschedulable.

    Args:
        state: the cluster, with its NodePools and NodeClaims; it stays as it is.
        types: the catalogue; None: nobody gave one, and the shapes that run in the cluster are all that is known.
        at: the moment, RFC 3339.

    Raises:
        InputError: objects of the cluster that Karpenter cannot work with.
    """
    raise InputError([Problem("--autoscaler", "Karpenter is not modelled yet")])


def disrupt(state: State, types: Iterable[InstanceType] | None, at: str) -> tuple[ScalingPlan, tuple[Caveat, ...]]:
    """What the disruption controller would do now; arguments as of `provision`."""
    raise InputError([Problem("--autoscaler", "Karpenter is not modelled yet")])
