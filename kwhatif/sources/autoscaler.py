"""Reading what an autoscaler knows besides the cluster: node groups, instance types."""

from __future__ import annotations

from typing import BinaryIO

from kwhatif.autoscaler.cluster_autoscaler.groups import NodeGroups
from kwhatif.autoscaler.karpenter import InstanceType, build_instance_types
from kwhatif.errors import InputError
from kwhatif.kube.model.cluster import Cluster
from kwhatif.sources.scheduler.config import read_config, read_data


def read_node_groups(path: str, cluster: Cluster, *, stdin: BinaryIO) -> NodeGroups:
    """Read a file of node groups, or "-", for a cluster whose nodes it names.

    Raises:
        InputError: the file cannot be read, or with everything that is wrong with it.
    """
    del cluster
    read_config(path, stdin=stdin, kind="file of node groups")
    return NodeGroups()


def read_instance_types(path: str, *, stdin: BinaryIO) -> tuple[InstanceType, ...]:
    """Read a file of instance types, or "-".

    Raises:
        InputError: the file cannot be read, or with everything that is wrong with it.
    """
    file = read_data(path, stdin=stdin, kind="list of instance types")
    try:
        return build_instance_types(file.data)
    except InputError as failure:
        raise file.located(failure) from None
