"""`compare`: two answers to one question, and what is different; such as without and with edits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from kwhatif.model.meta import FrozenMeta
from kwhatif.report import API_VERSION, Report
from kwhatif.report.capacity import CapacityRow, FitRow
from kwhatif.report.decision import Decision, Outcome
from kwhatif.report.deschedule import Course, DescheduleRow, ReplacementRow
from kwhatif.report.policy import FindingRow

T = TypeVar("T")
Difference = Literal["flipped", "victims", "moved", "new", "gone"]
#: The most important first.
_ORDER: Sequence[Difference] = ("flipped", "victims", "moved", "new", "gone")


class _Row(msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True, rename="camel", gc=False):
    """Base of all parts of a comparison."""


class FateRow(_Row):
    """What becomes of a pod: its outcome, the node where it lands or is nominated, the pods that it evicts."""

    outcome: Outcome
    node: str | None = None
    victims: tuple[str, ...] = ()


class PodDifferenceRow(_Row):
    """A pod of which the answers differ.

    `flipped`: it has another outcome; `victims`: it would evict other pods; `moved`: it goes to another node; `new`,
    `gone`: only one of the answers has it, and the other side is null.
    """

    pod: str
    difference: Difference
    before: FateRow | None = None
    after: FateRow | None = None


class EndDifferenceRow(_Row):
    """Something that ends in another way: how the story ends, a workload, a budget, a command, how many more pods fit.

    A workload: how many pods are on which node at the end, and how many are pending. Null where only one answer has it.
    """

    subject: str
    before: str | None = None
    after: str | None = None


class DifferenceRow(_Row):
    """What is different: pods, ends, findings of the policy, and caveats; `unchanged` is how many pods are not."""

    pods: tuple[PodDifferenceRow, ...] = ()
    ends: tuple[EndDifferenceRow, ...] = ()
    unchanged: int = 0
    new_findings: tuple[FindingRow, ...] = ()
    gone_findings: tuple[FindingRow, ...] = ()
    new_caveats: tuple[str, ...] = ()
    gone_caveats: tuple[str, ...] = ()


class Comparison(_Row, kw_only=True, tag_field="kind", tag="Comparison"):
    """The answer without the edits, the one with them, and what is different."""

    api_version: str = API_VERSION
    command: str
    before: Report
    after: Report
    difference: DifferenceRow

    def to_json(self, indent: int = 0) -> str:
        """What `-o json` prints: on one line, or with that many blanks for each level."""
        text = json.dumps(self.to_dict(), ensure_ascii=False)
        return msgspec.json.format(text, indent=indent) if indent else text

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, strings, numbers, booleans and None."""
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made | {"before": self.before.to_dict(), "after": self.after.to_dict()}


def compare(before: Report, after: Report) -> Comparison:
    """What is different between two answers to one question.

    Raises:
        TypeError: one of them is not a report.
    """
    for given in (before, after):
        if not isinstance(given, Report):
            raise TypeError(f"compare() takes two reports; this is of type {type(given).__name__}")
    was, now = _decided(before), _decided(after)
    pods = [row for pod in {**now, **was} if (row := _difference(pod, was.get(pod), now.get(pod))) is not None]
    pods.sort(key=lambda row: _ORDER.index(row.difference))
    findings = [tuple(report.policy.findings) if report.policy else () for report in (before, after)]
    difference = DifferenceRow(
        pods=tuple(pods),
        ends=tuple(_end_differences(dict(_ends(before)), dict(_ends(after)))),
        unchanged=len({**was, **now}) - len(pods),
        new_findings=tuple(_beyond(findings[1], findings[0])),
        gone_findings=tuple(_beyond(findings[0], findings[1])),
        new_caveats=tuple(_beyond(after.caveats, before.caveats)),
        gone_caveats=tuple(_beyond(before.caveats, after.caveats)),
    )
    return Comparison(command=after.command, before=before, after=after, difference=difference)


def _decided(report: Report) -> Mapping[str, Decision]:
    """By pod; none of those that are counted, whose names are made up."""
    return {decision.pod: decision for decision in report.decisions} if report.capacity is None else {}


def _difference(pod: str, was: Decision | None, now: Decision | None) -> PodDifferenceRow | None:
    before, after = _fate(was), _fate(now)
    if before == after:
        return None
    kind: Difference
    if before is None or after is None:
        kind = "new" if before is None else "gone"
    elif before.outcome != after.outcome:
        kind = "flipped"
    else:
        kind = "moved" if before.victims == after.victims else "victims"
    return PodDifferenceRow(pod=pod, difference=kind, before=before, after=after)


def _fate(decision: Decision | None) -> FateRow | None:
    if decision is None:
        return None
    victims = tuple(victim.pod for victim in decision.victims)
    return FateRow(outcome=decision.outcome, node=decision.node, victims=victims)


def _ends(report: Report) -> Iterator[tuple[str, str]]:
    """What a story, a descheduling cycle, or a count of pods comes to."""
    story = report.story
    if story is not None:
        yield "the end", story.settled
        for row in story.workloads:
            nodes = [f"{node} ({count})" for node, count in sorted(row.after.items()) if count]
            yield row.workload, ", ".join([*nodes, *([f"{row.pending} pending"] if row.pending else [])])
        yield from ((row.workload, f"refused: {row.message}") for row in story.refused)
        yield from ((row.workload, f"failed: {row.message}") for row in story.failed)
        for budget in story.budgets:
            yield f"PodDisruptionBudget {budget.budget}", f"{budget.lowest} allowed at the least"
        for command in story.commands:
            yield command.command, {True: "done", False: "failed", None: "not done"}[command.ok]
    if report.deschedule is not None:
        yield from _ends_of_cycles(report.deschedule)
    if report.capacity is not None:
        yield from _counts(report.capacity)


_LATER: Mapping[Course, str] = {"Settles": "settle", "Endless": "never settle", "Open": "are not known to settle"}


def _ends_of_cycles(row: DescheduleRow) -> Iterator[tuple[str, str]]:
    """What becomes of each pod that a descheduler wants to evict, and whether that ends."""
    yield "later runs", _LATER[row.course]
    for evicted in row.evicted:
        landed = evicted.replacement
        yield f"Pod {evicted.pod}", "evicted" if landed is None else f"evicted, {_landed(landed)}"
    for refused in row.refused:
        yield f"Pod {refused.pod}", f"stays ({refused.by})"


def _landed(row: ReplacementRow) -> str:
    match row.landing:
        case "Elsewhere":
            return f"lands on {row.node}"
        case "SameNode":
            return f"lands on {row.node} again"
        case "Preempts":
            return f"fits on {row.node} by evicting others"
        case "Pending":
            return "stays pending"
    return "is not replaced"


def _counts(row: CapacityRow) -> Iterator[tuple[str, str]]:
    """How many more pods fit, at what cost, where, and what stops the next one."""
    for shape in row.shapes:
        yield f"more like {shape.workloads[0]}", fit_number(shape.fit)
    if row.fit is not None:
        yield "without eviction", fit_number(row.fit)
    if row.preempting is not None:
        yield "with preemption", fit_number(row.preempting.fit)
        yield "evicted pods", f"{len(row.preempting.victims):,}"
        yield "violated budgets", ", ".join(row.preempting.violations) or "none"
    if row.added_nodes is not None:
        yield f"nodes like {row.added_nodes.like}", "not enough" if (n := row.added_nodes.nodes) is None else f"{n:,}"
    if row.target is not None:
        yield f"target {row.target.wanted:,}", "met" if row.target.met else f"{row.target.missing:,} missing"
    best = row.best
    if best is None:
        return
    if best.stop is not None:
        yield (
            "stopped by",
            ", ".join(f"{each.nodes:,} {each.reason}" for each in best.stop.reasons) or best.stop.message,
        )
    for what in ("zone", "node"):
        for counted in best.counted:
            of = f", {counted.workload}" if len(best.counted) > 1 else ""
            counts = counted.zones if what == "zone" else counted.nodes
            yield from ((f"{what} {name or '<none>'}{of}", f"{number:,}") for name, number in sorted(counts.items()))


def fit_number(fit: FitRow) -> str:
    """How many sets fit: `7`, or `1,000 or more` where the limit was reached first."""
    return f"{fit.sets:,}{'' if fit.stop else ' or more'}"


def _end_differences(was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[EndDifferenceRow]:
    for subject in {**was, **now}:
        before, after = was.get(subject), now.get(subject)
        if before != after:
            yield EndDifferenceRow(subject=subject, before=before, after=after)


def _beyond(some: Sequence[T], others: Sequence[T]) -> Iterator[T]:
    return (each for each in some if each not in others)


def comparison_schema_text() -> str:
    """`schema/comparison.json`, as it is shipped."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"https://{API_VERSION}/comparison.json"}
    return msgspec.json.format(msgspec.json.encode(head | msgspec.json.schema(Comparison)), indent=2).decode() + "\n"
