"""The parts of a story that only a drain or an outage has: waves, blocked pods, and the verdict."""

from __future__ import annotations

from typing import Literal

import msgspec

from kwhatif.kube.model.meta import Row


class WaveRow(Row):
    """The pods whose eviction was granted at one moment."""

    at: float
    pods: tuple[str, ...]


#: Why a drain does not evict a pod, or why a pod does not come back after an outage.
BlockedCause = Literal[
    "timeout",
    "endless-drain",
    "came-late",
    "refused-by-kubectl",
    "kubelet-silent",
    "finalizer",
    "slow",
    "many-budgets",
    "sync-failed",
    "unready-itself",
    "demands-all",
    "pending-member",
    "unready-member",
    "allowed-late",
    "bare-members",
    "no-maker",
    "bare",
    "zone-lost",
    "tolerates",
    "toleration-unknown",
    "node-silent",
    "node-deleted",
]


class BlockedRow(Row, kw_only=True):
    """A pod that a drain does not evict, or that does not come back after an outage; `why` is the reason in words.

    `budgets` are those in the way: the first one needs `needed` healthy pods and has `healthy`. `about` is the subject
    of the cause: another pod, a node, a time, or a message. `nowhere`: its replacement would find no node.
    """

    pod: str
    class_: str = msgspec.field(name="class")
    #: None in a report of an earlier kwhatif, which only has the words.
    cause: BlockedCause | None = None
    about: str = ""
    budgets: tuple[str, ...] = ()
    needed: int = 0
    healthy: int = 0
    nowhere: bool = False
    why: str = ""
    remedy: str = ""


#: The kinds of the worst harm: kubectl refuses to evict pods, blocked pods, a command that does not end, pods that
#: replace each other without end, something unfinished at the horizon, pending pods, refused new pods, failed Jobs,
#: fewer ready pods.
Harm = Literal[
    "refused-by-kubectl", "blocked", "endless", "unsettled", "horizon", "pending", "refused", "failed", "unready"
]


class WorstRow(Row):
    """The worst harm of a drain or an outage.

    `subject` is the affected workload, or what is unfinished at the horizon. `messages` are kubectl's, the API server's
    or a controller's; of a story without an end the workloads that replace each other. `count`: how many pods are
    blocked, how many pods the subject has fewer, how many Jobs fail, or how many of its `of` pods are ready. `blocked`
    is the first pod that is.
    """

    what: Harm
    subject: str = ""
    messages: tuple[str, ...] = ()
    count: int = 0
    of: int = 0
    blocked: BlockedRow | None = None


class VerdictRow(Row, kw_only=True):
    """The verdict about a drain or an outage: whether it does no harm, and its effects.

    What also happens without it is left out. `why` is the worst harm in words, and `worst` as data. `moved`: the pods
    that leave the nodes; `preempted`: those elsewhere that are evicted for them in turn; `pending`: those without a
    node at the end, as many of each workload as would not be without it. `gone`: of the pods that a drain evicts, those
    in whose place none is made. `seconds` count from the command.

    `priority` is the highest of a pending pod, null without one; `critical`: how many have that of
    system-cluster-critical or a higher one. `broken`: the budgets that had fewer healthy pods than they demand at any
    moment.
    """

    of: Literal["drain", "outage"]
    ok: bool
    nodes: tuple[str, ...]
    why: str = ""
    moved: int
    waves: int
    preempted: int
    pending: tuple[str, ...]
    seconds: float
    priority: int | None = None
    critical: int = 0
    broken: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    #: None without harm, and in a report of an earlier kwhatif.
    worst: WorstRow | None = None
