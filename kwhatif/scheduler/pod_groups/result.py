"""What came of trying a group: its own status, and that of each member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.scheduler.framework.status import Code
from kwhatif.scheduler.preemption.budgets import BudgetUse
from kwhatif.scheduler.preemption.unit_victims import Unit
from kwhatif.state.pod_info import PodInfo

#: What is before the reasons where a status wraps this error (`errPodGroupUnschedulable`).
GROUP_UNSCHEDULABLE = "pod group is unschedulable"


class GroupStatus(msgspec.Struct, frozen=True):
    """A status with the scheduler's own words; SUCCESS: the group is placed."""

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    #: Whether it wraps the error that the group is unschedulable: this then comes first, and is all that `error` says.
    wraps: bool = False
    #: How many of the reasons were there before PostFilter; None: all.
    before: int | None = None

    @property
    def message(self) -> str:
        """All reasons (`Status.Message()`)."""
        return ", ".join((GROUP_UNSCHEDULABLE, *self.reasons) if self.wraps else self.reasons)

    @property
    def error(self) -> str:
        """What the status says as an error (`Status.AsError()`)."""
        return GROUP_UNSCHEDULABLE if self.wraps else self.message

    def with_reason(self, reason: str) -> GroupStatus:
        """The status with one more reason (`AppendReason`)."""
        return replace(self, reasons=(*self.reasons, reason), before=len(self.reasons))

    @property
    def without_post_filter(self) -> GroupStatus:
        """What members are told that were not tried: theirs is a copy made before PostFilter."""
        return self if self.before is None else replace(self, reasons=self.reasons[: self.before], before=None)


def unschedulable(*reasons: str) -> GroupStatus:
    """The group cannot be placed; it wraps the error that says so."""
    return GroupStatus(Code.UNSCHEDULABLE, reasons, wraps=True)


def failure(message: str) -> GroupStatus:
    """The scheduler itself fails."""
    return GroupStatus(Code.ERROR, (message,))


class GroupPreemption(msgspec.Struct, frozen=True):
    """Whom the group evicts, and where its members would go then."""

    #: The most important first.
    victims: Sequence[Unit] = ()
    #: Key of a member -> the node that it is nominated to.
    nominations: Mapping[str, str] = {}
    #: The budgets that the victims count against, and those of them that break one, by key.
    budgets: Sequence[BudgetUse] = ()
    breaking: Mapping[str, Sequence[str]] = {}

    @property
    def pods(self) -> list[PodInfo]:
        """The pods that have to go."""
        return [pod for unit in self.victims for pod in unit.pods]


class TriedPlacement(msgspec.Struct, frozen=True):
    """What came of trying the group on one placement."""

    #: The value of the label; "" for all nodes.
    name: str
    #: In the order in which members were tried there.
    results: Sequence[ScheduleResult]
    status: GroupStatus
    #: The sum of all scores, where the placement was compared with others.
    score: int | None = None

    @property
    def placed(self) -> int:
        """How many members found a node there."""
        return sum(each.node is not None for each in self.results)


class GroupResult(msgspec.Struct, frozen=True):
    """What came of one cycle."""

    group: PodGroup
    #: In the order in which they were tried. Of those that were not `members` has none.
    results: Sequence[ScheduleResult]
    #: All that wait for a node.
    members: Sequence[PodInfo]
    status: GroupStatus
    #: The placement that was taken, or whose failure is told; "" for all nodes.
    placement: str = ""
    #: All placements that were tried, where there are several.
    tried: Sequence[TriedPlacement] = ()
    #: How many members had a node before.
    bound: int = 0
    #: The pods that it would evict; None: none.
    preemption: GroupPreemption | None = None
    #: Whether the group waits for victims of an earlier cycle, or of this one, to be gone.
    waits_for_victims: bool = False

    @property
    def is_placed(self) -> bool:
        """Whether the members that fit get their nodes."""
        return self.status.code is Code.SUCCESS

    @property
    def placed(self) -> list[ScheduleResult]:
        """The members that fit, be the group placed or not."""
        return [each for each in self.results if each.node is not None]


class GroupOutcome(NamedTuple):
    """How the attempts of a group went."""

    #: The last one.
    result: GroupResult
    #: What the condition says; "" once the group was placed.
    message: str
    #: Those that evicted others.
    evicting: tuple[GroupResult, ...] = ()
