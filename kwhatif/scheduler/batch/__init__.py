"""Attempts that reuse the results of earlier ones: `BatchCache`.

Pods with equal signatures get equal results on equal states. So the cache keeps the result of the first attempt per
signature, and updates it for the next pod with the signature. The parts are valid as follows.

    signature        of the pod and of what rules read of labels and claims in this state: computed for each attempt
    Batch            one per signature, valid for one generation of the state. `State.since` returns later changes:
      pods moved       filters and scorers beyond a node count them (`Incremental.apply_pod_change`), and return
                       which nodes may be in another class; only these and the touched nodes are evaluated again
      a skip ended     a plugin that had nothing to check now has (`SkipUntil`): the batch is dropped
      budgets changed  candidates on nodes with more of their pods than they allow are computed again
      anything else    that a rule reads, such as nodes: the batch is dropped, and the next attempt is a full one
    FeasibleNodes    by group: nodes of one group have equal scores, except those that depend only on the node
    EvictionCandidates
                     by class of nodes that CLUSTER filters treat the same; per class the verdicts for each of the
                     last few states of these filters (`Incremental.class_state`); without such filters all signatures
                     share them whose pods ask for the same (`SharedCandidates`)
    fork             shares everything; a shared batch is copied before it changes

The cache is not notified of changes: it asks the state. With `KWHATIF_REFERENCE=1` nothing is cached, and every
attempt is a full one; the results are the same.
"""

from __future__ import annotations

from kwhatif.scheduler.batch.cache import BatchCache
from kwhatif.scheduler.batch.result import ScheduleResult, result_of

__all__ = ["BatchCache", "ScheduleResult", "result_of"]
