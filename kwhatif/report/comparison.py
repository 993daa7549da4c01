"""Two answers to one question, and what is different: what `--compare` prints."""

from __future__ import annotations

from typing import Literal

from kwhatif.kube.model.meta import Row
from kwhatif.report import Report
from kwhatif.report.decision import FindingRow, Outcome
from kwhatif.report.row import Document

Difference = Literal["flipped", "victims", "moved", "new", "gone"]


class FateRow(Row):
    """The result of a pod: its outcome, the node where it lands or is nominated, the pods that it evicts."""

    outcome: Outcome
    node: str | None = None
    victims: tuple[str, ...] = ()


class PodDifferenceRow(Row):
    """A pod for which the answers differ.

    `flipped`: it has another outcome; `victims`: it would evict other pods; `moved`: it goes to another node; `new`,
    `gone`: only one of the answers has it, and the other side is null.
    """

    pod: str
    difference: Difference
    before: FateRow | None = None
    after: FateRow | None = None


class EndDifferenceRow(Row):
    """Something with another result: the end of the story, a workload, a budget, a command, how many more pods fit.

    For a workload: the number of pods at the end on nodes where it differs, and how many are pending. Null if only one
    answer has it.
    """

    subject: str
    before: str | None = None
    after: str | None = None


class DifferenceRow(Row):
    """What is different: pods, ends, findings of the policy, and caveats; `unchanged` is the number of other pods."""

    pods: tuple[PodDifferenceRow, ...] = ()
    ends: tuple[EndDifferenceRow, ...] = ()
    unchanged: int = 0
    new_findings: tuple[FindingRow, ...] = ()
    gone_findings: tuple[FindingRow, ...] = ()
    new_caveats: tuple[str, ...] = ()
    gone_caveats: tuple[str, ...] = ()


class Comparison(Document, kw_only=True, tag_field="kind", tag="Comparison"):
    """The answer without the edits, the one with them, and what is different."""

    command: str
    before: Report
    after: Report
    difference: DifferenceRow
