"""Which pods are alike: replicas, and the numbered pods of a StatefulSet or an indexed Job."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.matching.default_selector import default_selector
from kwhatif.matching.labels import SelectorError, compile_selector
from kwhatif.model.cluster import Cluster
from kwhatif.model.pod import Pod, PodSpec, PodStatus
from kwhatif.model.workload import Service
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

_NOTHING: frozenset[str] = frozenset()


class Difference(NamedTuple):
    """In what pods differ that are otherwise the same: name, UID and time of creation aside."""

    #: Labels that only one of them has, or that have other values.
    labels: frozenset[str] = _NOTHING
    #: Whether they have other claims of their own; and as it is with numbered pods, other host names.
    claims: bool = False


SAME = Difference()


def difference(one: Pod, other: Pod) -> Difference | None:
    """In what the two differ that does not matter to most rules; None where they differ in more.

    A claim on devices that is made for a pod belongs to it, and a nominated pod is about one node: such pods are each
    their own.
    """
    if (
        one.metadata.namespace != other.metadata.namespace
        or one.metadata.owner_references != other.metadata.owner_references
        or one.metadata.deletion_timestamp != other.metadata.deletion_timestamp
        or (one.status != other.status and _undated(one.status) != _undated(other.status))
        or one.status.nominated_node_name
        or one.spec.resource_claims
        or any(volume.ephemeral is not None for volume in one.spec.volumes)
    ):
        return None
    same_spec = one.spec is other.spec or one.spec == other.spec
    if not same_spec and _without_claims(one.spec) != _without_claims(other.spec):
        return None
    mine, others = one.metadata.labels, other.metadata.labels
    if same_spec and mine == others:
        return SAME
    return Difference(frozenset([key for key, _ in mine.items() ^ others.items()]), not same_spec)


def _undated(status: PodStatus) -> PodStatus:
    """Since when a condition holds matters to no rule."""
    return replace(status, conditions=tuple(replace(row, last_transition_time=None) for row in status.conditions))


def _without_claims(spec: PodSpec) -> PodSpec:
    volumes = [
        volume
        if volume.persistent_volume_claim is None
        else replace(volume, persistent_volume_claim=replace(volume.persistent_volume_claim, claim_name=""))
        for volume in spec.volumes
    ]
    return replace(spec, volumes=tuple(volumes), hostname="")


def labels_read(pod: PodInfo, snapshot: State) -> set[str]:
    """The labels of the pod that any rule may read: selectors ask for them."""
    keys = set(snapshot.index.label_keys) | pod.affinity_terms.label_keys
    for constraint in pod.pod.spec.topology_spread_constraints:
        keys.update(constraint.match_label_keys)
        # Of a selector that is not valid nobody asks anything: else the first attempt had failed, and there is no run.
        with suppress(SelectorError):
            keys |= compile_selector(constraint.label_selector).keys
    services = snapshot.cluster.derived(_keys_of_services, Service)
    return keys | services.get(pod.namespace, _NOTHING) | default_selector(pod.pod, snapshot.cluster).keys


def _keys_of_services(cluster: Cluster) -> Mapping[str, frozenset[str]]:
    """By namespace, the labels by which services select pods."""
    keys: dict[str, frozenset[str]] = {}
    for service in cluster.all(Service).values():
        namespace = service.metadata.namespace
        keys[namespace] = keys.get(namespace, _NOTHING).union(service.spec.selector or ())
    return keys
