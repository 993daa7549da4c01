"""What the rules look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kwhatif.report.decision import Decision
from kwhatif.report.workload import WorkloadRow

#: What an object itself says of the policy.
ANNOTATION = "kwhatif.dev/ignore"


class JudgedWorkload(NamedTuple):
    """What becomes of one object's pods, and what its annotation `kwhatif.dev/ignore` says."""

    row: WorkloadRow
    decisions: Sequence[Decision]
    ignore: str = ""
