"""Which of the groups that would help is scaled up (`expander/`): a chain of filters, and chance at its end."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from kwhatif.autoscaler.cluster_autoscaler.groups import NodeGroup
from kwhatif.autoscaler.cluster_autoscaler.nodes import gpu_of
from kwhatif.autoscaler.cluster_autoscaler.templates import Template
from kwhatif.kube.matching.requests import CPU, MEMORY
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.quantity import milli_value, parse_quantity, value
from kwhatif.state.pod_info import PodInfo

_MIB, _GIB = 2**20, 2**30
#: In hours and cores, as prices of machines are made: the price of a pod if none is given.
_PER_CORE, _PER_GIB = 1.0, 0.125
#: `priceStabilizationPod` of `expander/price/price.go`: milli-cpu, bytes.
_STABILIZATION = (500, 500 * _MIB)
_GPU_UNFITNESS = 1000.0


class Option(msgspec.Struct, frozen=True):
    """A number of nodes of the group that would help these pods."""

    group: NodeGroup
    template: Template
    nodes: int
    pods: Sequence[PodInfo]
    #: Other groups, like this one, that take the same pods.
    similar: Sequence[NodeGroup] = ()


class Choice(msgspec.Struct, frozen=True):
    """What the expander leaves: one option, or several of which one is taken by chance; none where it refuses all."""

    options: Sequence[Option]
    #: Groups whose price decides, and is not known.
    unpriced: tuple[str, ...] = ()


def choose(expanders: Sequence[str], options: Sequence[Option], nodes: int) -> Choice:
    """Ask one expander after another until one option is left (`expander/factory/chain.go`).

    Args:
        expanders: their names; `random` and `grpc` leave everything to chance.
        options: what there is to choose from.
        nodes: how many nodes the cluster has.
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
    """Those with the lowest score."""
    scores = [score(option) for option in options]
    least = min(scores, default=0.0)
    return [option for option, each in zip(options, scores, strict=True) if each == least]


def _least_waste(options: Sequence[Option]) -> Sequence[Option]:
    """QUIRK: (waste.go) an option that wastes nothing at all is also taken for the first of equals; the sum decides."""
    return _best(options, _waste)


def _waste(option: Option) -> float:
    """The sum of the unrequested shares of cpu and of memory of the nodes."""
    requested = [pod.resources.requested for pod in option.pods]
    there = _capacity(option.template.node)
    asked = sum(each.cpu for each in requested), sum(each.memory for each in requested)
    return sum(
        (each * option.nodes - used) / (each * option.nodes) if each else math.nan
        for each, used in zip(there, asked, strict=True)
    )


def _capacity(node: Node) -> tuple[int, int]:
    """Milli-cpu and bytes, reserved ones included."""
    capacity = node.status.capacity
    return milli_value(parse_quantity(capacity.get(CPU, 0))), value(parse_quantity(capacity.get(MEMORY, 0)))


def _most_pods(options: Sequence[Option]) -> Sequence[Option]:
    return _best(options, lambda option: -len(option.pods))


def _least_nodes(options: Sequence[Option]) -> Sequence[Option]:
    return _best(options, lambda option: option.nodes)


def _highest_priority(options: Sequence[Option]) -> Sequence[Option]:
    """Groups without a priority are not used, unless none has any; a negative one counts as none."""
    known = [option for option in options if option.group.priority is not None and option.group.priority >= -1]
    return _best(known, lambda option: -(option.group.priority or 0)) if known else options


_FILTERS: Mapping[str, Callable[[Sequence[Option]], Sequence[Option]]] = {
    "least-waste": _least_waste,
    "most-pods": _most_pods,
    "least-nodes": _least_nodes,
    "priority": _highest_priority,
}


# --- price ------------------------------------------------------------------------------------------------------------


def _cheapest(options: Sequence[Option], nodes: int) -> Sequence[Option]:
    """Those whose money is spent best (`expander/price/price.go`); groups without a price are left out.

    What a pod costs is the cloud's to say: here it is a part of the cheapest node that there is, by cpu and memory.
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
    """Milli-cpu of the nodes that suit a cluster of this size (`SimplePreferredNodeProvider`)."""
    sizes = ((2, 1), (6, 2), (20, 4), (60, 8), (200, 16))
    return next((cores for most, cores in sizes if nodes <= most), 32) * 1000


def _unfitness(option: Option, preferred: int) -> float:
    if gpu_of(option.template.node) is not None:
        return _GPU_UNFITNESS
    cpu = _capacity(option.template.node)[0] or 1
    unfitness = max(preferred / cpu, cpu / preferred)
    return (unfitness - 1.0) * (1.0 - math.tanh((option.nodes - 1) / 15.0)) + 1.0
