"""Node groups of the Cluster Autoscaler, and its settings: the expander, and flags under upstream's names."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kwhatif.kube.model.node import Node


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One group: its bounds, the nodes that belong to it, and what a new one looks like."""

    name: str
    minimum: int = 0
    maximum: int
    #: How many nodes the cloud is asked for; None: as many as there are.
    target: int | None = None
    nodes: tuple[str, ...] = ()
    #: What a new node looks like where the group has none to copy.
    template: Node | None = None
    price: float | None = None
    #: For the expander `priority`: the highest is preferred.
    priority: int | None = None


class NodeGroups(msgspec.Struct, frozen=True, kw_only=True):
    """All groups and settings."""

    groups: Sequence[NodeGroup] = ()
    #: In order: what one of them leaves undecided the next one decides. None: nobody said it.
    expander: tuple[str, ...] | None = None
