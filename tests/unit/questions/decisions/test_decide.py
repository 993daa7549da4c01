"""What is said of eviction when another PostFilter fails before it is tried."""

import pytest

from kwhatif.questions.decisions.decide import decide
from kwhatif.scheduler.catalog import default_profile
from tests.builders import PodBuilder, node, pod, snapshot


@pytest.mark.parametrize(
    ("asking", "eligible", "message"),
    [
        pytest.param(pod("new"), True, "", id="a pod that may evict"),
        pytest.param(
            pod("new").spec(preemption_policy="Never"),
            False,
            "not eligible due to preemptionPolicy=Never.",
            id="a pod that may not",
        ),
    ],
)
def test_a_pod_that_prefilter_turns_down(asking: PodBuilder, message: str, *, eligible: bool) -> None:
    within = snapshot(node("n1"), pod("low").on("n1"))
    decision, _ = decide(default_profile(), asking.priority(1).claim("missing").info(), within)
    assert decision.message.endswith("not found. not found")
    assert decision.preemption is not None
    assert (decision.preemption.eligible, decision.preemption.message) == (eligible, message)
    assert decision.preemption.candidates == ()
