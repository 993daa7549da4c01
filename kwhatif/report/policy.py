"""What a policy looks at, and what it says: what the command `gate` adds to a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.meta import Row
from kwhatif.report.decision import Decision, WorkloadRow
from kwhatif.report.inputs import SourceRow

#: What an object itself says of the policy.
ANNOTATION = "kwhatif.dev/ignore"


class JudgedWorkload(NamedTuple):
    """What becomes of one object's pods, and what its annotation `kwhatif.dev/ignore` says."""

    row: WorkloadRow
    decisions: Sequence[Decision]
    ignore: str = ""


FindingLevel = Literal["fail", "warn"]


PolicyVerdict = Literal["pass", "warn", "fail"]


class FindingRow(Row):
    """Something that a rule of the policy has to say about a workload: `pods` are those it concerns.

    A suppressed finding counts for nothing; `suppressed` is the reason that was given, `suppressed_by` where. `caveat`
    is the caveat that it is about, if any.
    """

    rule: str
    level: FindingLevel
    message: str
    workload: str = ""
    pods: tuple[str, ...] = ()
    source: SourceRow | None = None
    suppressed: str | None = None
    suppressed_by: Literal["annotation", "exception"] | None = None
    caveat: Caveat | None = None


class PolicyRow(Row):
    """What the policy says to all of it; `source` is its file, empty for the default policy."""

    verdict: PolicyVerdict
    source: str = ""
    findings: tuple[FindingRow, ...] = ()
