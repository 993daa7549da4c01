"""What a rule finds, as data; `render/policy.py` makes the sentences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import msgspec

from kwhatif.kube.model.caveat import Caveat
from kwhatif.policy.schema import ExceptionRule, Level
from kwhatif.report.decision import Decision, Evicted, FindingRow, JudgedWorkload, Outcome
from kwhatif.report.risks import AuditFindingRow, AuditLevel, ShownByRow
from kwhatif.report.story import VerdictRow


class _Fact(msgspec.Struct, frozen=True):
    """Equal facts about a workload are the same finding, whatever the scheduler's message is."""


# --- pods of a workload ----------------------------------------------------------------------------------------------


class PodsStuck(_Fact, frozen=True):
    """Pods with this outcome: they do not run. `waiting` others are not created until the first `waited_for` run.

    `after`: pods that have taken the room first.
    """

    outcome: Outcome
    pods: int
    waiting: int = 0
    waited_for: int = 0
    after: tuple[str, ...] = ()


class RolloutHangs(_Fact, frozen=True):
    """A rollout that stops after this number of new pods."""

    updated: int
    wanted: int


class PodsEvict(_Fact, frozen=True):
    """Pods that evict others; `after`: pods that have taken the room first."""

    pods: int
    victims: tuple[Evicted, ...]
    after: tuple[str, ...]


class BudgetsBroken(_Fact, frozen=True):
    """Evictions that violate these budgets."""

    victims: tuple[Evicted, ...]
    budgets: tuple[str, ...]


class TooManyVictims(_Fact, frozen=True):
    """The number of victims up to this workload, and the limit."""

    victims: int
    limit: int


class ProtectedEvicted(_Fact, frozen=True):
    """Pods that evict protected ones: of this priority or more; None: in a protected namespace."""

    pods: int
    victims: tuple[Evicted, ...]
    min_priority: int | None


class ClassesForbidden(_Fact, frozen=True):
    """Pods with priority classes that their namespaces may not use."""

    classes: tuple[str, ...]
    namespaces: tuple[str, ...]


class NodesForbidden(_Fact, frozen=True):
    """Pods that may be placed on forbidden nodes."""

    pods: int
    nodes: tuple[str, ...]


class ExpressionFalse(_Fact, frozen=True):
    """An expression that is not true; `message` is the policy's."""

    expression: str
    message: str


class ExpressionFails(_Fact, frozen=True):
    """An expression that cannot be evaluated."""


# --- what follows ----------------------------------------------------------------------------------------------------


class StaysPending(_Fact, frozen=True):
    """Pods that are pending at the end of the simulation, of that priority or more."""

    owner: str
    pods: int
    min_priority: int


class StaysRefused(_Fact, frozen=True):
    """Pods of a workload that the API server refuses at the end of the simulation."""

    workload: str
    message: str


class NeverSettles(_Fact, frozen=True):
    """The simulation goes in a circle: these replace each other."""

    participants: tuple[str, ...]


class BudgetOverrun(_Fact, frozen=True):
    """A budget lacks this number of healthy pods during the simulation."""

    budget: str
    pods: int


class Fragile(_Fact, frozen=True):
    """The result of the rule `survives`: nodes or zones that must not fail after the manifests are applied.

    `kind` is node or zone, `name` the worst one, `verdict` its result; `more` others must not fail either. `unjudged`:
    why none could be judged.
    """

    kind: str
    name: str = ""
    verdict: VerdictRow | None = None
    more: int = 0
    unjudged: str = ""


class Brought(_Fact, frozen=True):
    """A new finding of an audit; or one that is worse now, by level, what-ifs and subjects."""

    finding: AuditFindingRow
    was_level: AuditLevel | None = None
    what_ifs: tuple[ShownByRow, ...] = ()
    subjects: tuple[str, ...] = ()

    @property
    def is_worse(self) -> bool:
        """Whether the finding existed before, and was less severe."""
        return bool(self.was_level or self.what_ifs or self.subjects)


class Audited(NamedTuple):
    """The result of the rule `audit`: findings that are new or worse than before; or why nothing could be judged."""

    findings: Sequence[Brought] = ()
    unjudged: str = ""


class AuditUnjudged(_Fact, frozen=True):
    """Why the rule `audit` could not be judged."""

    why: str


# --- the policy itself -----------------------------------------------------------------------------------------------


class AnnotationWrong(_Fact, frozen=True):
    """An entry of the annotation that is not valid."""

    message: str


class AnnotationExpired(_Fact, frozen=True):
    """An entry of the annotation whose last day is over."""

    until: date
    reason: str


class AnnotationForbidden(_Fact, frozen=True):
    """The annotation suppresses a rule that the policy does not let annotations suppress."""

    rule: str


class ExceptionExpired(_Fact, frozen=True):
    """An exception of the policy whose last day is over."""

    exception: ExceptionRule


class NameUnknown(_Fact, frozen=True):
    """A rule names a namespace or priority class that the cluster does not have; `nearest`: a similar name."""

    rule: str
    kind: str
    name: str
    nearest: tuple[str, ...]


#: A caveat is a fact whose sentence `render/caveats` makes.
Fact = (
    PodsStuck
    | RolloutHangs
    | PodsEvict
    | BudgetsBroken
    | TooManyVictims
    | ProtectedEvicted
    | ClassesForbidden
    | NodesForbidden
    | ExpressionFalse
    | ExpressionFails
    | StaysPending
    | StaysRefused
    | NeverSettles
    | BudgetOverrun
    | Fragile
    | Brought
    | AuditUnjudged
    | AnnotationWrong
    | AnnotationExpired
    | AnnotationForbidden
    | ExceptionExpired
    | NameUnknown
)


class Violation(NamedTuple):
    """The violation of a rule, about a workload of the manifests, or about other objects that it names."""

    rule: str
    level: Level
    fact: Fact | Caveat
    workload: JudgedWorkload | None = None
    #: The decisions about the pods that it concerns; `pods`: their names, if there are no decisions.
    decisions: tuple[Decision, ...] = ()
    pods: tuple[str, ...] = ()
    #: All subjects, the main one first: workloads of the manifests, or other objects.
    names: tuple[str, ...] = ()
    #: Whether it is true only after all reactions to evictions.
    reacted: bool = False
    #: The nodes that pods which stay pending at first get after all reactions.
    later: tuple[str, ...] = ()
    #: Why an expression cannot be evaluated.
    error: str = ""


class Finding(FindingRow, kw_only=True):
    """The finding before `render` makes a sentence of it: its `message`."""

    violation: Violation
