"""A nominated pod, answered from the batch of its signature: its node is tried first (`evaluateNominatedNode`)."""

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

#: The UID of no pod; without one, a pod goes by its name.
_NOBODY = "-"


def without_nomination(pod: PodInfo) -> PodInfo:
    """A pod of the same signature that is nobody in particular: the pod's own nomination counts for it, too."""
    given = pod.pod
    status = replace(given.status, nominated_node_name="")
    return PodInfo(replace(given, metadata=replace(given.metadata, uid=_NOBODY), status=status))


def attempt_nominated(
    cycle: Cycle, pod: PodInfo, candidates: EvictionCandidates | None, *, scored: bool
) -> ScheduleResult | None:
    """What becomes of the pod, where no other node is feasible; None: a whole attempt has to say.

    Args:
        cycle: the batch's, which is up to date, for the pod `without_nomination`.
        pod: the nominated one.
        candidates: those of its signature.
        scored: whether anybody asks how good its node is; the scheduler does not.

    Raises:
        CycleError: a plugin failed.
    """
    node = cycle.state.node(pod.pod.status.nominated_node_name)
    # With its own nomination left out the pod may find other nodes worse only by its own affinity.
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
