"""Which pods get the same results on one state: replicas, and the numbered pods of a StatefulSet or an indexed Job.

This is upstream's pod signature (KEP-5598, `framework.signers`) with two differences. Pods with affinity or spread
constraints have one, too. And it depends on the state: it contains only what rules read of labels and claims, so that
pods which differ only in their number have the same signature.

`SharedCandidates` go further, for eviction: pods that differ only in what no filter reads of them, such as labels,
share their candidates. Workloads often ask for the same amounts, and tolerate the same. While such pods find no node,
a node that has changed is evaluated once for all of them, not once for each signature.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from kwhatif.kube.matching.labels import SelectorError, compile_selector
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import LabelSelector, controller_of
from kwhatif.kube.model.pod import Pod, PodSpec, PodStatus
from kwhatif.kube.model.storage import InTreeDisks, Volume
from kwhatif.kube.model.workload import ReplicaSet, ReplicationController, Service, StatefulSet
from kwhatif.scheduler.batch.eviction_candidates import EvictionCandidates
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.incremental import Reprieving, Signed
from kwhatif.scheduler.framework.plugin import NodeFilter, PostFilterPlugin, Reads, by_claims
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import Status
from kwhatif.scheduler.preemption.policy import EvictsByPolicy, Policy, PolicySince137
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

T = TypeVar("T")

_NOTHING: frozenset[str] = frozenset()
#: The most results that are kept by identity.
_KEPT = 20_000
#: The controllers whose selectors default spread constraints read.
_OWNERS: Mapping[str, type[ReplicaSet | StatefulSet | ReplicationController]] = {
    kind.__name__: kind for kind in (ReplicaSet, StatefulSet, ReplicationController)
}
#: JSON, because MessagePack is limited to 64 bits, and a quantity may be an integer of any length.
_encode = msgspec.json.Encoder(order="deterministic").encode


class Signature(NamedTuple):
    """Pods with the same key get the same results on the same state."""

    key: Hashable
    #: The filters of plugins that read claims, for a pod with volumes: they are specific to the pod.
    compiled: Mapping[str, NodeFilter]


class _ByIdentity(Generic[T]):
    """Results about immutable objects: replicas share them, and pods that wait are signed again and again."""

    def __init__(self) -> None:
        #: With the object itself, so that its identity stays its own.
        self._known: dict[int, tuple[object, T]] = {}

    def of(self, obj: object, build: Callable[[], T]) -> T:
        """The result about the object, which is built if it is not known."""
        known = self._known.get(id(obj))
        if known is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[id(obj)] = obj, build()
        return known[1]


class Signer:
    """Signs pods for one profile."""

    def __init__(self, profile: Profile) -> None:
        claim_readers = by_claims(profile.pre_filter)
        #: Whether plugins may read anything: custom plugins, or those whose PreFilter is disabled.
        self.reads_all = profile.has_custom_plugins or (claim_readers.keys() != by_claims(profile.filter).keys())
        self._claim_readers = () if self.reads_all else tuple(claim_readers.values())
        self._specs = _ByIdentity[_SignedSpec]()
        #: The text of a selector of a controller, and the labels that it reads.
        self._selectors = _ByIdentity[tuple[bytes, frozenset[str]]]()

    def sign(self, pod: PodInfo, state: State) -> Signature | None:
        """The pod's signature on the state; None if the pod cannot share results.

        A ResourceClaim that is created for a pod belongs only to it, and a pod that is or was on a node depends on that
        node. Nominations are not part of it: callers handle them.
        """
        spec, meta, status = pod.pod.spec, pod.pod.metadata, pod.pod.status
        if meta.deletion_timestamp is not None or spec.resource_claims:
            return None
        if status.container_statuses or status.allocated_resources or status.resources:
            return None
        signed = self._specs.of(spec, lambda: _signed_spec(pod))
        if signed.is_alone:
            return None
        if self.reads_all:
            return Signature(_encode(_unnamed(pod.pod)), {})
        claims = self._sign_claims(pod, state) if signed.has_disks else ((), {})
        if claims is None:
            return None
        owner, owners_keys = self._sign_owner(pod.pod, state.cluster)
        services = state.cluster.derived(_keys_of_services, Service).get(pod.namespace, _NOTHING)
        read = signed.keys | owners_keys | services | state.index.terms.label_keys(pod.namespace)
        labels = frozenset([item for item in meta.labels.items() if item[0] in read])
        number = state.cluster.generation(Service, pod.namespace) if services else 0
        return Signature((signed.text, pod.namespace, owner, number, read, labels, claims[0]), claims[1])

    def _sign_owner(self, pod: Pod, cluster: Cluster) -> tuple[Hashable, frozenset[str]]:
        """The selector of the pod's controller, and the labels that it reads."""
        owner = controller_of(pod.metadata)
        kind = None if owner is None else _OWNERS.get(owner.kind)
        found = None if owner is None or kind is None else cluster.get(kind, f"{pod.metadata.namespace}/{owner.name}")
        if owner is None or found is None:
            return None, _NOTHING
        selector = found.spec.selector
        text, keys = self._selectors.of(selector, lambda: (_encode(selector), _keys_of(selector)))
        return (owner.api_version, owner.kind, text), keys

    def _sign_claims(self, pod: PodInfo, state: State) -> tuple[Hashable, Mapping[str, NodeFilter]] | None:
        """The signature of the pod's claims by the plugins that read them, and their filters."""
        signed: list[Hashable] = []
        compiled: dict[str, NodeFilter] = {}
        for plugin in self._claim_readers:
            result = plugin.pre_filter(pod, state)
            if isinstance(result, Status):
                signed.append((result.code, result.reasons))
                continue
            signature = result.signature if isinstance(result, Signed) else None
            if signature is None:
                return None
            signed.append(signature)
            compiled[plugin.name] = result
        return tuple(signed), compiled


def _unnamed(pod: Pod) -> Pod:
    """The parts of the pod that replicas share."""
    meta = replace(pod.metadata, name="", generate_name="", uid="", creation_timestamp=None)
    return replace(pod, metadata=meta, status=PodStatus())


def _unclaimed(spec: PodSpec) -> PodSpec:
    if not spec.volumes and not spec.hostname:
        return spec
    volumes = [
        volume
        if volume.persistent_volume_claim is None
        else replace(volume, persistent_volume_claim=replace(volume.persistent_volume_claim, claim_name=""))
        for volume in spec.volumes
    ]
    return replace(spec, volumes=tuple(volumes), hostname="")


class _SignedSpec(NamedTuple):
    """Facts about the spec of a pod, which its replicas share."""

    #: The spec without claims and host name.
    text: bytes
    #: The labels that its own terms and constraints read.
    keys: frozenset[str]
    #: Whether plugins that read claims look at any of its volumes: else all of them pass.
    has_disks: bool
    #: Whether claims are made for the pod, which belong only to it.
    is_alone: bool


def _signed_spec(pod: PodInfo) -> _SignedSpec:
    spec = pod.pod.spec
    keys = set(pod.affinity_terms.label_keys)
    for constraint in spec.topology_spread_constraints:
        keys.update(constraint.match_label_keys, _keys_of(constraint.label_selector))
    is_alone = any(volume.ephemeral is not None for volume in spec.volumes)
    return _SignedSpec(_encode(_unclaimed(spec)), frozenset(keys), any(map(_is_disk, spec.volumes)), is_alone)


def _is_disk(volume: Volume) -> bool:
    is_inline = any(getattr(volume, name) is not None for name in InTreeDisks.__struct_fields__)
    return is_inline or volume.persistent_volume_claim is not None or volume.ephemeral is not None


def _keys_of(selector: LabelSelector | Mapping[str, str] | None) -> frozenset[str]:
    """The labels that the selector reads; none if it is not valid."""
    if not isinstance(selector, LabelSelector):
        return frozenset(selector or ())
    with suppress(SelectorError):
        return compile_selector(selector).keys
    return _NOTHING


def _keys_of_services(cluster: Cluster) -> Mapping[str, frozenset[str]]:
    """Namespace -> the labels by which its services select pods."""
    keys: dict[str, frozenset[str]] = {}
    for service in cluster.all(Service).values():
        namespace = service.metadata.namespace
        keys[namespace] = keys.get(namespace, _NOTHING).union(service.spec.selector or ())
    return keys


#: Filters that read nothing of the pod but what `_read_of` returns, and nothing of other nodes.
_SIMPLE = frozenset(("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts"))


def sharing_key(cycle: Cycle, candidates: EvictionCandidates) -> Hashable | None:
    """Cycles with equal keys have the same candidates on the same state; None: they cannot be shared."""
    if cycle.node_set is not None or cycle.pre_filter_message or cycle.absent or cycle.placement is not None:
        return None
    if cycle.profile.has_custom_plugins:
        return None
    if not all(map(_is_known, cycle.profile.post_filter)):
        return None
    filters: list[Hashable] = []
    for name, compiled in cycle.filters:
        if isinstance(compiled, Reprieving) and compiled.signature is not None:
            filters.append((name, compiled.signature))
        elif name in _SIMPLE and compiled.reads is not Reads.CLUSTER:
            filters.append(name)
        else:
            return None
    pod = cycle.pod
    return pod.priority, pod.pod.spec.preemption_policy, tuple(filters), _read_of(cycle), candidates.rejected_before


def _is_known(plugin: PostFilterPlugin) -> bool:
    """Whether the PostFilter plugin reads nothing of the pod but its priority, and whether it may evict others."""
    if isinstance(plugin, EvictsByPolicy):
        return type(plugin.policy) in (Policy, PolicySince137)
    return plugin.name == "DynamicResources"  # pods with claims have no batch


def _read_of(cycle: Cycle) -> bytes:
    """The fields of the pod that the simple filters read."""
    spec = cycle.pod.pod.spec
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    ports = [container.ports for container in (*spec.containers, *spec.init_containers)]
    required = affinity.required if affinity is not None else None
    return _encode((spec.node_name, spec.node_selector, required, spec.tolerations, ports))


class Changed(NamedTuple):
    """What has changed since a generation of the state."""

    since: int
    #: The names of nodes, and the keys of budgets.
    nodes: Collection[str]
    budgets: Collection[str]


class SharedCandidates:
    """The candidates of one `BatchCache`, by key. A fork of the cache begins with none: it shares what it forks."""

    def __init__(self) -> None:
        self._known: dict[Hashable, EvictionCandidates] = {}

    def updated(
        self, key: Hashable | None, own: EvictionCandidates, cycle: Cycle, changed: Changed
    ) -> EvictionCandidates:
        """The candidates to go on with, as they are now.

        Args:
            key: the `sharing_key` of the cycle.
            own: the candidates of the cycle, which were up to date when the changes began.
            cycle: has the pod that asks.
            changed: what has changed since then.

        Raises:
            CycleError: a plugin failed.
        """
        found = None if key is None else self._known.pop(key, None)
        if found is None or found.generation < changed.since:
            found = own
        found.use_for(cycle.pod)
        if found.generation != cycle.state.generation:
            found.refresh(sorted(changed.nodes), sorted(changed.budgets))
            found.generation = cycle.state.generation
        if key is not None:
            self._known[key] = found
        return found
