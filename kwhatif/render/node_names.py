"""Names of nodes, as short as they can be without doubt: cloud names share a long suffix, which is printed once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kwhatif.report import Report
from kwhatif.report.decision import Decision
from kwhatif.report.story import Story


class NodeNames:
    """The suffix that all these names share, from a dot on: `.eu-west-1.compute.internal`; "" if there is none."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        distinct = set(names)
        self.suffix = _shared_suffix(distinct) if len(distinct) > 1 else ""
        # Not where the name goes on, as in another suffix that begins alike.
        self._pattern = re.compile(re.escape(self.suffix) + r"(?![\w-]|\.\w)") if self.suffix else None

    def cut(self, text: str) -> str:
        """The text, with the suffix left out wherever a node is named."""
        return text if self._pattern is None else self._pattern.sub("", text)

    @property
    def note(self) -> str:
        """What a reader needs to know to write the names in full; "" if they are whole."""
        return f"nodes: *{self.suffix}" if self.suffix else ""


def _shared_suffix(names: set[str]) -> str:
    first, *others = names
    suffix = first
    for other in others:
        while not other.endswith(suffix):
            suffix = suffix[1:]
    start = suffix.find(".")
    suffix = suffix[start:] if start >= 0 else ""
    return suffix if all(len(name) > len(suffix) for name in names) and len(suffix) > 1 else ""


def nodes_in(report: Report) -> Iterator[str]:
    """Every node that the report names, as often as it does."""
    for decision in report.decisions:
        yield from _nodes_of(decision)
    for workload in report.workloads:
        yield from workload.nodes
    if report.deschedule is not None:
        yield from (row.node for row in report.deschedule.nodes)
    if report.consolidate is not None:
        yield from (row.node for row in report.consolidate.nodes)
        yield from (node for command in report.consolidate.commands for node in command.nodes)
    if report.upgrade is not None:
        for row in (*report.upgrade.pending, *report.upgrade.workloads):
            yield from (*row.before.nodes, *row.after.nodes)
    if report.capacity is not None and report.capacity.best is not None:
        yield from (node for counted in report.capacity.best.counted for node in counted.nodes)
    for finding in report.audit.findings if report.audit is not None else ():
        shown = (each for each in finding.shown_by if each.probe in ("outage", "drain"))
        yield from (name for each in shown for name in each.names)
    for story in (report.story, *(row.story for row in report.scenarios)):
        yield from () if story is None else _nodes_of_story(story)
    yield from (node for row in report.scenarios for node in row.verdict.nodes)


def _nodes_of_story(story: Story) -> Iterator[str]:
    for row in story.workloads:
        yield from (*row.before, *row.after)
    yield from (gone.node for gone in story.gone if gone.node)
    yield from (row.node for row in story.nodes)
    yield from () if story.verdict is None else story.verdict.nodes


def _nodes_of(decision: Decision) -> Iterator[str]:
    yield from decision.ties
    yield from (row.node for row in decision.feasible)
    yield from (row.node for row in decision.rejected)
    if decision.preemption is not None:
        yield from (row.node for row in decision.preemption.candidates)


#: Names as they are.
WHOLE = NodeNames()
