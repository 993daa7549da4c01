"""Existing nodes, and the inputs of every simulation (`scheduling/existingnode.go`, `scheduler.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from msgspec.structs import replace

from kwhatif.autoscaler.karpenter.amounts import Amounts, Sum, fits, merged, parsed, requests_of, subtracted
from kwhatif.autoscaler.karpenter.claims import NodeClaimTemplate, daemon_groups, own_requirements
from kwhatif.autoscaler.karpenter.instance_types import variety
from kwhatif.autoscaler.karpenter.nodes import ClusterState, StateNode, duration_of, is_true, nanos_of
from kwhatif.autoscaler.karpenter.pods import PodData, is_daemon, taints_objection, uses_claims
from kwhatif.autoscaler.karpenter.requirements import (
    Refusal,
    Requirements,
    label_requirements,
    one_of,
    pod_requirements,
)
from kwhatif.autoscaler.karpenter.topology import Topology
from kwhatif.autoscaler.karpenter.topology_groups import Choice, Domains, StandingNode, pool_domains
from kwhatif.autoscaler.karpenter.volumes import Volumes, exceeds, merged_volumes
from kwhatif.kube.matching.nodes import PREFER_NO_SCHEDULE, HostPort, conflicts
from kwhatif.kube.model.bystanders import NodePool, karpenter_condition
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.node import HOSTNAME
from kwhatif.kube.model.pod import Pod, PodMeta
from kwhatif.kube.model.pod_spec import Container
from kwhatif.kube.model.workload import DaemonSet


class SchedulerInputs:
    """The common inputs of all simulations of a cluster; each may leave out other nodes."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self.cluster_state = cluster_state
        catalogue = cluster_state.catalogue
        pools = cluster_state.pools
        #: The templates that have an instance type, in the order in which they are tried.
        self.templates = [each for each in (NodeClaimTemplate(pool, catalogue) for pool in pools) if each.types]
        if not cluster_state.settings.relaxes_min_values:  # a pool with too few types for `minValues` creates no nodes
            self.templates = [each for each in self.templates if not variety(each.types, each.requirements).short]
        daemons = [pod for pod in _daemon_pods(cluster_state) if not uses_claims(pod)]
        daemon_groups(self.templates, daemons)
        self.tolerates_preferences = any(
            taint.effect == PREFER_NO_SCHEDULE for pool in pools for taint in pool.spec.template.spec.taints
        )
        self.domains: dict[str, Domains] = pool_domains(
            (own_requirements(pool), pool.spec.template.spec.taints, [each.requirements for each in catalogue.types])
            for pool in pools
        )
        self.limits: dict[str, Amounts] = {pool.metadata.name: parsed(pool.spec.limits) for pool in pools}
        self._by_name = {pool.metadata.name: pool for pool in pools}
        self.nodes = [
            NodeAtStart(cluster_state, node, daemons, is_fresh=_is_fresh(cluster_state, node, self._by_name))
            for node in cluster_state.nodes
            if not node.is_going
        ]
        #: Nodes that are being deleted: their pods have to move.
        self.going = frozenset(node.name for node in cluster_state.nodes if node.is_going)
        self._room: dict[tuple[tuple[str, int], ...], list[int]] = {}

    def with_room(self, pod: PodData) -> list[int]:
        """The indexes of the nodes that have room for the pod's requests, as long as no pods are added to them."""
        found = self._room.get(pod.size)
        if found is None:
            requests = pod.requests
            found = [index for index, node in enumerate(self.nodes) if fits(requests, node.free)]
            self._room[pod.size] = found
        return found


def _is_fresh(cluster_state: ClusterState, node: StateNode, pools: Mapping[str, NodePool]) -> bool:
    """Whether its pool's `consolidateAfter` has not passed since the last pod event (`IsUnderConsolidateAfter`)."""
    pool, claim = pools.get(node.pool or ""), node.claim
    if pool is None or claim is None:
        return False
    after = duration_of(pool.spec.disruption.consolidate_after)
    initialized = karpenter_condition(claim, "Initialized")
    if not after or initialized is None or not is_true(claim, "Initialized"):
        return False
    since = nanos_of(claim.status.last_pod_event_time) or nanos_of(initialized.last_transition_time) or 0
    return cluster_state.now - since < after


def _daemon_pods(cluster_state: ClusterState) -> Iterable[Pod]:
    """A pod of each DaemonSet: the newest existing one, else one of its template (`getDaemonSetPods`)."""
    newest: dict[tuple[str, str, str], Pod] = {}
    every = (*cluster_state.waiting, *(pod for node in cluster_state.nodes for pod in node.pods))
    for pod in sorted((pod for pod in every if is_daemon(pod)), key=key_of):
        owner = controller_of(pod.metadata)
        if owner is not None:
            key = (pod.metadata.namespace, owner.name, owner.uid)
            known = newest.get(key)
            created = nanos_of(pod.metadata.creation_timestamp) or 0
            if known is None or created > (nanos_of(known.metadata.creation_timestamp) or 0):
                newest[key] = pod
    for daemon_set in cluster_state.cluster.all(DaemonSet).values():
        meta, template = daemon_set.metadata, daemon_set.spec.template
        own = newest.get((meta.namespace, meta.name, meta.uid))
        if template is not None:
            yield _daemon_pod(daemon_set, own)


def _daemon_pod(daemon_set: DaemonSet, own: Pod | None) -> Pod:
    meta, template = daemon_set.metadata, daemon_set.spec.template
    assert template is not None
    if own is None:
        spec = replace(
            template.spec,
            containers=tuple(map(_requesting_limits, template.spec.containers)),
            init_containers=tuple(map(_requesting_limits, template.spec.init_containers)),
        )
        return Pod(api_version="v1", metadata=PodMeta(name=meta.name, namespace=meta.namespace), spec=spec)
    affinity = template.spec.affinity
    if affinity is None or affinity.node_affinity is None or affinity.node_affinity.required is None:
        return own
    known = own.spec.affinity or affinity
    node = replace(known.node_affinity or affinity.node_affinity, required=affinity.node_affinity.required)
    return replace(own, spec=replace(own.spec, affinity=replace(known, node_affinity=node)))


def _requesting_limits(container: Container) -> Container:
    """Set requests to the limits, as the API server does when the pod is created."""
    resources = container.resources
    return replace(container, resources=replace(resources, requests={**resources.limits, **resources.requests}))


class NodeAtStart:
    """An existing node, or one that is starting, before pods are added (`NewExistingNode`)."""

    def __init__(self, cluster_state: ClusterState, node: StateNode, daemons: Sequence[Pod], *, is_fresh: bool) -> None:
        self.node = node
        self.name = node.name
        self.taints = node.taints
        #: In a simulation of consolidation, pods of candidates must not move here.
        self.is_fresh = is_fresh
        labels = label_requirements(node.labels)
        expected = [pod for pod in daemons if self._takes_daemon(labels, pod)]
        self.free = _without_daemons(node, expected)
        self.requirements = labels.plus({HOSTNAME: one_of(HOSTNAME, node.hostname)})
        self._state = cluster_state

    def _takes_daemon(self, labels: Requirements, pod: Pod) -> bool:
        if taints_objection(self.taints, pod.spec.tolerations) is not None:
            return False
        return labels.objection(pod_requirements(pod, strict=True)) is None

    @cached_property
    def for_topology(self) -> StandingNode | None:
        """The node for topology groups; None for a NodeClaim without a node."""
        node = self.node.node
        if node is None:
            return None
        known = self._state.standing.nodes[node.metadata.name]
        return known if self.node.labels is known.labels else known._replace(labels=self.node.labels)

    @cached_property
    def limits(self) -> dict[str, int]:
        """The maximum number of volumes of each driver."""
        return self._state.volume_limits(self.node)

    @cached_property
    def volumes(self) -> Volumes:
        """The volumes in use."""
        return self._state.used_volumes(self.node)


def _without_daemons(node: StateNode, daemons: Sequence[Pod]) -> Sum:
    """The free resources after the missing DaemonSet pods are added."""
    left = merged(requests_of(*daemons))
    for name, amount in node.daemon_requests.items():
        left[name] = left.get(name, 0) - amount
    return subtracted(node.available, {name: max(amount, 0) for name, amount in left.items()})


class ExistingNode:
    """A node to which pods are added (`ExistingNode`)."""

    def __init__(self, start: NodeAtStart) -> None:
        self.start = start
        self.name = start.name
        self.free: Amounts = start.free
        self.requirements = start.requirements
        self.pods: list[PodData] = []
        self._ports: dict[str, tuple[HostPort, ...]] | None = None
        self._volumes: Volumes | None = None

    @property
    def ports(self) -> Mapping[str, tuple[HostPort, ...]]:
        """The host ports in use, by pod."""
        return self.start.node.ports if self._ports is None else self._ports

    @property
    def volumes(self) -> Volumes:
        """The volumes in use."""
        return self.start.volumes if self._volumes is None else self._volumes

    def can_add(self, pod: PodData, volumes: Volumes, topology: Topology) -> Requirements | None:
        """The node's requirements with the pod; None if the pod cannot be added (`CanAdd`)."""
        start = self.start
        if not fits(pod.requests, self.free) or taints_objection(start.taints, pod.tolerations) is not None:
            return None
        # QUIRK: on a node that has too many volumes already, no pod fits, not even one without volumes.
        if start.limits and exceeds(self.volumes, volumes, start.limits):
            return None
        if pod.ports and self._conflicts(pod):
            return None
        if self.requirements.objection(pod.requirements) is not None:
            return None
        base = self.requirements.plus(pod.requirements)
        for alternative in pod.alternatives or (None,):
            found = base
            if alternative is not None:
                if base.objection(alternative) is not None:
                    continue
                found = base.plus(alternative)
            narrowed = topology.narrowed(pod, start.taints, found, Choice())
            if not isinstance(narrowed, Refusal) and found.objection(narrowed) is None:
                return found.plus(narrowed)
        return None

    def _conflicts(self, pod: PodData) -> bool:
        others = [port for key, ports in self.ports.items() if key != pod.key for port in ports]
        return any(conflicts(port, others) for port in pod.ports)

    def add(self, pod: PodData, requirements: Requirements, volumes: Volumes, topology: Topology) -> None:
        """Add the pod."""
        self.pods.append(pod)
        get = pod.requests.get
        self.free = {**{n: -a for n, a in pod.requests.items()}, **{n: a - get(n, 0) for n, a in self.free.items()}}
        self.requirements = requirements
        topology.record(pod, self.start.taints, requirements)
        if pod.ports:
            self._ports = {**self.ports, pod.key: pod.ports}
        if volumes:
            self._volumes = merged_volumes((self.volumes, volumes))
