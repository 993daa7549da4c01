"""NodeResourcesFit: the node must have enough resources for the pod; scores nodes by their usage with the pod.

(`pkg/scheduler/framework/plugins/noderesources/fit.go`.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Sequence
from functools import partial
from typing import ClassVar

from kwhatif.dra.devices import IMPLICIT_PREFIX, ClassesOf, classes_under
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.requests import (
    MISSING_REQUESTS,
    PODS,
    Resources,
    is_extended_resource,
    is_scalar_resource,
    pod_requests,
    pod_resources,
    resource_nanos,
    to_resources,
    units,
)
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.kube.model.quantity import value
from kwhatif.kube.model.resource import DeviceClass
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.hints import (
    QUEUE,
    QUEUE_SKIP,
    ClusterEventWithHint,
    HintIndex,
    Keys,
    QueueingHint,
    answer_at_once,
    builtin,
    queue_if,
)
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, Proposal, always
from kwhatif.scheduler.framework.scoring_strategy import (
    DEFAULT_RESOURCES,
    ScoringStrategy,
    compile_resources,
    compile_strategy,
    most_allocated,
)
from kwhatif.scheduler.framework.signers import Fragments
from kwhatif.scheduler.framework.status import error
from kwhatif.scheduler.plugins.node_resources_fit.room import EvictableRoom, Room
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


def events_to_register(gates: Gates = BASE_GATES) -> Sequence[ClusterEventWithHint]:
    """A pod is deleted or scaled down; a node is added or grows; a DeviceClass gets the name of a resource."""
    pod = ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN
    node = ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE
    classes_of = classes_under(gates)
    by_size = HintIndex(_by_size, partial(_sizes_that_fit, classes_of))
    events = (
        builtin(EventResource.POD, pod, _after_pod_event, HintIndex(_requested_names, _released_names)),
        builtin(EventResource.NODE, node, partial(_after_node_change, classes_of), by_size),
    )
    if "DRAExtendedResource" not in gates:
        return events
    return *events, builtin(EventResource.DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE, _after_class_event)


# --- pods --------------------------------------------------------------------------------------------


def _after_pod_event(pod: PodInfo, old: Pod, new: Pod | None, _cluster: Cluster) -> QueueingHint:
    """Any pod on a node was deleted; the pod requests less; another pod released resources that it requests."""
    at_once = answer_at_once(pod, old, new)
    if at_once is not None or new is None:
        return at_once or QUEUE
    before, after = (pod_resources(one).requested for one in (old, new))
    return queue_if(
        new.spec.node_name and any(after.of(name) < before.of(name) for name in pod.resources.requested.asked)
    )


def _requested_names(pod: Pod) -> Keys:
    return pod_resources(pod).requested.asked


def _released_names(old: Pod, new: Pod | None, _cluster: Cluster) -> Keys:
    if new is None:
        return None
    before, after = (pod_resources(one).requested for one in (old, new))
    return [name for name in before.asked if after.of(name) < before.of(name)]


# --- nodes -------------------------------------------------------------------------------------------


def _after_node_change(
    classes_of: ClassesOf, pod: PodInfo, old: Node | None, new: Node, cluster: Cluster
) -> QueueingHint:
    """The pod fits the empty node, and a resource that it requests has increased."""
    asked = pod.derived(_pending_requests)
    after = _room(new)
    classes = classes_of(cluster)
    if not after.has(asked, classes):
        return QUEUE_SKIP
    return queue_if(old is None or after.grew(_room(old), asked, classes))


def _pending_requests(pod: Pod) -> Resources:
    """The requests of a pending pod: only the spec counts."""
    return to_resources(pod_requests(pod))


def _by_size(pod: Pod) -> Keys:
    """Pods by the first scalar resource that they request, or by the number of bits of their cpu request."""
    asked = _pending_requests(pod)
    special = next((name for name, amount in asked.scalars if amount > 0), None)
    if special is not None:
        return (special,)
    return None if asked.cpu < 0 else (asked.cpu.bit_length(),)


def _sizes_that_fit(classes_of: ClassesOf, _old: Node | None, new: Node, cluster: Cluster) -> Keys:
    room = _room(new).amounts
    special = (name for name, _ in room.scalars)
    return [*range(room.cpu.bit_length() + 1), *special, *classes_of(cluster)]


class _Room:
    """The resources of a node without pods."""

    def __init__(self, node: Node) -> None:
        amounts = resource_nanos(node.status.allocatable)
        self.pods = value(amounts.get(PODS, 0))
        self.amounts = to_resources(amounts)

    def has(self, asked: Resources, classes: Container[str]) -> bool:
        """Whether there is room for a pod with these requests.

        QUIRK: (isFit) resources in `ignoredResources` count here.
        """
        most = self.amounts
        if not self.pods or asked.cpu > most.cpu or asked.memory > most.memory or asked.ephemeral > most.ephemeral:
            return False
        return all(
            amount <= most.scalar(name) or self._leaves_it_to_devices(name, classes) for name, amount in asked.scalars
        )

    def grew(self, before: _Room, asked: Resources, classes: Container[str]) -> bool:
        """Whether there is more of a requested resource than before (`haveAnyRequestedResourcesIncreased`)."""
        if self.pods > before.pods:
            return True
        return any(
            self.amounts.of(name) > before.amounts.of(name) or self._leaves_it_to_devices(name, classes)
            for name in asked.asked
        )

    def _leaves_it_to_devices(self, name: str, classes: Container[str]) -> bool:
        """Whether a scalar resource that the node lacks has a DeviceClass (`shouldDelegateResourceToDRA`)."""
        return self.amounts.of(name) <= 0 and name in classes


#: The nodes of the last event, cached because all pending pods are checked against it.
_last: deque[tuple[Node, _Room]] = deque(maxlen=2)


def _room(node: Node) -> _Room:
    for known, room in _last:
        if known is node:
            return room
    room = _Room(node)
    _last.append((node, room))
    return room


# --- device classes ----------------------------------------------------------------------------------


def _after_class_event(pod: PodInfo, old: DeviceClass | None, new: DeviceClass, _cluster: Cluster) -> QueueingHint:
    """The class now has the name of an extended resource that the pod requests."""
    explicit = new.spec.extended_resource_name
    if old is not None and (old.spec.extended_resource_name or "") == (explicit or ""):
        return QUEUE_SKIP
    names = pod_requests(pod.pod, pod_level=True).keys()
    if old is None and IMPLICIT_PREFIX + new.metadata.name in names:
        return QUEUE
    return queue_if(explicit is not None and explicit in names)


#: Without feature gates devices do not provide extended resources.
_NO_GATES: Gates = frozenset()


class NodeResourcesFitArgs(Model):
    """`NodeResourcesFitArgs`; the extenders' `ignoredByScheduler` resources replace `ignoredResources`."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy()


class NodeResourcesFit:
    """Rejects nodes without enough resources for the pod's requests; scores nodes by their usage with the pod."""

    name: ClassVar[str] = "NodeResourcesFit"
    _room: ClassVar[type[Room]] = Room

    def __init__(self, args: NodeResourcesFitArgs | None = None, *, gates: Gates = BASE_GATES) -> None:
        self.args = args = args or NodeResourcesFitArgs()
        self._gates = gates
        self._classes_of = classes_under(gates)
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._resources = args.scoring_strategy.resources or DEFAULT_RESOURCES
        self._scorer = compile_strategy(args.scoring_strategy)

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter:
        """Compile the pod's requests. A pending pod cannot be in a resize: only its spec counts."""
        cpu, memory, ephemeral, scalars = to_resources(pod_requests(pod.pod))
        checked = tuple((name, amount) for name, amount in scalars if amount > 0 and not self._ignores(name))
        classes = self._classes_of(state.cluster) if checked else {}
        backed = frozenset(name for name, _ in checked if name in classes)
        # QUIRK: (types.go, SetMaxResource) a sum that is negative after an overflow counts as 0.
        return self._room(Resources(max(0, cpu), max(0, memory), max(0, ephemeral), checked), backed)

    #: Filter fails, because it needs PreFilter's state.
    without_pre_filter = always(error('error reading "PreFilterNodeResourcesFit" from cycleState: not found'))

    def pre_score(self, pod: PodInfo, state: State, nodes: Sequence[NodeInfo]) -> NodeScorer:
        """Compile the pod's requests for scoring.

        QUIRK: (resource_allocation.go) Score ignores pod-level resources, although Filter uses them.
        """
        requests = pod_requests(pod.pod, pod_level=False, missing=MISSING_REQUESTS)
        return self._scorer(
            compile_resources(self._resources, requests, state.cluster, nonzero=True, gates=self._gates)
        )

    def score_placement(self, group: PodGroup, state: State, proposal: Proposal) -> int:
        """The usage of all nodes of the placement together; higher usage scores higher (`scorePlacement`).

        QUIRK: (resource_allocation.go) for a resource that devices may provide, only the node's own amount counts.
        """
        requests = [pod_requests(pod.pod, pod_level=False, missing=MISSING_REQUESTS) for pod in proposal.pods]
        total = weights = 0
        for spec in self._resources:
            asked = sum(units(spec.name, each.get(spec.name, 0)) for each in requests)
            if not asked and is_scalar_resource(spec.name):
                continue
            (entry,) = compile_resources((spec,), {spec.name: 10**9}, state.cluster, nonzero=True, gates=_NO_GATES)
            found = [(has, used) for has, used in map(entry.usage, proposal.placement.nodes) if has]
            if found:
                has, used = map(sum, zip(*found, strict=True))
                total += most_allocated(asked + used, has) * entry.weight
                weights += entry.weight
        return total // weights if weights else 0

    def normalize_placement_scores(self, scores: Sequence[int]) -> Sequence[int]:
        """The scores, unchanged."""
        return scores

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle only the arguments and the gates: everything else is compiled from them."""
        return partial(type(self), gates=self._gates), (self.args,)

    def sign(self, pod: PodInfo, state: State) -> Fragments | None:
        """The pod's requests; the pod cannot be signed if devices may provide one of them."""
        return signers.resources(pod.pod, self._classes_of(state.cluster))

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """The events with these feature gates."""
        return events_to_register(self._gates)

    def _ignores(self, name: str) -> bool:
        if not is_extended_resource(name):
            return False
        return name in self._ignored or name.partition("/")[0] in self._ignored_groups


class NodeResourcesFitUntil133(NodeResourcesFit):
    """The plugin up to 1.33."""

    _room = EvictableRoom
