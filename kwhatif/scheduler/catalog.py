"""The table of plugins: name, points, default order (`pkg/scheduler/apis/config/v1/default_plugins.go`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.scheduler.framework.plugin import Plugin
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Point, Profile
from kwhatif.scheduler.plugins.default_preemption import DefaultPreemption, DefaultPreemptionArgs
from kwhatif.scheduler.plugins.dynamic_resources import DynamicResources, DynamicResourcesArgs, DynamicResourcesDisabled
from kwhatif.scheduler.plugins.image_locality import ImageLocality
from kwhatif.scheduler.plugins.inter_pod_affinity import InterPodAffinity, InterPodAffinityArgs
from kwhatif.scheduler.plugins.node_affinity import NodeAffinity, NodeAffinityArgs
from kwhatif.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from kwhatif.scheduler.plugins.node_name import NodeName
from kwhatif.scheduler.plugins.node_ports import NodePorts
from kwhatif.scheduler.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
    NodeResourcesBalancedAllocationArgs,
)
from kwhatif.scheduler.plugins.node_resources_fit import NodeResourcesFit, NodeResourcesFitArgs
from kwhatif.scheduler.plugins.node_unschedulable import NodeUnschedulable
from kwhatif.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from kwhatif.scheduler.plugins.pod_topology_spread import PodTopologySpread, PodTopologySpreadArgs
from kwhatif.scheduler.plugins.scheduling_gates import SchedulingGates
from kwhatif.scheduler.plugins.taint_toleration import TaintToleration
from kwhatif.scheduler.plugins.volume_binding import VolumeBinding, VolumeBindingArgs
from kwhatif.scheduler.plugins.volume_restrictions import VolumeRestrictions
from kwhatif.scheduler.plugins.volume_zone import VolumeZone

P = Point
_FILTER = (P.PRE_FILTER, P.FILTER)
_SCORE = (P.PRE_SCORE, P.SCORE)


class Entry(msgspec.Struct, frozen=True):
    """One plugin: the extension points it has upstream, how to make it, and its place in the default profile.

    `factory` None: it decides nothing that kwhatif answers (binding, the order of the queue).
    """

    name: str
    points: tuple[Point, ...]
    factory: Callable[..., Plugin] | None = None
    args: type[msgspec.Struct] | None = None
    weight: int = 1
    #: Enabled unless a configuration says otherwise.
    default: bool = True
    #: The plugin whose place it takes in every profile that enables it.
    replaces: str = ""
    #: The feature gate without which it is not enabled by default, and does nothing.
    gate: str = ""
    #: Whether the factory takes the feature gates that are on, as `gates`.
    gated: bool = False
    #: What stands for it without its gate where a configuration enables it; None: nothing.
    without_gate: Callable[[], Plugin] | None = None
    #: The checks of its arguments, where they are not those of its name (`configuration/validate.py`).
    checks: str = ""

    def make(self, gates: Gates, *args: object) -> Plugin | None:
        """The plugin with these arguments, decoded; None: it decides nothing."""
        if self.gate and self.gate not in gates:
            return self.without_gate() if self.without_gate is not None else None
        if self.factory is None:
            return None
        return self.factory(*args, gates=gates) if self.gated else self.factory(*args)

    def under(self, gates: Gates) -> Entry:
        """The entry where these gates are on: without its gate it is not part of the default profile."""
        return replace(self, default=False) if self.gate and self.gate not in gates else self


#: In the order of the default profile's MultiPoint list.
ENTRIES: tuple[Entry, ...] = (
    Entry("SchedulingGates", (P.PRE_ENQUEUE,), SchedulingGates),
    Entry("PrioritySort", (P.QUEUE_SORT,)),
    Entry("NodeUnschedulable", (P.FILTER,), NodeUnschedulable),
    Entry("NodeName", (P.FILTER,), NodeName),
    Entry("TaintToleration", (P.FILTER, *_SCORE), TaintToleration, weight=3),
    Entry("NodeAffinity", (*_FILTER, *_SCORE), NodeAffinity, NodeAffinityArgs, weight=2),
    Entry("NodePorts", _FILTER, NodePorts),
    Entry(
        "NodeResourcesFit", (*_FILTER, *_SCORE, P.PLACEMENT_SCORE), NodeResourcesFit, NodeResourcesFitArgs, gated=True
    ),
    Entry("VolumeRestrictions", _FILTER, VolumeRestrictions),
    Entry("NodeVolumeLimits", _FILTER, NodeVolumeLimits, gated=True),
    Entry("VolumeBinding", (*_FILTER, P.RESERVE, P.PRE_BIND, *_SCORE), VolumeBinding, VolumeBindingArgs, gated=True),
    Entry("VolumeZone", _FILTER, VolumeZone),
    Entry("PodTopologySpread", (*_FILTER, *_SCORE), PodTopologySpread, PodTopologySpreadArgs, weight=2),
    Entry("InterPodAffinity", (*_FILTER, *_SCORE), InterPodAffinity, InterPodAffinityArgs, weight=2),
    Entry(
        "DynamicResources",
        (P.PRE_ENQUEUE, *_FILTER, P.POST_FILTER, P.SCORE, P.RESERVE, P.PRE_BIND),
        DynamicResources,
        DynamicResourcesArgs,
        weight=2,
        gate="DynamicResourceAllocation",
        without_gate=DynamicResourcesDisabled,
        gated=True,
    ),
    Entry("DefaultPreemption", (P.PRE_ENQUEUE, P.POST_FILTER), DefaultPreemption, DefaultPreemptionArgs),
    Entry(
        "NodeResourcesBalancedAllocation",
        _SCORE,
        NodeResourcesBalancedAllocation,
        NodeResourcesBalancedAllocationArgs,
        gated=True,
    ),
    Entry("ImageLocality", (P.SCORE,), ImageLocality),
    Entry("DefaultBinder", (P.BIND,)),
    Entry("NodeDeclaredFeatures", _FILTER, NodeDeclaredFeatures, gate="NodeDeclaredFeatures"),
    # About groups of pods, up to 1.36 an alpha API: known to a configuration, not modelled.
    Entry("GangScheduling", (P.PRE_ENQUEUE, P.PERMIT), default=False),
    Entry("TopologyPlacementGenerator", (P.PLACEMENT_GENERATE,), default=False),
    Entry("PodGroupPodsCount", (P.PLACEMENT_SCORE,), default=False),
)


def make_profile(
    plugins: Mapping[Point, Sequence[str]],
    made: Mapping[str, Plugin],
    weights: Mapping[str, int],
    *,
    scheduler_name: str = DEFAULT_SCHEDULER,
    gates: Gates = BASE_GATES,
) -> Profile:
    """A profile from plugin names by point; `made` holds the plugins that decide anything, by name."""

    def at(point: Point) -> tuple[Plugin, ...]:
        return tuple(made[name] for name in plugins.get(point, ()) if name in made)

    def having(point: Point, method: str) -> tuple[Plugin, ...]:
        return tuple(plugin for plugin in at(point) if hasattr(plugin, method))

    return Profile(
        scheduler_name=scheduler_name,
        pre_enqueue=having(P.PRE_ENQUEUE, "pre_enqueue"),  # type: ignore[arg-type]
        pre_filter=having(P.PRE_FILTER, "pre_filter"),  # type: ignore[arg-type]
        filter=having(P.FILTER, "pre_filter"),  # type: ignore[arg-type]
        post_filter=having(P.POST_FILTER, "post_filter"),  # type: ignore[arg-type]
        pre_score=having(P.PRE_SCORE, "pre_score"),  # type: ignore[arg-type]
        score=having(P.SCORE, "pre_score"),  # type: ignore[arg-type]
        weights=weights,
        placement_generate=having(P.PLACEMENT_GENERATE, "generate_placements"),  # type: ignore[arg-type]
        pod_group_post_filter=at(P.POD_GROUP_POST_FILTER),
        placement_score=having(P.PLACEMENT_SCORE, "score_placement"),  # type: ignore[arg-type]
        gates=gates,
    )


def default_profile(entries: Sequence[Entry] = ENTRIES, gates: Gates = BASE_GATES) -> Profile:
    """The profile that kube-scheduler runs without a configuration."""
    enabled = [entry for entry in entries if entry.under(gates).default]
    made = {entry.name: plugin for entry in enabled if (plugin := entry.make(gates)) is not None}
    plugins = {point: [entry.name for entry in enabled if point in entry.points] for point in Point}
    return make_profile(plugins, made, {entry.name: entry.weight for entry in enabled}, gates=gates)
