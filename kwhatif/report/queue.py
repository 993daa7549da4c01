"""The rows of the command `queue`: the scheduling queue. Pods are `namespace/name`."""

from __future__ import annotations

from typing import Literal

from kwhatif.kube.model.meta import Row
from kwhatif.report.causes import Cause
from kwhatif.report.decision import Outcome

QueueState = Literal["Active", "BackingOff", "Unschedulable", "Gated", "OtherScheduler", "New"]
QueueFate = Literal["Woken", "Active", "Asleep", "Gated", "OtherScheduler", "Gone"]


class WakeUpRow(Row):
    """Something that would bring a pod back into the queue, or would help although the scheduler would not notice.

    `plugin` is the one that waits for it, "" for the queue itself. `enough`: the pod then fits, as far as is known.
    `wakes`: a queueing hint of a plugin wakes it; otherwise only the flush after five minutes does.
    """

    cause: Cause
    plugin: str = ""
    enough: bool = True
    wakes: bool = True


class WakingRow(Row):
    """An event by which edits wake a pod, the object that it is about, and the plugin whose hint says so."""

    event: str
    object: str
    plugin: str


class AfterEditsRow(Row, kw_only=True):
    """The effect of edits on a pending pod.

    A pod that is `Woken` or `Active` is tried again, as number `turn`; an `Asleep` one is not, and `outcome` is what it
    would be at the end: if that is a node, only the flush after five minutes helps. `behind` are pods in front of it
    without which it would get a node. `Gone`: the edits delete the pod.
    """

    fate: QueueFate
    woken_by: tuple[WakingRow, ...] = ()
    turn: int | None = None
    outcome: Outcome
    node: str | None = None
    message: str = ""
    rejected_by: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()

    @property
    def fits_but_is_not_requeued(self) -> bool:
        """Whether only the flush after five minutes helps."""
        return self.fate == "Asleep" and self.node is not None


class QueuedPodRow(Row, kw_only=True):
    """A pending pod in the scheduling queue, as it is without edits; a pod that edits make is `New`.

    `position` counts from 1, in the order in which the scheduler takes them; null for pods that it does not take.
    `state` is what the dump shows: a pod without a verdict of the scheduler is `Active`. `since` is when the scheduler
    first rejected it, as its condition says. Events of a dump show how often its attempts failed, at least
    (`attempts`), when that is known to have happened last (`lastAttempt`), and until when it has to wait even if it is
    woken (`backoffEnds`); each is null where it is not known, or over. `outcome`, `node`, `message` and `rejected_by`
    come of trying it now, after those before it; `wake_ups`, the most likely first, are null where they were not asked
    for.
    """

    position: int | None
    pod: str
    owner: str | None = None
    priority: int = 0
    created: str | None = None
    state: QueueState
    since: str | None = None
    attempts: int | None = None
    last_attempt: str | None = None
    backoff_ends: str | None = None
    #: Pods that it has evicted, as Events show.
    evicted: tuple[str, ...] = ()
    rejected_by: tuple[str, ...] = ()
    outcome: Outcome
    node: str | None = None
    message: str = ""
    wake_ups: tuple[WakeUpRow, ...] | None = None
    #: Null without edits.
    after: AfterEditsRow | None = None


class QueueRow(Row):
    """The scheduling queue: the pods that were asked for, and the number of pending pods."""

    pending: int = 0
    pods: tuple[QueuedPodRow, ...] = ()
