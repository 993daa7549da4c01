"""How much is printed, and how nodes are named."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator

import msgspec

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.report import Report
from kwhatif.report.decision import Decision
from kwhatif.report.story import Story


class NodeNames:
    """The common suffix of all node names, from a dot on: `.eu-west-1.compute.internal`; "" if there is none."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        distinct = set(names)
        self.suffix = _shared_suffix(distinct) if len(distinct) > 1 else ""
        # not if the name continues, as in a longer suffix
        self._pattern = re.compile(re.escape(self.suffix) + r"(?![\w-]|\.\w)") if self.suffix else None

    def cut(self, text: str) -> str:
        """The text, without the suffix of node names."""
        return text if self._pattern is None else self._pattern.sub("", text)

    @property
    def note(self) -> str:
        """The hint with the suffix of node names; "" if they are not shortened."""
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
    """The nodes that the report names, with repetitions."""
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
    yield from _nodes_of_threats(report)
    for story in (report.story, *(row.story for row in report.scenarios)):
        yield from () if story is None else _nodes_of_story(story)
    yield from (node for row in report.scenarios for node in row.verdict.nodes)


def _nodes_of_threats(report: Report) -> Iterator[str]:
    if report.threats is not None:
        yield from (row.node for row in report.threats.pressure)
        yield from (row.node for row in report.threats.of("class") if row.node)
        yield from (ObjectRef.parse(row.by).key for row in report.threats.of("taint", "outage", "drain"))
    if report.who_fits is not None:
        yield from (report.who_fits.node, *(row.elsewhere for row in report.who_fits.takers if row.elsewhere))


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


# --- how much is printed ---------------------------------------------------------------------------------------------

#: Digits of a number of seconds, up to the year 2286.
_LONGEST_EPOCH = 10
#: With more pods or workloads than this, only verdicts are printed, and only for those that do not fit, unless details
#: are wanted.
MANY = 10
#: The most rows of a table on a page.
_ROWS_OF_PAGE = 100


class Detail(msgspec.Struct, frozen=True):
    """How much to print. `now`: seconds since the epoch, for ages where the report has no time of its own."""

    now: int = 0
    wide: bool = False
    explain: bool = False
    quiet: bool = False
    #: Whether it is for a page: a page folds the evidence, has more room, and is read without standard error.
    page: bool = False
    #: Whether it is for a page without a maximum length: it also has the timeline of a drain.
    has_room: bool = False
    names: NodeNames = NodeNames()
    #: The caveats that the last line names; None: all.
    said: frozenset[Caveat] = frozenset()

    def rows(self, most: int) -> int:
        """How many rows to make if `most` are enough."""
        return sys.maxsize if self.wide else max(most, _ROWS_OF_PAGE) if self.page else most


def clock() -> int:
    """Seconds since the epoch; $SOURCE_DATE_EPOCH replaces the clock for reproducible output."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    is_known = fixed.isascii() and fixed.isdigit() and len(fixed) <= _LONGEST_EPOCH
    return int(fixed) if is_known else int(time.time())
