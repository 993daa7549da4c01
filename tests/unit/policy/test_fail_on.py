"""The conditions of `--fail-on`: which answers are a no."""

import pytest

from kwhatif.policy.fail_on import CONDITIONS
from kwhatif.report import Report
from kwhatif.report.decision import Decision, Outcome


@pytest.mark.parametrize(
    ("outcome", "met"),
    [
        ("Placed", set()),
        ("Waits", set()),
        ("Ignored", {"ignored"}),
        ("Preempts", {"preemption"}),
        ("Unschedulable", {"unschedulable"}),
        ("Gated", {"unschedulable", "gated"}),
        ("Denied", {"unschedulable", "denied"}),
    ],
)
def test_a_pod_that_no_workload_counts(outcome: Outcome, met: set[str]) -> None:
    report = Report(command="preempt", decisions=(Decision(pod="shop/a", outcome=outcome),))
    assert {name for name, is_met in CONDITIONS.items() if is_met(report)} == met
