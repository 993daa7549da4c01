"""Settings of the Cluster Autoscaler as its own workload's arguments give them (`config/flags/flags.go`)."""

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
from kwhatif.autoscaler.cluster_autoscaler.groups import EXPANDERS, NodeGroup, NodeGroups
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import DaemonSet, Deployment, ReplicaSet, StatefulSet
from kwhatif.workloads.applied_template import template_of


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """What the arguments say, and of which object they are, such as `Deployment kube-system/cluster-autoscaler`."""

    source: str
    flags: Flags = Flags()
    expander: tuple[str, ...] | None = None
    #: The names of the flags that are given and change answers.
    given: tuple[str, ...] = ()
    #: What is not modelled, not known, or cannot be understood.
    unmodelled: tuple[str, ...] = ()
    #: `--nodes`: least, most, and the cloud's name of the group.
    bounds: tuple[tuple[int, int, str], ...] = ()

    def apply(self, observed: NodeGroups) -> NodeGroups:
        """The groups that labels of nodes show, with these settings, and the bounds of those that `--nodes` names."""
        left = list(self.bounds)
        groups = []
        for group in observed.groups:
            found = [each for each in left if _is_called(group, each[2])]
            if len(found) == 1:
                left.remove(found[0])
                least, most, _ = found[0]
                group = replace(group, minimum=least, maximum=most, has_bounds=True)  # noqa: PLW2901 - with its bounds
            groups.append(group)
        unknown = (*self.unmodelled, *(f"nodes={least}:{most}:{name}" for least, most, name in left))
        return replace(observed, groups=groups, flags=self.flags, expander=self.expander, unmodelled=unknown)


#: What stands before the name of a group, and behind it.
_AROUND: Mapping[str, re.Pattern[str]] = {
    "eks-": re.compile(r"-[0-9a-f-]{36}"),
    "aks-": re.compile(r"-\d+-vmss"),
    "": re.compile(r"(\..+)?"),
}


def _is_called(group: NodeGroup, cloud_name: str) -> bool:
    """Whether the cloud's name is that of the group, as labels of its nodes have it.

    EKS, AKS, kOps and Cluster API put something before or behind it; GKE has the zone in a URL.
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
    """Those of the first workload that runs the autoscaler, or else pod; None: there is none."""
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
    told = [name for name in values if name not in misread and hasattr(flags, name.replace("-", "_"))]
    return Arguments(
        source=source,
        flags=flags,
        expander=chain or None,
        given=tuple(sorted([*told, *(["expander"] if chain else []), *(["nodes"] if bounds else [])])),
        unmodelled=(*unmodelled({**single, **switches}), *wrong),
        bounds=tuple(bounds),
    )


def without_unknown(texts: Sequence[str]) -> tuple[str, ...]:
    """The arguments without the values of flags that there are not: they may hold anything."""
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
