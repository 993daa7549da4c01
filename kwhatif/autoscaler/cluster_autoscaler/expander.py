"""The expanders: which node group is scaled up (`expander/`), and how nodes are balanced over similar groups.

The expanders are a chain of filters; at its end, one option is chosen at random. Similar groups:
`processors/nodegroupset/`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from kwhatif.autoscaler.cluster_autoscaler.flags import Flags
from kwhatif.autoscaler.cluster_autoscaler.groups import NodeGroup
from kwhatif.autoscaler.cluster_autoscaler.nodes import gpu_of
from kwhatif.autoscaler.cluster_autoscaler.templates import Template
from kwhatif.kube.matching.requests import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from kwhatif.kube.model.node import HOSTNAME, REGION, ZONE, Node
from kwhatif.kube.model.pod_spec import ResourceList
from kwhatif.kube.model.quantity import MICRO_PER_MILLI, NANO, milli_value, parse_quantity, value
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo

_MIB, _GIB = 2**20, 2**30
#: The weights of a core and of a GiB in the price of a pod.
_PER_CORE, _PER_GIB = 1.0, 0.125
#: `priceStabilizationPod` of `expander/price/price.go`: milli-cpu, bytes.
_STABILIZATION = (500, 500 * _MIB)
_GPU_UNFITNESS = 1000.0


class Option(msgspec.Struct, frozen=True):
    """A number of new nodes of the group, and the pods that fit on them."""

    group: NodeGroup
    template: Template
    nodes: int
    pods: Sequence[PodInfo]
    #: Similar groups that fit the same pods.
    similar: Sequence[NodeGroup] = ()


class Choice(msgspec.Struct, frozen=True):
    """The options that the expanders leave: one; several, of which one is chosen at random; or none."""

    options: Sequence[Option]
    #: Groups whose price is needed, but not known.
    unpriced: tuple[str, ...] = ()


def choose(expanders: Sequence[str], options: Sequence[Option], nodes: int) -> Choice:
    """Apply the expanders in order until one option is left (`expander/factory/chain.go`).

    Args:
        expanders: their names; after `random` and `grpc` the choice is random.
        options: the options to choose from.
        nodes: the number of nodes in the cluster.
    """
    left, unpriced = options, tuple[str, ...]()
    for name in expanders:
        if name == "price":
            unpriced = tuple(option.group.name for option in left if option.group.price is None)
            left = left if len(unpriced) == len(left) else _cheapest(left, nodes)
        elif name in _FILTERS:
            left = _FILTERS[name](left)
        if len(left) <= 1:
            break
    return Choice(left, unpriced)


def _best(options: Sequence[Option], score: Callable[[Option], float]) -> Sequence[Option]:
    """The options with the lowest score.

    QUIRK: (waste.go, price.go) nothing is less than NaN: an option with this score is chosen if, and only if, it comes
    first.
    """
    scores = [score(option) for option in options]
    if scores and math.isnan(scores[0]):
        return options[:1]
    least = min(scores, default=0.0)
    return [option for option, each in zip(options, scores, strict=True) if each == least]


def _waste(option: Option) -> float:
    """The sum of the unrequested shares of cpu and of memory of the nodes; NaN or -inf if a node has none."""
    requested = [pod.resources.requested for pod in option.pods]
    cpu, memory = (amount * option.nodes for amount in _capacity(option.template.node))
    return _unused(cpu, sum(each.cpu for each in requested)) + _unused(memory, sum(each.memory for each in requested))


def _unused(capacity: int, requested: int) -> float:
    if not capacity:
        return -math.inf if requested else math.nan
    return (capacity - requested) / capacity


def _capacity(node: Node) -> tuple[int, int]:
    """The node's capacity in milli-cpu and bytes, with reserved resources."""
    capacity = node.status.capacity
    return milli_value(parse_quantity(capacity.get(CPU, 0))), value(parse_quantity(capacity.get(MEMORY, 0)))


def _highest_priority(options: Sequence[Option]) -> Sequence[Option]:
    """The groups with the highest priority. Groups without one (or below -1) count only if no group has one."""
    known = [option for option in options if option.group.priority is not None and option.group.priority >= -1]
    return _best(known, lambda option: -(option.group.priority or 0)) if known else options


_FILTERS: Mapping[str, Callable[[Sequence[Option]], Sequence[Option]]] = {
    "least-waste": lambda options: _best(options, _waste),
    "most-pods": lambda options: _best(options, lambda option: -len(option.pods)),
    "least-nodes": lambda options: _best(options, lambda option: option.nodes),
    "priority": _highest_priority,
}


# --- price ------------------------------------------------------------------------------------------------------------


def _cheapest(options: Sequence[Option], nodes: int) -> Sequence[Option]:
    """Of the groups with a price, those with the lowest price for the pods that fit (`expander/price/price.go`).

    Upstream asks the cloud for the price of a pod: here it is the pod's share of the cheapest node, by cpu and memory.
    """
    priced = [option for option in options if option.group.price is not None]
    rate = min((option.group.price or 0.0) / (_weight(*_capacity(option.template.node)) or 1) for option in priced)
    stable = rate * _weight(*_STABILIZATION)
    preferred = _preferred_cpu(nodes)

    def score(option: Option) -> float:
        requested = [pod.resources.requested for pod in option.pods]
        pods = rate * sum(_weight(each.cpu, each.memory) for each in requested)
        ratio = ((option.group.price or 0.0) * option.nodes + stable) / ((pods + stable) or 1)
        return _unfitness(option, preferred) * ratio

    return _best(priced, score)


def _weight(cpu: int, memory: int) -> float:
    return cpu / 1000 * _PER_CORE + memory / _GIB * _PER_GIB


def _preferred_cpu(nodes: int) -> int:
    """The preferred milli-cpu of a node in a cluster of this size (`SimplePreferredNodeProvider`)."""
    sizes = ((2, 1), (6, 2), (20, 4), (60, 8), (200, 16))
    return next((cores for maximum, cores in sizes if nodes <= maximum), 32) * 1000


def _unfitness(option: Option, preferred: int) -> float:
    if gpu_of(option.template.node) is not None:
        return _GPU_UNFITNESS
    cpu = _capacity(option.template.node)[0]
    unfitness = max(preferred / cpu, cpu / preferred) if cpu else math.inf
    return (unfitness - 1.0) * (1.0 - math.tanh((option.nodes - 1) / 15.0)) + 1.0


#: Labels that may differ (`BasicIgnoredLabels`), and the labels that clouds set for the zone or the instance.
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
    """Whether two groups are similar, so that new nodes are balanced over both (`IsCloudProviderNodeInfoSimilar`)."""
    if flags.balancing_label:
        return _agree_on(flags.balancing_label, one, other)
    info, like = one.info(), other.info()
    ignored = _IGNORED.union(flags.balancing_ignore_label)
    return (
        _equal_capacity(one.node.status.capacity, other.node.status.capacity, flags.memory_difference_ratio)
        and _within(
            _nanos(info.node.status.allocatable_or_capacity),
            _nanos(like.node.status.allocatable_or_capacity),
            flags.max_allocatable_difference_ratio,
        )
        and _within(_free(info), _free(like), flags.max_free_difference_ratio)
        and _labels(one, ignored) == _labels(other, ignored)
    )


def _agree_on(names: Iterable[str], one: Template, other: Template) -> bool:
    """Whether both nodes have these labels, with equal values (`label_nodegroups.go`)."""
    labels, others = one.node.metadata.labels, other.node.metadata.labels
    return all(name in labels and name in others and labels[name] == others[name] for name in names)


def _labels(template: Template, ignored: frozenset[str]) -> Mapping[str, str]:
    return {name: value for name, value in template.node.metadata.labels.items() if name not in ignored}


def _nanos(resources: ResourceList) -> Mapping[str, int]:
    return {name: parse_quantity(amount) for name, amount in resources.items()}


def _equal_capacity(one: ResourceList, other: ResourceList, tolerance: float) -> bool:
    """Whether the capacities are equal, up to a small difference in memory."""
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
    """The node's free resources, in nano-units; negative for a resource that the node does not have."""
    requested = {CPU: info.cpu * MICRO_PER_MILLI, MEMORY: info.memory * NANO, EPHEMERAL_STORAGE: info.ephemeral * NANO}
    # QUIRK: (`ResourceToResourceList`) the number of pods is not counted.
    requested[PODS] = 0
    requested |= {name: amount * NANO for name, amount in info.scalars.items()}
    there = _nanos(info.node.status.allocatable_or_capacity)
    return {name: there.get(name, 0) - used for name, used in requested.items()}


def balanced(groups: Sequence[NodeGroup], nodes: int) -> Mapping[str, int]:
    """How many nodes each group gets, by its name (`BalanceScaleUpBetweenGroups`): the smallest gets the next one.

    Args:
        groups: of groups of equal size the first is filled first.
        nodes: how many to spread, at most what the groups' maxima allow.
    """
    sizes = [[group.size, group.maximum, index] for index, group in enumerate(groups) if group.size != group.maximum]
    sizes.sort(key=lambda each: each[0])
    left = min(nodes, sum(max(maximum - size, 0) for size, maximum, _ in sizes))
    start = current = 0
    while left > 0:
        chosen = sizes[current]
        if chosen[0] < chosen[1]:
            chosen[0] += 1
            left -= 1
        else:  # the group is full: groups before `start` are done
            sizes[start], sizes[current] = sizes[current], sizes[start]
            start += 1
        is_ahead = current < len(sizes) - 1 and chosen[0] > sizes[current + 1][0]
        current = current + 1 if is_ahead else start
    added = {groups[index].name: size - groups[index].size for size, _, index in sizes}
    return {name: delta for name, delta in added.items() if delta}
