"""VolumeBinding's Score: prefers nodes with the emptiest storage afterwards, unless the shape says otherwise.

(`scorer.go` and `Score` in `volume_binding.go`; only with the gate `StorageCapacityScoring`.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwhatif.kube.matching.volumes import STORAGE
from kwhatif.kube.model.quantity import QuantityText, parse_quantity, value
from kwhatif.scheduler.framework.plugin import NodeScorer, Reads
from kwhatif.scheduler.framework.scoring_strategy import (
    MAX_SHAPE_SCORE,
    UtilizationShapePoint,
    requested_to_capacity_ratio,
)
from kwhatif.scheduler.plugins.volume_binding.delayed import Plan
from kwhatif.scheduler.plugins.volume_binding.filtering import BindingFilter
from kwhatif.state.node_info import NodeInfo

#: From `defaults.go`.
DEFAULT_SHAPE = (
    UtilizationShapePoint(utilization=0, score=MAX_SHAPE_SCORE),
    UtilizationShapePoint(utilization=100, score=0),
)
#: Storage class -> requested bytes and total bytes.
_Classes = dict[str, tuple[int, int]]


class StorageScorer(NodeScorer):
    """The mean score of the storage classes of the pod's claims."""

    reads = Reads.NODE

    def __init__(self, claims: BindingFilter, shape: Sequence[UtilizationShapePoint]) -> None:
        self._claims = claims
        self._score_of = requested_to_capacity_ratio(shape)

    def score(self, node: NodeInfo) -> int:
        """0 to 100; 0 if no volume of known size is bound or provisioned."""
        plan = self._claims.plan(node)
        if plan is None:
            return 0
        classes = _of_bindings(plan) if plan.bindings else _of_provisions(plan, node)
        if not classes:
            return 0
        # An unknown size counts as full. As `math.Round`, for operands that are never negative.
        total = sum(
            self._score_of(requested, size) if size else self._score_of(1, 0) for requested, size in classes.values()
        )
        return (2 * total + len(classes)) // (2 * len(classes))


def _of_bindings(plan: Plan) -> _Classes:
    classes: _Classes = {}
    for volume, claim in plan.bindings:
        name = volume.spec.storage_class_name
        requested, size = classes.get(name, (0, 0))
        classes[name] = requested + _bytes(claim.spec.resources.requests), size + _bytes(volume.spec.capacity)
    return classes


def _of_provisions(plan: Plan, node: NodeInfo) -> _Classes:
    """Claims of a class share the pool that the last of them would use."""
    classes: _Classes = {}
    for provisioning in plan.provisions:
        size = provisioning.pool_size(node.labels)
        if size is not None:
            requested, _ = classes.get(provisioning.class_name, (0, 0))
            classes[provisioning.class_name] = requested + _bytes(provisioning.claim.spec.resources.requests), size
    return classes


def _bytes(amounts: Mapping[str, QuantityText]) -> int:
    return value(parse_quantity(amounts.get(STORAGE, 0)))
