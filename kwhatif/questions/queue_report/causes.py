"""From the evidence of one attempt to what could change in the cluster so that the pod fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kwhatif.kube.matching.tolerations import UNSCHEDULABLE_TAINT
from kwhatif.questions.queue_report import node_causes, other_causes
from kwhatif.questions.queue_report.objected import OnNode, WakingChange
from kwhatif.scheduler.framework.attempt import Attempt
from kwhatif.scheduler.framework.evidence import CordonedNode, UntoleratedTaint
from kwhatif.scheduler.framework.status import Verdict


def changes(result: Attempt, objections: Mapping[str, tuple[Verdict, ...]]) -> Iterator[WakingChange]:
    """The changes that would help on the nodes that were rejected; only of plugins that count as rejectors.

    Where some nodes need nothing else, those that need more are left out.
    """
    nodes = result.cycle.state.by_name
    rejectors = result.cycle.unschedulable_plugins
    found = [
        OnNode(nodes[name], verdict.plugin, verdict.status.evidence, _is_alone(verdict, verdicts))
        for name, verdicts in sorted(objections.items())
        for verdict in verdicts
        if verdict.plugin in rejectors
    ]
    pod = result.cycle.pod
    yield from node_causes.room(found)
    yield from node_causes.growth(found)
    yield from node_causes.taints(pod, found)
    yield from node_causes.cordons(found)
    yield from node_causes.labels(found)
    yield from other_causes.ports(found)
    yield from other_causes.spread(pod, found)
    yield from other_causes.affinity(found)
    yield from other_causes.volumes(found)
    yield from other_causes.devices(found)


def _is_alone(verdict: Verdict, verdicts: Sequence[Verdict]) -> bool:
    """A cordoned node has a taint as well, which goes with the cordon."""
    return all(other.plugin == verdict.plugin or _is_cordon(other) for other in verdicts)


def _is_cordon(verdict: Verdict) -> bool:
    return any(
        isinstance(item, CordonedNode) or (isinstance(item, UntoleratedTaint) and item.key == UNSCHEDULABLE_TAINT.key)
        for item in verdict.status.evidence
    )
