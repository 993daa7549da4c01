"""Of several objections to a pod, the one that is the easiest to do something about."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.scheduler.framework.status import Verdict

#: Plugins from the one whose objection is the easiest to do something about: those that come last have let most pass.
_ORDER = (
    *("NodeResourcesFit", "PodTopologySpread", "InterPodAffinity", "NodePorts", "NodeVolumeLimits", "VolumeBinding"),
    *("VolumeZone", "DynamicResources", "TaintToleration", "NodeAffinity", "NodeUnschedulable", "NodeName"),
)


def _distance(verdict: Verdict) -> tuple[int, float]:
    place = _ORDER.index(verdict.plugin) if verdict.plugin in _ORDER else len(_ORDER)
    lacking = sum(_part_missing(each) for each in verdict.status.evidence)
    return place, lacking


def _part_missing(evidence: object) -> float:
    """By how much of what the node has the pod asks for too much."""
    requested, used = getattr(evidence, "requested", 0), getattr(evidence, "used", 0)
    there = getattr(evidence, "allocatable", 0)
    return (requested + used - there) / there if there else float(requested)


def nearest(objections: Mapping[str, Verdict]) -> str:
    """Whose objection is the smallest: most filters let the pod pass there, and it lacks the least; else by name."""
    return min(sorted(objections), key=lambda name: _distance(objections[name]))
