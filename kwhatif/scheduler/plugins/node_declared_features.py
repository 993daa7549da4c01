"""NodeDeclaredFeatures: features that a node must declare (`plugins/nodedeclaredfeatures/nodedeclaredfeatures.go`).

The required features follow from the pod's spec (`component-helpers/nodedeclaredfeatures/features`). Other features in
that package matter only for updates of running pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.evidence import MissingFeature
from kwhatif.scheduler.framework.hints import ClusterEventWithHint, QueueingHint, builtin, is_same_pod, queue_if
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads, always
from kwhatif.scheduler.framework.signers import Fragments
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Status, error, unresolvable
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

RESTART_ALL_CONTAINERS = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_HOST_NETWORK = "UserNamespacesHostNetworkSupport"


def required_features(spec: PodSpec) -> frozenset[str]:
    """The features that the pod requires of its node."""
    features = set()
    if any(
        rule.action == "RestartAllContainers"
        for container in (*spec.containers, *spec.init_containers)
        for rule in container.restart_policy_rules
    ):
        features.add(RESTART_ALL_CONTAINERS)
    if spec.host_network and spec.host_users is False:
        features.add(USER_NAMESPACES_HOST_NETWORK)
    return frozenset(features)


class _Declares(NodeFilter):
    reads = Reads.SHAPE

    def __init__(self, required: frozenset[str]) -> None:
        self._required = required

    def filter(self, node: NodeInfo) -> Status:
        missing = sorted(self._required - node.declared_features)
        return unresolvable(self._reason(missing), MissingFeature(tuple(missing))) if missing else SUCCESS

    def _reason(self, missing: Sequence[str]) -> str:
        return "node(s) didn't match Pod's required features"


class _DeclaresByName(_Declares):
    def _reason(self, missing: Sequence[str]) -> str:
        return f"node declared features check failed - unsatisfied requirements: {', '.join(missing)}"


class NodeDeclaredFeatures:
    """Rejects nodes that do not declare all features that the pod's spec requires."""

    name: ClassVar[str] = "NodeDeclaredFeatures"
    _filter: ClassVar[type[_Declares]] = _Declares

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter | Status:
        """SKIP for a pod that requires no feature."""
        required = required_features(pod.pod.spec)
        return self._filter(required) if required else SKIP

    #: Filter fails, because it needs PreFilter's state.
    without_pre_filter = always(error('error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'))

    def sign(self, pod: PodInfo, state: State) -> Fragments:
        """The features that the pod requires."""
        return {signers.FEATURES: required_features(pod.pod.spec)}

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """A node is added, or its declared features change; the pod changes."""
        node = ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE
        return (
            builtin(EventResource.NODE, node, _after_node_change),
            builtin(EventResource.POD, ActionType.UPDATE, _after_pod_update),
        )


class NodeDeclaredFeaturesByName(NodeDeclaredFeatures):
    """The plugin in 1.35: the reason names the features."""

    _filter = _DeclaresByName


def _after_node_change(_pod: PodInfo, old: Node | None, new: Node, _cluster: Cluster) -> QueueingHint:
    return queue_if(old is None or old.status.declared_features != new.status.declared_features)


def _after_pod_update(pod: PodInfo, old: Pod, new: Pod, _cluster: Cluster) -> QueueingHint:
    """The features that the pod itself requires have changed."""
    return queue_if(is_same_pod(pod, new) and required_features(old.spec) != required_features(new.spec))
