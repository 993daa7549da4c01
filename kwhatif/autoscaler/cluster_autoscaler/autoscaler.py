"""`ClusterAutoscaler`: its scale-up, its scale-down, and the caveats of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from kwhatif.autoscaler.cluster_autoscaler.groups import DEFAULT_EXPANDER, NO_MAXIMUM, NodeGroup, NodeGroups
from kwhatif.autoscaler.cluster_autoscaler.nodes import is_halted, unready_of
from kwhatif.autoscaler.cluster_autoscaler.pods import is_expendable, is_mirror, pods_to_help, shown, snapshot_of
from kwhatif.autoscaler.cluster_autoscaler.scale_down import ScaleDown
from kwhatif.autoscaler.cluster_autoscaler.scale_up import ScaleUp, Scaling, upcoming
from kwhatif.autoscaler.cluster_autoscaler.templates import Template, copied_templates, templates_of
from kwhatif.autoscaler.contract import (
    Autoscaler,
    Decided,
    IgnoredPod,
    NewNode,
    RefusedPod,
    ScalingPlan,
    ScalingRound,
    free_names,
)
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import (
    AutoscalerHalted,
    ExpanderAssumed,
    ExpanderTied,
    ExpendablePodsCount,
    FlagsNotModelled,
    GroupBoundsUnknown,
    PricesUnknown,
)
from kwhatif.kube.model.meta import parse_time
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.state.state import State

#: Why no node is added for a pod yet (`filterOutYoungPods`).
_YOUNG = "at {at} it has not waited for longer than new-pod-scale-up-delay, or its annotation, says"


def scale_up(
    state: State,
    profiles: Mapping[str, Profile],
    settings: NodeGroups,
    at: str,
    cached: Mapping[str, Template] | None = None,
) -> tuple[ScalingRound, tuple[Caveat, ...]]:
    """The nodes that one loop adds for the pods that are marked unschedulable.

    Args:
        state: the cluster, which stays as it is.
        profiles: the scheduler's profiles; the autoscaler knows them only if `scheduler-config-file` is set.
        settings: the node groups, the expander and the flags.
        at: the moment, RFC 3339.
        cached: templates of nodes that existed before.
    """
    now, flags = parse_time(at), settings.flags
    caveats = (*_of_settings(settings), *_of_expendable(state, settings))
    unready = unready_of((info.node for info in state.nodes), flags)
    if is_halted(unready, len(state.nodes), flags, now):
        return ScalingRound(), (*caveats, AutoscalerHalted())
    templates = templates_of(settings, state, now, cached)
    snapshot = snapshot_of(state, _profile(profiles, settings), flags, expendable=True)
    upcoming(settings, snapshot, templates, unready, now)
    unschedulable = pods_to_help(snapshot, state, flags, now)
    ready = len(state.nodes) - len(unready)
    ignored = tuple(IgnoredPod(pod=shown(pod), reason=_YOUNG.format(at=at)) for pod in unschedulable.young)
    if not unschedulable.pods or not (ready or flags.scale_up_from_zero):
        return ScalingRound(ignored=ignored), caveats
    if 0 < flags.max_nodes_total <= ready:
        message = f"max total nodes in cluster reached: {flags.max_nodes_total}"
        refused = tuple(RefusedPod(pod=shown(pod), message=message) for pod in unschedulable.pods)
        return ScalingRound(refused=refused, ignored=ignored), caveats
    found = ScaleUp(snapshot, settings, templates, unschedulable.pods, unready).run()
    return replace(found.round, ignored=ignored), (*caveats, *_of_choice(settings, found))


class ClusterAutoscaler(msgspec.Struct, frozen=True):
    """The autoscaler with its node groups."""

    settings: NodeGroups
    #: The names of nodes that were requested and do not exist yet.
    coming: frozenset[str] = frozenset()
    #: Node group -> the template of a node that it has seen.
    cached: Mapping[str, Template] = {}
    name: ClassVar[Autoscaler] = "cluster-autoscaler"
    kind: ClassVar[str] = "ClusterAutoscaler"
    #: `--scan-interval`.
    delay: ClassVar[float] = 10.0

    @classmethod
    def of(cls, settings: NodeGroups, state: State, at: str) -> ClusterAutoscaler:
        """The autoscaler of a cluster, with templates of the cluster's nodes."""
        return cls(settings, cached=copied_templates(settings, state, parse_time(at)))

    def decide(self, state: State, profiles: Mapping[str, Profile], at: str) -> Decided:
        """One loop; see `NodeAutoscaler`."""
        settings = replace(self.settings, groups=[_present(group, state) for group in self.settings.groups])
        found, caveats = scale_up(state, profiles, settings, at, self.cached)
        nodes = tuple(self._asked_for(found, state, at)) if found.scale_up else ()
        more = {each.group: each.delta for each in found.scale_up}
        groups = [_enlarged(group, more.get(group.name, 0)) for group in settings.groups]
        coming = self.coming.union(node.name for node in nodes)
        return Decided(
            found, nodes, replace(self, settings=replace(self.settings, groups=groups), coming=coming), caveats
        )

    def _asked_for(self, found: ScalingRound, state: State, at: str) -> Iterator[NewNode]:
        templates = templates_of(self.settings, state, parse_time(at), self.cached)
        prices = {group.name: group.price for group in self.settings.groups}
        for row in found.scale_up:
            template = templates[row.group].real()
            names = free_names(template.node.metadata.name, state, self.coming)
            for name in islice(names, row.delta):
                suffix = name.removeprefix(f"{template.node.metadata.name}-")
                node, pods, besides = template.made(suffix)
                node = replace(node, metadata=replace(node.metadata, creation_timestamp=at))
                mirrors = (pod for pod in pods if is_mirror(pod))  # DaemonSets create their own
                yield NewNode(
                    node=node,
                    group=row.group,
                    price=prices.get(row.group),
                    startup_taints=template.startup_taints,
                    besides=(*besides, *mirrors),
                )

    def with_nodes(self, nodes: Sequence[NewNode]) -> ClusterAutoscaler:
        """See `NodeAutoscaler`."""
        there: dict[str, list[str]] = {}
        for node in nodes:
            there.setdefault(node.group, []).append(node.name)
        groups = [replace(group, nodes=(*group.nodes, *there.get(group.name, ()))) for group in self.settings.groups]
        coming = self.coming.difference(node.name for node in nodes)
        return replace(self, settings=replace(self.settings, groups=groups), coming=coming)

    def is_bounded(self, group: str, state: State) -> bool:
        """See `NodeAutoscaler`."""
        del state
        maxima = {each.name: each.maximum for each in self.settings.groups}
        return maxima.get(group, NO_MAXIMUM) < NO_MAXIMUM or self.settings.flags.is_bounded


def _present(group: NodeGroup, state: State) -> NodeGroup:
    """The group without deleted nodes: it is assumed that the cloud does not replace them by itself."""
    nodes = tuple(name for name in group.nodes if state.node(name) is not None)
    gone = len(group.nodes) - len(nodes)
    if not gone:
        return group
    target = None if group.target is None else max(group.target - gone, 0)
    return replace(group, nodes=nodes, target=target)


def _enlarged(group: NodeGroup, nodes: int) -> NodeGroup:
    return replace(group, target=group.size + nodes) if nodes else group


def _profile(profiles: Mapping[str, Profile], settings: NodeGroups) -> Profile:
    return next(iter(profiles.values())) if settings.flags.scheduler_config_file else default_profile()


def _of_settings(settings: NodeGroups) -> Iterator[Caveat]:
    names = tuple(group.name for group in settings.groups if not group.has_bounds)
    if names or not settings.groups:
        yield GroupBoundsUnknown(groups=names)
    if settings.unmodelled:
        yield FlagsNotModelled(flags=settings.unmodelled)


def _of_expendable(state: State, settings: NodeGroups) -> Iterator[Caveat]:
    cutoff = settings.flags.expendable_pods_priority_cutoff
    pods = tuple(info.key for node in state.nodes for info in node.pods if is_expendable(info.pod, cutoff))
    if pods:
        yield ExpendablePodsCount(cutoff=cutoff, pods=tuple(sorted(pods)))


def _of_choice(settings: NodeGroups, found: Scaling) -> Iterator[Caveat]:
    if settings.expander is None and found.options > 1:
        yield ExpanderAssumed(expander=DEFAULT_EXPANDER)
    if found.tied:
        yield ExpanderTied(groups=found.tied)
    if found.unpriced:
        yield PricesUnknown(names=found.unpriced)


def scale_down(
    state: State, profiles: Mapping[str, Profile], settings: NodeGroups, at: str
) -> tuple[ScalingPlan, tuple[Caveat, ...]]:
    """Which nodes are unneeded now; arguments as of `scale_up`."""
    now, caveats, flags = parse_time(at), tuple(_of_settings(settings)), settings.flags
    if is_halted(unready_of((info.node for info in state.nodes), flags), len(state.nodes), flags, now):
        caveats = (*caveats, AutoscalerHalted())
    snapshot = snapshot_of(state, _profile(profiles, settings), flags)
    found = ScaleDown(snapshot, state.cluster, settings, now).run()
    return ScalingPlan(nodes=tuple(found)), caveats
