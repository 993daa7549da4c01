"""A policy's verdict with its findings in words, as reports show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.policy.build import Rulebook
from kwhatif.policy.judge import judge as judge_as_data
from kwhatif.policy.rules import Labels
from kwhatif.render.policy import worded_finding
from kwhatif.render.workloads import workload_message
from kwhatif.report.decision import JudgedWorkload, PolicyRow


def judge(
    book: Rulebook, workloads: Sequence[JudgedWorkload], labels: Mapping[str, Labels], **options: Any
) -> PolicyRow:
    """What `kwhatif.policy.judge.judge` finds."""
    row = judge_as_data(book, workloads, labels, message_of=workload_message, **options)
    return replace(row, findings=tuple(map(worded_finding, row.findings)))
