"""Nodes joined with their NodeClaims (`pkg/controllers/state/statenode.go`, `cluster.go`), and the cluster's state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from kwhatif.autoscaler.karpenter.amounts import NODES, Amounts, Sum, merged, parsed, requests_of, subtracted
from kwhatif.autoscaler.karpenter.instance_types import Catalogue
from kwhatif.autoscaler.karpenter.pods import PdbLimits, PodData, container_ports, is_daemon
from kwhatif.autoscaler.karpenter.requirements import (
    INITIALIZED,
    INSTANCE_TYPE,
    NODE_POOL,
    REGISTERED,
    label_requirements,
)
from kwhatif.autoscaler.karpenter.settings import DEFAULTS, Settings
from kwhatif.autoscaler.karpenter.topology import Standing
from kwhatif.autoscaler.karpenter.topology_groups import StandingNode
from kwhatif.autoscaler.karpenter.volumes import VolumeLostError, Volumes, attached, merged_volumes, volume_alternatives
from kwhatif.kube.matching.nodes import NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE_TAINT, HostPort
from kwhatif.kube.model.bystanders import NodeClaim, NodePool, karpenter_condition
from kwhatif.kube.model.cluster import Cluster, identity, key_of
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.node import HOSTNAME, Node, Taint
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.quantity import NANO, parse_duration
from kwhatif.kube.model.storage import CSINode
from kwhatif.state.state import State

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
#: Taints that go away while a node is initialized: key, effect and value.
_EPHEMERAL = {
    ("node.kubernetes.io/not-ready", NO_SCHEDULE),
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_SCHEDULE),
    ("node.cloudprovider.kubernetes.io/uninitialized", NO_SCHEDULE),
    ("karpenter.sh/unregistered", NO_EXECUTE),
}
_EPHEMERAL_PREFIX = "readiness.k8s.io/"
NEVER = "Never"


def is_true(claim: NodeClaim | NodePool, condition: str) -> bool:
    """Whether the condition exists and is True."""
    found = karpenter_condition(claim, condition)
    return found is not None and found.status == "True"


def is_going(claim: NodeClaim) -> bool:
    """Whether the machine is being deleted."""
    return claim.metadata.deletion_timestamp is not None or is_true(claim, "InstanceTerminating")


def nanos_of(text: str | None) -> int | None:
    """A time in nanoseconds since the epoch; None if it is missing or not valid."""
    try:
        return parse_time(text) if text else None
    except ValueError:
        return None


def duration_of(text: str | None) -> int | None:
    """A duration in nanoseconds; None if it is missing, "Never", or not valid."""
    try:
        return parse_duration(text) if text and text != NEVER else None
    except ValueError:
        return None


class StateNode:
    """A node, its NodeClaim, or both (`StateNode`)."""

    def __init__(self, node: Node | None, claim: NodeClaim | None, pods: Sequence[Pod]) -> None:
        self.node, self.claim = node, claim
        #: The unfinished pods on the node.
        self.pods = pods
        self.managed = claim is not None
        self.registered = claim is None or (node is not None and node.metadata.labels.get(REGISTERED) == "true")
        self.initialized = claim is None or (node is not None and node.metadata.labels.get(INITIALIZED) == "true")
        shown = claim if claim is not None and not self.registered else node or claim
        assert shown is not None
        meta = shown.metadata
        self.name = meta.name
        self.labels: Mapping[str, str] = meta.labels
        self.annotations: Mapping[str, str] = meta.annotations
        self.hostname = self.labels.get(HOSTNAME) or self.name

    @property
    def pool(self) -> str | None:
        """The name of its NodePool."""
        return self.labels.get(NODE_POOL)

    @property
    def is_going(self) -> bool:
        """Whether it is being deleted (`MarkedForDeletion`)."""
        if self.claim is not None:
            return is_going(self.claim)
        return self.node is not None and self.node.metadata.deletion_timestamp is not None

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """The taints that count; before it is initialized, without taints that will be removed."""
        claim = self.claim
        if claim is not None and (self.node is None or not self.registered):
            taints = claim.spec.taints
        else:
            assert self.node is not None
            taints = node_taints(self.node)
        if claim is None or self.initialized:
            return taints
        startup = {(taint.key, taint.effect) for taint in claim.spec.startup_taints}
        return tuple(taint for taint in taints if not _is_ephemeral(taint) and (taint.key, taint.effect) not in startup)

    @cached_property
    def capacity(self) -> Sum:
        """The machine's capacity; it has one of the resource `nodes`."""
        node = self.node
        known = self._with_claim(
            parsed(node.status.capacity) if node is not None else {},
            self.claim.status.capacity if self.claim is not None else {},
        )
        return {**known, NODES: NANO}

    @cached_property
    def allocatable(self) -> Sum:
        """The machine's allocatable."""
        node = self.node
        own: Amounts = {} if node is None else parsed(node.status.allocatable_or_capacity)
        return self._with_claim(own, self.claim.status.allocatable if self.claim is not None else {})

    def _with_claim(self, own: Amounts, of_claim: Mapping[str, object]) -> Sum:
        """Until the node is initialized, amounts that it does not have yet come from the claim."""
        found = dict(own)
        if self.claim is not None and not self.initialized:
            for name, amount in parsed(of_claim).items():  # type: ignore[arg-type]
                if not found.get(name):
                    found[name] = amount
        return found

    @cached_property
    def available(self) -> Sum:
        """The allocatable that its pods do not request."""
        return subtracted(self.allocatable, merged(*(requests_of(pod) for pod in self.pods)))

    @cached_property
    def daemon_requests(self) -> Sum:
        """The requests of DaemonSet pods on it."""
        return merged(*(requests_of(pod) for pod in self.pods if is_daemon(pod)))

    @cached_property
    def ports(self) -> dict[str, tuple[HostPort, ...]]:
        """The host ports in use, by pod."""
        found = ((key_of(pod), container_ports(pod)) for pod in self.pods)
        return {key: ports for key, ports in found if ports}


def _is_ephemeral(taint: Taint) -> bool:
    return (taint.key, taint.effect) in _EPHEMERAL or taint.key.startswith(_EPHEMERAL_PREFIX)


def node_taints(node: Node) -> tuple[Taint, ...]:
    """The taints of a node; a node that was just cordoned also has the taint that follows."""
    taints = node.spec.taints
    if node.spec.unschedulable and all(taint.key != UNSCHEDULABLE_TAINT.key for taint in taints):
        return (*taints, UNSCHEDULABLE_TAINT)
    return taints


def _state_nodes(cluster: Cluster, pods: Mapping[str, Sequence[Pod]]) -> Iterator[StateNode]:
    """Nodes and NodeClaims, joined by provider ID (`Cluster.UpdateNode`, `UpdateNodeClaim`)."""
    claims = {claim.status.provider_id: claim for claim in cluster.all(NodeClaim).values() if claim.status.provider_id}
    nodes: dict[str, Node] = {}
    for node in cluster.all(Node).values():
        labels, machine = node.metadata.labels, node.spec.provider_id
        managed = bool(labels.get(NODE_POOL))
        if managed and (not machine or not (labels.get(INSTANCE_TYPE) or labels.get(INITIALIZED))):
            continue  # the machine is not known yet
        nodes[machine or node.metadata.name] = node
    for machine, node in nodes.items():
        yield StateNode(node, claims.pop(machine, None), pods.get(node.metadata.name, ()))
    for claim in claims.values():
        yield StateNode(None, claim, ())


class ClusterState:
    """A cluster at one moment, prepared for questions: built once, and shared by all simulations."""

    def __init__(self, state: State, catalogue: Catalogue, now: int, settings: Settings = DEFAULTS) -> None:
        self.cluster = state.cluster
        self.catalogue = catalogue
        self.settings = settings
        #: Nanoseconds since the epoch.
        self.now = now
        by_node: dict[str, list[Pod]] = {}
        waiting: list[Pod] = []
        for info in state.pods.values():
            pod = info.pod
            (by_node.setdefault(pod.spec.node_name, []) if pod.spec.node_name else waiting).append(pod)
        #: The pods without a node.
        self.waiting = waiting
        #: Sorted by name as upstream does, initialized nodes first (`sortExistingNodes`).
        self.nodes = sorted(_state_nodes(self.cluster, by_node), key=lambda each: (not each.initialized, each.name))
        self.standing = Standing(self.cluster, _standing_nodes(self.cluster), by_node)
        self.budgets = PdbLimits(self.cluster)
        self._pod_data: dict[str, PodData] = {}
        self._volumes: dict[str, Volumes | None] = {}

    @cached_property
    def pools(self) -> list[NodePool]:
        """The NodePools that create nodes for pending pods, in the order in which they are tried (`OrderByWeight`)."""
        usable = [
            pool
            for pool in self.cluster.all(NodePool).values()
            if pool.spec.replicas is None and pool.metadata.deletion_timestamp is None and _is_ready(pool)
        ]
        usable.sort(key=lambda pool: pool.metadata.name, reverse=True)
        return sorted(usable, key=lambda pool: -(pool.spec.weight or 0))

    @property
    def claims(self) -> Iterable[NodeClaim]:
        """All NodeClaims, including those whose machine does not exist yet."""
        return self.cluster.all(NodeClaim).values()

    def pod_data(self, pod: Pod) -> PodData:
        """The compiled pod."""
        uid = identity(pod)
        found = self._pod_data.get(uid)
        if found is None:
            try:
                alternatives = volume_alternatives(self.cluster, pod)
            except VolumeLostError:
                alternatives = None
            ignores = self.settings.ignores_preferences
            found = self._pod_data[uid] = PodData(pod, uid, alternatives, ignores_preferences=ignores)
        return found

    def volumes(self, pod: Pod) -> Volumes | None:
        """The claims of the pod that count for the limits of CSI drivers; None: they cannot be determined."""
        uid = identity(pod)
        if uid not in self._volumes:
            self._volumes[uid] = attached(self.cluster, pod) if pod.spec.volumes else {}
        return self._volumes[uid]

    def used_volumes(self, node: StateNode) -> Volumes:
        """The volumes of the pods on a node."""
        return merged_volumes(self.volumes(pod) or {} for pod in node.pods)

    def volume_limits(self, node: StateNode) -> dict[str, int]:
        """The node's maximum number of volumes by driver."""
        csi = self.cluster.get(CSINode, node.node.metadata.name) if node.node is not None else None
        drivers = csi.spec.drivers if csi is not None else ()
        return {each.name: each.allocatable.count or 0 for each in drivers if each.allocatable is not None}


def _is_ready(pool: NodePool) -> bool:
    """Whether the NodePool is ready; one without this condition counts as ready."""
    ready = karpenter_condition(pool, "Ready")
    return ready is None or ready.status == "True"


def _standing_nodes(cluster: Cluster) -> dict[str, StandingNode]:
    return {
        name: StandingNode(name, node.metadata.labels, node_taints(node), label_requirements(node.metadata.labels))
        for name, node in cluster.all(Node).items()
    }
