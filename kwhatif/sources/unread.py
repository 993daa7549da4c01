"""Kinds that could not be read: what the answers can then no longer be trusted with.

A caveat per subject, not per kind: whoever may list only nodes and pods has two dozen kinds unread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kwhatif.model.missing import Missing
from kwhatif.sources.resources import by_group

#: Why a kind is unread (`Cluster.unread`): the user may not list it.
FORBIDDEN = "no permission to list"


class Subject(NamedTuple):
    """What several kinds are read for."""

    kinds: tuple[str, ...]
    #: What is said of the answers when they are missing.
    consequence: str


SUBJECTS = (
    Subject(
        ("PodDisruptionBudget",),
        "budgets count as if there were none, so whether an eviction violates one is unknown, and with it whom the"
        " scheduler would rather spare",
    ),
    Subject(("PriorityClass",), "the priority of a new pod that names a class, or none, is unknown"),
    Subject(("Namespace",), "namespace selectors see no label of a namespace but its name"),
    Subject(
        ("Service", "ReplicationController", "ReplicaSet", "StatefulSet"),
        "pods of one service or controller are not spread by default, so a node that scores lower may be taken",
    ),
    Subject(
        ("Deployment", "DaemonSet", "Job", "CronJob"),
        "which pods a workload has already is unknown, so a changed one counts as new",
    ),
    Subject(("LimitRange", "ResourceQuota", "RuntimeClass"), "these count as if there were none"),
    Subject(
        (
            "PersistentVolumeClaim",
            "PersistentVolume",
            "StorageClass",
            "CSINode",
            "CSIDriver",
            "CSIStorageCapacity",
            "VolumeAttachment",
        ),
        "what is said of pods with volumes cannot be trusted",
    ),
    Subject(
        ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice"),
        "what is said of pods that claim devices cannot be trusted",
    ),
)


def unread_caveats(unread: Mapping[str, str]) -> Iterator[Missing]:
    """What to say about `Cluster.unread`."""
    for subject in SUBJECTS:
        reasons: dict[str, list[str]] = {}
        for kind in subject.kinds:
            if kind in unread:
                reasons.setdefault(unread[kind], []).append(kind)
        for reason, kinds in reasons.items():
            yield Missing(f"{reason} {by_group(kinds)}: {subject.consequence}")
