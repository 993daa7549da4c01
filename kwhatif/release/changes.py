"""What changed from one release to the next, in a few words: rules, and gates that are on by default since then."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kwhatif.gates import default_gates


class Change(msgspec.Struct, frozen=True):
    """One rule, or one gate, that differs between two releases."""

    #: The minor version that has it first.
    since: int
    #: The plugin that it is about; "" for a gate.
    plugin: str
    #: What it is, or the name of the gate.
    what: str
    #: Upstream's file, below `pkg/scheduler/framework/plugins`.
    file: str = ""
    #: Whether it is about nothing but how pods count that are resized.
    of_resizes: bool = False


_RULES = (
    Change(37, "NodeName", "leaves all other nodes out before any filter", "nodename/node_name.go"),
    Change(37, "ImageLocality", "image volumes count as images", "imagelocality/image_locality.go"),
    Change(37, "DynamicResources", "says nothing of pods without claims", "dynamicresources/dynamicresources.go"),
    Change(37, "DefaultPreemption", "says where eviction makes room", "defaultpreemption/default_preemption.go"),
    Change(
        37, "DefaultPreemption", "order of victims that have not started", "defaultpreemption/default_preemption.go"
    ),
    Change(37, "NodeResourcesFit", "pods that are resized count another way", "noderesources/fit.go", of_resizes=True),
    Change(
        36,
        "NodeResourcesBalancedAllocation",
        "scores the improvement, not the balance",
        "noderesources/balanced_allocation.go",
    ),
    Change(36, "ImageLocality", "image volumes score", "imagelocality/image_locality.go"),
    Change(36, "DynamicResources", "a search that takes too long is an error", "dynamicresources/dynamicresources.go"),
    Change(35, "DynamicResources", "the alternative of a request scores", "dynamicresources/dynamicresources.go"),
    Change(34, "TaintToleration", "does not name the taint", "tainttoleration/taint_toleration.go"),
    Change(34, "NodeResourcesFit", "no eviction where the pod is too large for the node", "noderesources/fit.go"),
    Change(34, "VolumeRestrictions", "other words", "volumerestrictions/volume_restrictions.go"),
)


_OF_RESIZES = "InPlacePodLevelResourcesVerticalScaling"


def changes(before: int, after: int) -> Iterator[Change]:
    """What differs between the minor versions, the newest first; `before` may be the newer one."""
    low, high = sorted((before, after))
    yield from (rule for rule in _RULES if low < rule.since <= high)
    for since in range(high, low, -1):
        yield from (
            Change(since, "", gate, of_resizes=gate == _OF_RESIZES)
            for gate in sorted(default_gates(since) - default_gates(since - 1))
        )
