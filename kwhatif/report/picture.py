"""The cluster at the moment that is asked about, as a page draws it: only made where one is asked for.

Lists in the place of objects: 110,000 pods are to fit into a few megabytes.
"""

from __future__ import annotations

from kwhatif.kube.model.meta import Row


class PictureNode(Row, array_like=True):
    """A node: `place` and `pool` are its labels' values; amounts are in the order of the picture's `resources`.

    `state` is what it has besides being ready: "cordoned", "not ready", its taints. `pods` are (index in `groups`,
    name).
    """

    name: str
    place: str
    pool: str
    state: tuple[str, ...]
    allocatable: tuple[int, ...]
    used: tuple[int, ...]
    most_pods: int
    pods: tuple[tuple[int, str], ...]


class PictureGroup(Row, array_like=True):
    """Pods of one workload and priority that ask for the same; "" for bare pods."""

    namespace: str
    workload: str
    priority: int
    requests: tuple[int, ...]


class Picture(Row):
    """Nodes with their pods. `place_label` is the label that groups them: zones, or racks of groups of pods."""

    place_label: str
    pool_label: str
    resources: tuple[str, ...]
    nodes: tuple[PictureNode, ...]
    groups: tuple[PictureGroup, ...]
    pending: tuple[tuple[int, str], ...] = ()
