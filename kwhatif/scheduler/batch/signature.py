"""Which pods get the same results on one state: replicas, and the numbered pods of a StatefulSet or an indexed Job.

This is upstream's pod signature (KEP-5598, `framework.signers`) with two differences. Pods with affinity or spread
constraints have one, too. And it depends on the state: it contains only what rules read of labels and claims, so that
pods which differ only in their number have the same signature.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import suppress
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.kube.matching.labels import SelectorError, compile_selector
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import LabelSelector, controller_of
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.pod_status import PodStatus
from kwhatif.kube.model.workload import ReplicaSet, ReplicationController, Service, StatefulSet
from kwhatif.scheduler.framework.guard import GuardedPlugin
from kwhatif.scheduler.framework.incremental import Signed
from kwhatif.scheduler.framework.plugin import NodeFilter, by_claims
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import Status
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

_NOTHING: frozenset[str] = frozenset()
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


class Signer:
    """Signs pods for one profile."""

    def __init__(self, profile: Profile) -> None:
        claim_readers = by_claims(profile.pre_filter)
        #: Whether plugins may read anything: custom plugins, or those whose PreFilter is disabled.
        self._reads_all = any(isinstance(plugin, GuardedPlugin) for plugin in profile.plugins) or (
            claim_readers.keys() != by_claims(profile.filter).keys()
        )
        self._claim_readers = () if self._reads_all else tuple(claim_readers.values())
        #: The last spec, and its result: replicas usually follow each other.
        self._last: tuple[PodSpec, bytes, frozenset[str]] | None = None

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
        if any(volume.ephemeral is not None for volume in spec.volumes):
            return None
        if self._reads_all:
            return Signature(_encode(_unnamed(pod.pod)), {})
        claims = self._sign_claims(pod, state) if spec.volumes else ((), {})
        if claims is None:
            return None
        text, own = self._sign_spec(pod)
        owner, owners_keys = _owner(pod.pod, state.cluster)
        services = state.cluster.derived(_keys_of_services, Service).get(pod.namespace, _NOTHING)
        read = own | owners_keys | services | state.index.terms.label_keys(pod.namespace)
        labels = frozenset([item for item in meta.labels.items() if item[0] in read])
        number = state.cluster.generation(Service, pod.namespace) if services else 0
        return Signature((text, pod.namespace, owner, number, read, labels, claims[0]), claims[1])

    def _sign_spec(self, pod: PodInfo) -> tuple[bytes, frozenset[str]]:
        """The spec without claims and host name, and the labels that its own terms and constraints read."""
        spec, last = pod.pod.spec, self._last
        if last is None or last[0] is not spec:
            last = self._last = spec, _encode(_unclaimed(spec)), _label_keys(pod)
        return last[1:]

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


def _label_keys(pod: PodInfo) -> frozenset[str]:
    keys = set(pod.affinity_terms.label_keys)
    for constraint in pod.pod.spec.topology_spread_constraints:
        keys.update(constraint.match_label_keys, _keys_of(constraint.label_selector))
    return frozenset(keys)


def _keys_of(selector: LabelSelector | None) -> frozenset[str]:
    """The labels that the selector reads; none if it is not valid."""
    with suppress(SelectorError):
        return compile_selector(selector).keys
    return _NOTHING


def _owner(pod: Pod, cluster: Cluster) -> tuple[Hashable, frozenset[str]]:
    """The selector of the pod's controller, and the labels that it reads."""
    owner = controller_of(pod.metadata)
    kind = None if owner is None else _OWNERS.get(owner.kind)
    found = None if owner is None or kind is None else cluster.get(kind, f"{pod.metadata.namespace}/{owner.name}")
    if owner is None or found is None:
        return None, _NOTHING
    selector = found.spec.selector
    if isinstance(selector, LabelSelector):
        return (owner.api_version, owner.kind, _encode(selector)), _keys_of(selector)
    return (owner.api_version, owner.kind, _encode(selector)), frozenset(selector or ())


def _keys_of_services(cluster: Cluster) -> Mapping[str, frozenset[str]]:
    """Namespace -> the labels by which its services select pods."""
    keys: dict[str, frozenset[str]] = {}
    for service in cluster.all(Service).values():
        namespace = service.metadata.namespace
        keys[namespace] = keys.get(namespace, _NOTHING).union(service.spec.selector or ())
    return keys
