"""Which pods are alike."""

from __future__ import annotations

from kwhatif.model.pod import Pod


def alike(one: Pod, other: Pod) -> bool:
    """Whether no rule can tell the two pods apart before they are placed: name, UID and time of creation aside.

    A claim that is made for a pod belongs to it, and a nominated pod is about one node: such pods are each their own.
    """
    return (
        (one.spec is other.spec or one.spec == other.spec)
        and one.metadata.namespace == other.metadata.namespace
        and one.metadata.labels == other.metadata.labels
        and one.metadata.owner_references == other.metadata.owner_references
        and one.metadata.deletion_timestamp == other.metadata.deletion_timestamp
        and one.status == other.status
        and not one.status.nominated_node_name
        and not one.spec.resource_claims
        and all(volume.ephemeral is None for volume in one.spec.volumes)
    )
