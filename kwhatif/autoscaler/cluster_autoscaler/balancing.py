"""Similar node groups, and how new nodes are balanced over them (`processors/nodegroupset/`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwhatif.autoscaler.cluster_autoscaler.estimator import allocatable
from kwhatif.autoscaler.cluster_autoscaler.flags import Flags
from kwhatif.autoscaler.cluster_autoscaler.groups import NodeGroup
from kwhatif.autoscaler.cluster_autoscaler.templates import Template
from kwhatif.kube.matching.requests import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from kwhatif.kube.model.node import HOSTNAME, REGION, ZONE
from kwhatif.kube.model.pod_spec import ResourceList
from kwhatif.kube.model.quantity import MICRO_PER_MILLI, NANO, parse_quantity
from kwhatif.state.node_info import NodeInfo

#: Labels that may differ (`BasicIgnoredLabels`), and those that clouds put on nodes of one zone or instance.
_IGNORED = frozenset(
    {
        HOSTNAME,
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        ZONE,
        REGION,
        "beta.kubernetes.io/fluentd-ds-ready",
        "kops.k8s.io/instancegroup",
    }
)


def are_similar(one: Template, other: Template, flags: Flags) -> bool:
    """Whether two groups count as one that is spread (`IsCloudProviderNodeInfoSimilar`)."""
    if flags.balancing_label:
        return _agree_on(flags.balancing_label, one, other)
    info, like = one.info(), other.info()
    ignored = _IGNORED.union(flags.balancing_ignore_label)
    return (
        _equal_capacity(one.node.status.capacity, other.node.status.capacity, flags.memory_difference_ratio)
        and _within(
            _nanos(allocatable(info.node)), _nanos(allocatable(like.node)), flags.max_allocatable_difference_ratio
        )
        and _within(_free(info), _free(like), flags.max_free_difference_ratio)
        and _labels(one, ignored) == _labels(other, ignored)
    )


def _agree_on(names: Iterable[str], one: Template, other: Template) -> bool:
    """Whether both have these labels, with equal values (`label_nodegroups.go`)."""
    labels, others = one.node.metadata.labels, other.node.metadata.labels
    return all(name in labels and name in others and labels[name] == others[name] for name in names)


def _labels(template: Template, ignored: frozenset[str]) -> Mapping[str, str]:
    return {name: value for name, value in template.node.metadata.labels.items() if name not in ignored}


def _nanos(resources: ResourceList) -> Mapping[str, int]:
    return {name: parse_quantity(amount) for name, amount in resources.items()}


def _equal_capacity(one: ResourceList, other: ResourceList, tolerance: float) -> bool:
    """Of memory the two may differ a little, of nothing else."""
    first, second = _nanos(one), _nanos(other)
    if first.keys() != second.keys():
        return False
    memory = {MEMORY: first[MEMORY]} if MEMORY in first else {}
    rest = all(first[name] == second[name] for name in first if name != MEMORY)
    return rest and _within(memory, {name: second[name] for name in memory}, tolerance)


def _within(one: Mapping[str, int], other: Mapping[str, int], tolerance: float) -> bool:
    if one.keys() != other.keys():
        return False
    pairs = (sorted((one[name] / MICRO_PER_MILLI, other[name] / MICRO_PER_MILLI)) for name in one)
    return all(
        (larger - smaller) / MICRO_PER_MILLI <= larger / MICRO_PER_MILLI * tolerance for larger, smaller in pairs
    )


def _free(info: NodeInfo) -> Mapping[str, int]:
    """What the pods of the node leave, in nano-units; of what it does not have they may leave less than nothing."""
    requested = {CPU: info.cpu * MICRO_PER_MILLI, MEMORY: info.memory * NANO, EPHEMERAL_STORAGE: info.ephemeral * NANO}
    # QUIRK: (`ResourceToResourceList`) of pods it is not counted how many there are.
    requested[PODS] = 0
    requested |= {name: amount * NANO for name, amount in info.scalars.items()}
    there = _nanos(allocatable(info.node))
    return {name: there.get(name, 0) - used for name, used in requested.items()}


def balanced(groups: Sequence[NodeGroup], nodes: int) -> Mapping[str, int]:
    """How many nodes each group gets, by its name (`BalanceScaleUpBetweenGroups`): the smallest gets the next one.

    Args:
        groups: of equal ones the first comes first.
        nodes: how many there are to spread; what goes beyond their maxima is cut off.
    """
    sizes = [[group.size, group.maximum, place] for place, group in enumerate(groups) if group.size != group.maximum]
    sizes.sort(key=lambda each: each[0])
    left = min(nodes, sum(max(most - size, 0) for size, most, _ in sizes))
    start = current = 0
    while left > 0:
        chosen = sizes[current]
        if chosen[0] < chosen[1]:
            chosen[0] += 1
            left -= 1
        else:  # it is full: those before `start` are out
            sizes[start], sizes[current] = sizes[current], sizes[start]
            start += 1
        is_ahead = current < len(sizes) - 1 and chosen[0] > sizes[current + 1][0]
        current = current + 1 if is_ahead else start
    added = {groups[place].name: size - groups[place].size for size, _, place in sizes}
    return {name: delta for name, delta in added.items() if delta}
