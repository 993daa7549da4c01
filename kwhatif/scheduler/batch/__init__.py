"""Attempts that start from what earlier ones have found: `BatchCache`.

Pods with equal signatures get equal answers on equal states. So the cache keeps, per signature, what the first attempt
found, and brings it up to date when the next pod of the signature is asked about. What it keeps holds as follows.

    signature        of the pod and what rules read of labels and claims on this very state: asked for anew each time
    Batch            one per signature, up to one generation of the state. `State.since` says what happened after that:
      pods moved       filters and scorers that look beyond a node count them (`Incremental.apply_pod_change`), and say
                       which nodes may be in another class; nodes touched and these are judged again, no others
      a skip ended     a plugin that had nothing to check has now (`SkipUntil`): the batch is over
      budgets changed  candidates on nodes with more of their pods than they allow are searched again
      anything else    that a rule reads, such as nodes: the batch is over, and the next attempt a whole one
    FeasibleNodes    by group: nodes of one group have equal scores but for those that hang on the node alone
    EvictionCandidates
                     by class of nodes that CLUSTER filters cannot tell apart; per class the verdicts for each of the
                     last few states of these filters (`Incremental.class_state`)
    fork             shares all of it; whoever asks a shared batch first copies it, and leaves the other as it is

Nobody informs the cache of changes: it asks the state. With `KWHATIF_REFERENCE=1` nothing is kept, and every attempt is
a whole one; the answers are the same. Only `OpportunisticBatch` is not about speed, but what kube-scheduler does.
"""

from __future__ import annotations

from kwhatif.scheduler.batch.cache import BatchCache
from kwhatif.scheduler.batch.result import ScheduleResult, result_of

__all__ = ["BatchCache", "ScheduleResult", "result_of"]
