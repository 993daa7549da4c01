"""The input and the verdict of a policy: what the command `gate` adds to a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.meta import Row
from kwhatif.report.decision import Decision, WorkloadRow
from kwhatif.report.inputs import SourceRow

#: The annotation by which an object suppresses rules.
ANNOTATION = "kwhatif.dev/ignore"


class JudgedWorkload(NamedTuple):
    """The results of one object's pods, and its annotation `kwhatif.dev/ignore`."""

    row: WorkloadRow
    decisions: Sequence[Decision]
    ignore: str = ""


FindingLevel = Literal["fail", "warn"]


PolicyVerdict = Literal["pass", "warn", "fail"]


class FindingRow(Row):
    """The finding of a rule about a workload: `pods` are the affected ones.

    A suppressed finding does not count; `suppressed` is the reason that was given, `suppressed_by` where. `caveat` is
    the caveat that it is about, if any.
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
    """The verdict of the policy; `source` is its file, empty for the default policy."""

    verdict: PolicyVerdict
    source: str = ""
    findings: tuple[FindingRow, ...] = ()
