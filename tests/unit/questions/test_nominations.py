"""Nominated pods count only where the scheduler's queue has them."""

from __future__ import annotations

import pytest

from kwhatif.kube.model.pod import PodResourceClaim
from kwhatif.questions.session.session import Session
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER
from tests.builders import PodBuilder, cluster, node, pod

CASES = {
    "a waiting pod counts": (pod("promised"), True),
    "a pod of this scheduler by name counts": (pod("promised").spec(scheduler_name=DEFAULT_SCHEDULER), True),
    "a gated pod does not": (pod("promised").gates("example.com/wait"), False),
    "a pod of a scheduler that has no profile does not": (pod("promised").spec(scheduler_name="other"), False),
    "a pod whose claim is missing does not": (
        pod("promised").spec(resource_claims=(PodResourceClaim(name="gpu", resource_claim_name="gone"),)),
        False,
    ),
}


@pytest.mark.parametrize(("promised", "counts"), CASES.values(), ids=CASES)
def test_a_nomination_is_known_when_the_pod_enters_the_queue(promised: PodBuilder, counts: bool) -> None:
    session = Session.of(cluster(node("n1"), promised.nominated("n1")))
    assert [info.name for info in session.state.nominated.get("n1", ())] == (["promised"] if counts else [])
