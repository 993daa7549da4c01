"""Attempts for nominated pods from their signature's batch: their node is tried first (`evaluateNominatedNode`)."""

from __future__ import annotations

from copy import copy
from functools import partial

from msgspec.structs import replace

from kwhatif.scheduler.batch.eviction_candidates import EvictionCandidates
from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.scoring import score_nodes
from kwhatif.scheduler.framework.status import Code
from kwhatif.state.pod_info import PodInfo

#: A UID that no pod has; without a UID, a pod is identified by its name.
_NOBODY = "-"


def without_nomination(pod: PodInfo) -> PodInfo:
    """A generic pod with the same signature, for which the pod's own nomination counts, too."""
    given = pod.pod
    status = replace(given.status, nominated_node_name="")
    return PodInfo(replace(given, metadata=replace(given.metadata, uid=_NOBODY), status=status))


def attempt_nominated(
    cycle: Cycle, pod: PodInfo, candidates: EvictionCandidates | None, *, scored: bool
) -> ScheduleResult | None:
    """The result for the pod if no other node is feasible; None: a full attempt is needed.

    Args:
        cycle: the updated cycle of the batch, for the pod `without_nomination`.
        pod: the nominated pod.
        candidates: the candidates of its signature.
        scored: whether to score its node; the scheduler does not.

    Raises:
        CycleError: a plugin failed.
    """
    node = cycle.state.node(pod.pod.status.nominated_node_name)
    # Without its own nomination, other nodes may be worse for the pod only by its own affinity.
    if node is None or cycle.node_set is not None or cycle.pre_filter_message or pod.affinity_terms.required:
        return None
    own = copy(cycle)
    own.pod = pod
    objection = own.check(node, own.filters)
    if objection is None:
        own.feasible = [node]
        scores = score_nodes(own) if scored else None
        return ScheduleResult(
            pod,
            "Placed",
            node.name,
            score=scores.total[0] if scores else 0,
            scores={name: column[0] for name, column in scores.by_plugin.items()} if scores else {},
            find_ties=partial(tuple, (node.name,)),
            reserve=own.reserve,
        )
    others = cycle.check(node, cycle.filters)
    if candidates is None or objection.status.code is Code.ERROR or others is None:
        return None
    if (others.plugin, others.status.reasons) != (objection.plugin, objection.status.reasons):
        return None
    own.verdicts = {node.name: objection}
    return candidates.refuse(own)
