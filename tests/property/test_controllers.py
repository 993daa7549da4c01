"""Whatever happens to their pods, workloads come to what they ask for."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.controllers.catalog import reacting_controllers
from kwhatif.kube.model.workload import StatefulSetOrdinals
from kwhatif.scheduler.framework.reference import use_reference
from kwhatif.workloads.daemon_set import node_of
from kwhatif.workloads.removal import is_active
from tests.builders import node
from tests.examples import examples
from tests.fake_cluster import FakeCluster
from tests.unit.controllers import test_daemon_set, test_deployment, test_job, test_stateful_set

NODES = [node(name).build() for name in ("n1", "n2", "n3")]
#: What happens to the pod of that number, or the workload that is applied: how many, and which image.
HAPPENINGS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["runs", "evict", "fails", "succeeds", "gone"]), st.integers(0, 9)),
        st.tuples(st.just("apply"), st.tuples(st.integers(0, 5), st.sampled_from("123"))),
        st.tuples(st.just("wait"), st.integers(1, 30)),
    ),
    max_size=12,
)
Make = Callable[[int, str], Any]
MAKERS: dict[str, Make] = {
    "Deployment": lambda count, image: test_deployment.web(count, f"web:{image}"),
    "recreated": lambda count, image: test_deployment.web(count, f"web:{image}", strategy=test_deployment.RECREATE),
    "StatefulSet": lambda count, image: test_stateful_set.parallel(count, f"db:{image}"),
    "DaemonSet": lambda _, image: test_daemon_set.agent(f"agent:{image}"),
    "DaemonSet beside": lambda _, image: test_daemon_set.agent(
        f"agent:{image}", strategy=test_daemon_set.rolling(0, 1)
    ),
}


def happens(found: FakeCluster, what: str, value: Any, make: Make) -> None:
    keys = sorted(found.pods())
    key = keys[value % len(keys)] if keys and isinstance(value, int) else ""
    if what == "apply":
        found.put(make(*value))
    elif what == "wait":
        found.wait(value)
    elif key and what == "runs" and is_active(found.pod(key)):
        found.runs(key, node=node_of(found.pod(key)) or "n1")
    elif key and what == "evict":
        found.evict(key)
    elif key and what in ("fails", "succeeds"):
        found.ends(key, "Failed" if what == "fails" else "Succeeded")
    elif key and what == "gone":
        found.gone(key)


def rest(found: FakeCluster) -> None:
    """Nothing else happens: pods that wait run, those that go are gone."""
    for _ in range(60):
        before = len(found.writes)
        for key, pod in found.pods().items():
            if pod.metadata.deletion_timestamp is not None:
                found.gone(key)
            elif pod.status.phase in ("", "Pending"):
                found.runs(key, node=node_of(pod) or "n1")
        found.settle().wait(1000)
        if len(found.writes) == before and all(pod.status.phase != "Pending" for pod in found.pods().values()):
            return
    raise AssertionError("never comes to rest")


@pytest.mark.parametrize("kind", MAKERS)
@settings(max_examples=examples(25))
@given(happenings=HAPPENINGS, last=st.tuples(st.integers(0, 5), st.sampled_from("123")))
def test_workloads_come_to_what_they_ask_for(
    kind: str, happenings: list[tuple[str, Any]], last: tuple[int, str]
) -> None:
    make = MAKERS[kind]
    found = FakeCluster(reacting_controllers(), *NODES)
    found.put(make(2, "1"))
    for what, value in happenings:
        found.settle()
        happens(found, what, value, make)
    found.put(make(*last))
    found.settle()
    rest(found)
    images = [pod.spec.containers[0].image for pod in found.pods().values() if is_active(pod)]
    wanted = len(NODES) if kind.startswith("DaemonSet") else last[0]
    assert len(images) == wanted
    assert all(image.endswith(f":{last[1]}") for image in images)


def played(happenings: list[tuple[str, Any]], make: Make) -> tuple[list[Any], dict[str, Any]]:
    """What controllers write, and the pods at the end."""
    found = FakeCluster(reacting_controllers(), *NODES)
    found.put(make(3, "1"))
    for _ in range(3):
        found.settle().all_run()
    for what, value in happenings:
        found.settle()
        happens(found, what, value, make)
    found.settle().wait(1000)
    return found.writes, found.pods()


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
@settings(max_examples=examples(40))
@given(
    happenings=HAPPENINGS,
    seconds=st.sampled_from([0, 10]),
    start=st.integers(0, 2),
    claims=st.sampled_from([(), test_stateful_set.CLAIMS]),
)
def test_what_a_set_keeps_from_sync_to_sync_changes_nothing(
    policy: str, happenings: list[tuple[str, Any]], seconds: int, start: int, claims: Any
) -> None:
    def make(count: int, image: str) -> Any:
        return test_stateful_set.db(
            count,
            f"db:{image}",
            pod_management_policy=policy,
            min_ready_seconds=seconds,
            ordinals=StatefulSetOrdinals(start=start) if start else None,
            volume_claim_templates=claims,
        )

    kept = played(happenings, make)
    use_reference(on=True)
    try:
        assert played(happenings, make) == kept
    finally:
        use_reference(on=False)


@settings(max_examples=examples(25))
@given(happenings=HAPPENINGS)
def test_jobs_succeed_or_fail(happenings: list[tuple[str, Any]]) -> None:
    first = test_job.etl(2, 4)
    found = FakeCluster(reacting_controllers(), *NODES)
    found.put(first)
    for what, value in happenings:
        found.settle()
        if what != "apply":
            happens(found, what, value, lambda *_: None)
    for _ in range(40):
        for key, pod in found.pods().items():
            if is_active(pod):
                found.runs(key)
                found.ends(key, "Succeeded")
            elif pod.metadata.deletion_timestamp is not None:
                found.gone(key)
        found.settle().wait(700)
    status = test_job.status(found)
    assert test_job.conditions(found)[-1] in ("Complete", "Failed")
    assert status.succeeded >= 4 or status.failed > 6
