"""The input of the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kwhatif.report.decision import Decision
from kwhatif.report.workload import WorkloadRow

#: The annotation by which an object suppresses rules.
ANNOTATION = "kwhatif.dev/ignore"


class JudgedWorkload(NamedTuple):
    """The decisions about one object's pods, and its annotation `kwhatif.dev/ignore`."""

    row: WorkloadRow
    decisions: Sequence[Decision]
    ignore: str = ""
