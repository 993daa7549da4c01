"""Node groups as the labels of nodes show them, where nobody gives a file."""

from __future__ import annotations

from kwhatif.autoscaler.cluster_autoscaler.groups import NodeGroups
from kwhatif.state.state import State


def observed_groups(state: State) -> NodeGroups:
    """The groups that the nodes' labels name."""
    del state
    return NodeGroups()
