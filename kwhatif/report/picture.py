"""The cluster at the moment of the question, for the map of a page: only made if a page is wanted.

It uses lists instead of objects: 110,000 pods must fit into a few megabytes.
"""

from __future__ import annotations

from kwhatif.kube.model.meta import Row


class PictureNode(Row, array_like=True):
    """A node: `place` and `pool` are its labels' values; amounts are in the order of the picture's `resources`.

    `state`: "cordoned", "not ready", its taints. `pods` are (index in `groups`, name).
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
    """Pods of one workload and priority with the same requests; "" for bare pods."""

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
