"""The obstacles to a pod, counted over all nodes; the tightest resource, and what is stranded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kwhatif.questions.decisions.nearest_miss import lack
from kwhatif.questions.rows import requests_of
from kwhatif.report.capacity import ReasonRow, TightestRow
from kwhatif.scheduler.framework.attempt import Attempt
from kwhatif.scheduler.framework.evidence import Evidence, InsufficientResource
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


class Shortage(NamedTuple):
    """The obstacles on all nodes in a failed attempt."""

    #: The most frequent first.
    reasons: tuple[ReasonRow, ...]
    tightest: tuple[TightestRow, ...]


def shortage(result: Attempt, objections: Mapping[str, Sequence[Verdict]]) -> Shortage:
    """Why the pod fits on no node, with the `objections` to each; call it before the state changes."""
    requests = requests_of(result.cycle.pod.resources.requested)
    nodes = result.cycle.state.by_name
    full = [(nodes[name], verdicts[0]) for name, verdicts in objections.items() if _lacks_only_room(verdicts)]
    return Shortage(tuple(_reasons(objections)), tuple(_tightest(full, requests)))


def _reasons(objections: Mapping[str, Sequence[Verdict]]) -> Iterator[ReasonRow]:
    """The reasons as the scheduler counts them: those of the first plugin that rejects each node."""
    found: dict[tuple[str, str], list[tuple[str, Evidence | None]]] = {}
    for name, (first, *_) in objections.items():
        status = first.status
        reasons, evidence = status.reasons or ("",), status.evidence
        paired = len(reasons) == len(evidence)
        for index, reason in enumerate(reasons):
            item = evidence[index] if paired else next(iter(evidence), None)
            found.setdefault((first.plugin, reason), []).append((name, item))
    for (plugin, reason), rejected in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        node, item = min(rejected, key=lambda each: (lack(each[1]), each[0]))
        yield ReasonRow(plugin=plugin, reason=reason, nodes=len(rejected), node=node, evidence=item)


# --- the tightest ------------------------------------------------------------------------------------------------


def _lacks_only_room(verdicts: Sequence[Verdict]) -> bool:
    """Whether a shortage of resources is the only obstacle."""
    return len(verdicts) == 1 and all(isinstance(item, InsufficientResource) for item in verdicts[0].status.evidence)


def _tightest(full: Sequence[tuple[NodeInfo, Verdict]], requests: Mapping[str, int]) -> Iterator[TightestRow]:
    """For each resource, how many nodes have the least of it for the pod, and what is stranded there."""
    counts: dict[str, int] = {}
    stranded: dict[str, dict[str, int]] = {}
    for node, verdict in full:
        short = {item.resource: item for item in verdict.status.evidence if isinstance(item, InsufficientResource)}
        if not short:
            continue
        name = min(short, key=lambda each: ((short[each].allocatable - short[each].used) / short[each].requested, each))
        counts[name] = counts.get(name, 0) + 1
        sums = stranded.setdefault(name, {})
        for other in requests.keys() - short.keys():
            sums[other] = sums.get(other, 0) + free(node, other)
    for name, number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield TightestRow(
            resource=name,
            nodes=number,
            stranded={key: stranded[name][key] for key in requests if key in stranded[name]},
        )


def fits(pod: PodInfo, node: NodeInfo) -> bool:
    """Whether the node has as much left as the pod requests."""
    requests = requests_of(pod.resources.requested)
    return len(node.pods) < node.allowed_pods and all(amount <= free(node, name) for name, amount in requests.items())


def free(node: NodeInfo, resource: str) -> int:
    """What is left of the resource on the node, in the scheduler's unit."""
    there = node.allocatable
    match resource:
        case "cpu":
            free = there.cpu - node.cpu
        case "memory":
            free = there.memory - node.memory
        case "ephemeral-storage":
            free = there.ephemeral - node.ephemeral
        case _:
            free = there.scalar(resource) - node.scalars.get(resource, 0)
    return max(0, free)
