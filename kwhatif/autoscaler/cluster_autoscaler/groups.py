"""Node groups and settings of the Cluster Autoscaler: from a file, from node labels, and from its arguments.

(`config/flags/flags.go`.) If a group is only known from labels, its minimum and maximum are not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.autoscaler.cluster_autoscaler.flags import (
    Flags,
    build_flags,
    is_switch,
    known_flag,
    may_repeat,
    unmodelled,
)
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import ZONE, Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import DaemonSet, Deployment, ReplicaSet, StatefulSet
from kwhatif.state.state import State
from kwhatif.workloads.applied_template import template_of

#: The maximum size of a group without one.
NO_MAXIMUM = 2**31 - 1
DEFAULT_EXPANDER = "least-waste"
#: The expanders, which choose among options (`expander/expander.go`); `grpc` calls a server.
EXPANDERS = ("random", "most-pods", "least-waste", "least-nodes", "price", "priority", "grpc")


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One group: its minimum and maximum, its nodes, and the template of a new node."""

    name: str
    minimum: int = 0
    maximum: int = NO_MAXIMUM
    #: The target size; None: the number of existing nodes.
    target: int | None = None
    nodes: tuple[str, ...] = ()
    #: The template of a new node, if the group has no node to copy.
    template: Node | None = None
    #: The price of a node per hour.
    price: float | None = None
    #: For the expander `priority`: the highest is preferred.
    priority: int | None = None
    #: Whether the file sets its minimum and maximum.
    has_bounds: bool = True

    @property
    def size(self) -> int:
        """The target size of the group (`TargetSize`)."""
        return len(self.nodes) if self.target is None else self.target


class NodeGroups(msgspec.Struct, frozen=True, kw_only=True):
    """All groups, by name, and the settings."""

    groups: Sequence[NodeGroup] = ()
    #: The expanders, in order: each chooses from the options that the previous one leaves. None: not given.
    expander: tuple[str, ...] | None = None
    flags: Flags = Flags()
    #: Flags that would change the answer, but are not modelled.
    unmodelled: tuple[str, ...] = ()

    def of_nodes(self) -> Mapping[str, NodeGroup]:
        """The group of each node that has one, by the node's name (`NodeGroupForNode`)."""
        return {node: group for group in self.groups for node in group.nodes}


#: Labels that name the group of a node: EKS, AKS, kOps, Cluster API.
_GROUP_LABELS = (
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "kops.k8s.io/instancegroup",
    "cluster.x-k8s.io/deployment-name",
)
#: GKE has a group for each zone of a pool.
_GKE_POOL = "cloud.google.com/gke-nodepool"
#: Annotations that name the owner of a node's machine, with Cluster API.
_OWNER_KIND, _OWNER_NAME = "cluster.x-k8s.io/owner-kind", "cluster.x-k8s.io/owner-name"
#: Nodes with this label are Karpenter's, even if other labels name a group.
_KARPENTER = "karpenter.sh/nodepool"


def observed_groups(state: State) -> NodeGroups:
    """The groups that the nodes' labels name, by name; nodes without such a label belong to none."""
    found: dict[str, list[str]] = {}
    for name in sorted(state.by_name):
        group = _group_of(state.by_name[name].node)
        if group:
            found.setdefault(group, []).append(name)
    return NodeGroups(
        groups=[NodeGroup(name=name, nodes=tuple(nodes), has_bounds=False) for name, nodes in sorted(found.items())]
    )


def _group_of(node: Node) -> str:
    labels, annotations = node.metadata.labels, node.metadata.annotations
    if _KARPENTER in labels:
        return ""
    if labels.get(_GKE_POOL):
        return "/".join(filter(None, (labels[_GKE_POOL], labels.get(ZONE, ""))))
    named = next((labels[key] for key in _GROUP_LABELS if labels.get(key)), "")
    return named or (annotations.get(_OWNER_NAME, "") if annotations.get(_OWNER_KIND) == "MachineSet" else "")


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """The settings in arguments, and their object, such as `Deployment kube-system/cluster-autoscaler`."""

    source: str
    flags: Flags = Flags()
    expander: tuple[str, ...] | None = None
    #: The names of the given flags that affect decisions.
    given: tuple[str, ...] = ()
    #: The arguments that are not modelled, not known, or not valid.
    unmodelled: tuple[str, ...] = ()
    #: `--nodes`: minimum, maximum, and the cloud's name of the group.
    bounds: tuple[tuple[int, int, str], ...] = ()

    def apply(self, observed: NodeGroups) -> NodeGroups:
        """The groups from node labels, with these settings, and with the bounds that `--nodes` sets."""
        left = list(self.bounds)
        groups = []
        for group in observed.groups:
            found = [each for each in left if _is_called(group, each[2])]
            if len(found) == 1:
                left.remove(found[0])
                minimum, maximum, _ = found[0]
                group = replace(group, minimum=minimum, maximum=maximum, has_bounds=True)  # noqa: PLW2901 - with its bounds
            groups.append(group)
        unknown = (*self.unmodelled, *(f"nodes={minimum}:{maximum}:{name}" for minimum, maximum, name in left))
        return replace(observed, groups=groups, flags=self.flags, expander=self.expander, unmodelled=unknown)


#: Prefix of a group's name at the cloud -> its suffix.
_AROUND: Mapping[str, re.Pattern[str]] = {
    "eks-": re.compile(r"-[0-9a-f-]{36}"),
    "aks-": re.compile(r"-\d+-vmss"),
    "": re.compile(r"(\..+)?"),
}


def _is_called(group: NodeGroup, cloud_name: str) -> bool:
    """Whether this is the cloud's name of the group that has this name in node labels.

    EKS, AKS, kOps and Cluster API add a prefix or a suffix to it; GKE uses a URL with the zone.
    """
    pool, _, zone = group.name.partition("/")
    if zone:
        return f"/zones/{zone}/" in cloud_name and f"-{pool}-" in cloud_name.rpartition("/")[2]
    last = cloud_name.rpartition("/")[2]
    return any(
        last.startswith(before + group.name) and behind.fullmatch(last, len(before + group.name))
        for before, behind in _AROUND.items()
    )


def arguments_of(cluster: Cluster) -> Arguments | None:
    """The arguments of the first workload that runs the autoscaler, else of the first such pod; None without any."""
    for kind in (Deployment, StatefulSet, DaemonSet, ReplicaSet, Pod):
        for key, obj in sorted(cluster.all(kind).items()):
            template = obj if isinstance(obj, Pod) else template_of(obj)
            arguments = None if template is None else template.metadata.annotations.autoscaler_arguments
            if arguments is not None:
                return _read(f"{kind.__name__} {key}", arguments)
    return None


def _read(source: str, texts: Sequence[str]) -> Arguments:
    values: dict[str, list[str]] = {}
    wrong: list[str] = []
    for name, value in _pairs(texts):
        if known_flag(name) and "$(" not in value:
            values.setdefault(name, []).append(value)
        else:
            wrong.append(f"{name}={value}" if value else name)
    bounds = []
    for text in values.pop("nodes", ()):
        found = re.fullmatch(r"(\d{1,9}):(\d{1,9}):(.+)", text)
        if found is None:
            wrong.append(f"nodes={text}")
        else:
            bounds.append((int(found[1]), int(found[2]), found[3]))
    chain = tuple(name.strip() for name in values.pop("expander", [""])[-1].split(",") if name.strip())
    if not set(chain) <= set(EXPANDERS):
        wrong.append(f"expander={','.join(chain)}")
        chain = ()
    single = {name: each if may_repeat(name) else each[-1] for name, each in values.items()}
    misread: list[str] = []
    flags = build_flags(single, lambda name, _: misread.append(name))
    wrong += (f"{name}={','.join(values[name])}" for name in misread)
    switches = {name: value == "true" for name, value in single.items() if is_switch(name)}
    read = [name for name in values if name not in misread and hasattr(flags, name.replace("-", "_"))]
    return Arguments(
        source=source,
        flags=flags,
        expander=chain or None,
        given=tuple(sorted([*read, *(["expander"] if chain else []), *(["nodes"] if bounds else [])])),
        unmodelled=(*unmodelled({**single, **switches}), *wrong),
        bounds=tuple(bounds),
    )


def without_unknown(texts: Sequence[str]) -> tuple[str, ...]:
    """The arguments without the values of unknown flags, which may contain anything."""
    return tuple(f"--{name}={value}" if known_flag(name) else f"--{name}" for name, value in _pairs(texts))


def _pairs(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Name and value of each flag, as pflag splits them: `--name=value`, `--name value`, `--switch`."""
    left = list(texts)
    while left:
        text = left.pop(0)
        if not text.startswith("-"):
            continue
        name, equals, value = text.lstrip("-").partition("=")
        if not known_flag(name):
            name = name.replace("_", "-")
        if not equals:
            takes_next = not is_switch(name) and left and not left[0].startswith("--")
            value = left.pop(0) if takes_next else "true"
        yield name, value
