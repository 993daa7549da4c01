"""Jobs: which pods they make and when, what counts as failed, and how they end."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.controllers import job
from kwhatif.controllers.contract import Create, DeletePod
from kwhatif.controllers.job_pods import BackoffRecord, first_pending, is_success, judged, parse_indexes, write_indexes
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod import (
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    PodTemplateSpec,
)
from kwhatif.kube.model.pod_spec import Container
from kwhatif.kube.model.workload import (
    Job,
    JobSpec,
    JobStatus,
    OnExitCodes,
    OnPodCondition,
    PodFailurePolicy,
    PodFailureRule,
    SuccessPolicy,
    SuccessRule,
)
from kwhatif.workloads.removal import is_active
from tests.fake_cluster import FakeCluster

CONTROLLERS = job.CONTROLLERS
DISRUPTED = PodCondition(type="DisruptionTarget", status="True")
IGNORED = PodFailurePolicy(
    rules=(PodFailureRule(action="Ignore", on_pod_conditions=(OnPodCondition(type="DisruptionTarget"),)),)
)


def etl(parallelism: int | None = 1, completions: int | None = 1, *, restart: str = "Never", **spec: Any) -> Job:
    template = PodTemplateSpec(spec=PodSpec(containers=(Container(name="main"),), restart_policy=restart))
    return Job(
        metadata=ObjectMeta(name="etl", namespace="batch", uid="j"),
        spec=JobSpec(parallelism=parallelism, completions=completions, template=template, **spec),
    )


def indexed(parallelism: int, completions: int, **spec: Any) -> Job:
    return etl(parallelism, completions, completion_mode="Indexed", **spec)


def world(first: Job, **kwargs: Any) -> FakeCluster:
    found = FakeCluster(CONTROLLERS, **kwargs)
    found.put(first)
    found.settle().all_run()
    return found.settle()


def active(found: FakeCluster) -> list[str]:
    return [key for key, pod in found.pods().items() if is_active(pod)]


def status(found: FakeCluster) -> JobStatus:
    return found.state.cluster.all(Job)["batch/etl"].status


def conditions(found: FakeCluster) -> list[str]:
    return [each.type for each in status(found).conditions if each.status == "True"]


def finish(found: FakeCluster, key: str, phase: str = "Succeeded") -> None:
    """The pod ends, and its Job sees it."""
    found.ends(key, phase)
    found.settle().wait(1)


def test_one_pod() -> None:
    found = world(etl())
    (key,) = active(found)
    pod = found.pod(key)
    assert pod.metadata.labels["job-name"] == "etl"
    assert pod.metadata.labels["batch.kubernetes.io/controller-uid"] == "j"
    assert pod.metadata.finalizers == ("batch.kubernetes.io/job-tracking",)
    finish(found, key)
    assert conditions(found) == ["SuccessCriteriaMet", "Complete"]
    assert status(found).succeeded == 1
    assert not active(found.wait(3600))


@pytest.mark.parametrize(
    ("parallelism", "completions", "expected"),
    [(None, None, 1), (3, None, 3), (3, 2, 2), (2, 5, 2), (0, 5, 0), (None, 4, 1)],
)
def test_how_many(parallelism: int | None, completions: int | None, expected: int) -> None:
    assert len(active(world(etl(parallelism, completions)))) == expected


def test_the_next_one_comes_a_second_after_one_has_succeeded() -> None:
    found = world(etl(2, 5))
    first, _ = active(found)
    found.ends(first, "Succeeded")
    assert len(active(found.settle())) == 1
    found.wait(0.9)
    assert len(active(found)) == 1
    found.wait(0.2)
    assert len(active(found)) == 2


def test_without_completions_the_first_that_succeeds_ends_it() -> None:
    found = world(etl(3, None))
    first, second, third = active(found)
    finish(found, first)
    assert conditions(found) == []
    assert len(active(found)) == 2
    finish(found, second)
    finish(found, third, "Failed")
    assert conditions(found) == ["SuccessCriteriaMet", "Complete"]


def test_an_evicted_pod_has_failed_when_it_is_deleted() -> None:
    found = world(etl())
    found.wait(100)
    (key,) = active(found)
    found.evict(key)
    found.settle().wait(1)
    assert status(found).failed == 1
    found.wait(8.9)
    assert not active(found)
    found.wait(0.2)
    assert len(active(found)) == 1
    # However it ends in the end, it is counted once.
    finish(found, key, "Succeeded")
    assert (status(found).failed, status(found).succeeded) == (1, 0)


def test_two_at_once_wait_for_twenty_seconds() -> None:
    found = world(etl(2, 2))
    found.evict(*active(found))
    found.settle().wait(19.9)
    assert not active(found)
    assert len(active(found.wait(0.2))) == 2


def test_a_pod_that_never_ran_is_gone_at_once_and_has_failed() -> None:
    found = FakeCluster(CONTROLLERS)
    found.put(etl())
    found.settle()
    found.evict(*active(found))
    assert not found.settle().pods()
    found.wait(10)
    assert len(active(found)) == 1
    assert status(found).failed == 1


@pytest.mark.parametrize("spec", [{"pod_replacement_policy": "Failed"}, {"pod_failure_policy": IGNORED}])
def test_replaced_when_the_phase_is_final(spec: dict[str, Any]) -> None:
    found = world(etl(**spec))
    (key,) = active(found)
    found.evict(key)
    found.settle().wait(50)
    assert not active(found)
    assert status(found).failed == 0
    found.ends(key)
    found.gone(key)
    found.settle().wait(9.9)
    assert not active(found)
    assert len(active(found.wait(0.2))) == 1
    assert status(found).failed == 1


def test_one_that_exits_well_when_it_is_asked_to_stop_has_succeeded() -> None:
    found = world(etl(pod_replacement_policy="Failed"))
    (key,) = active(found)
    found.evict(key)
    finish(found, key)
    assert conditions(found) == ["SuccessCriteriaMet", "Complete"]


def test_ignored_failures_count_for_the_back_off_only() -> None:
    found = world(etl(backoff_limit=0, pod_failure_policy=IGNORED))
    (key,) = active(found)
    pod = found.pod(key)
    found.put(replace(pod, status=replace(pod.status, conditions=(DISRUPTED,))))
    found.evict(key)
    pod = found.pod(key)
    found.put(replace(pod, status=PodStatus(phase="Failed", conditions=(DISRUPTED,))))
    found.gone(key)
    found.settle().wait(9)
    assert not active(found)
    assert status(found).failed == 0
    assert len(active(found.wait(1.1))) == 1
    assert conditions(found) == []


def test_the_back_off_limit() -> None:
    found = world(etl(2, 5, backoff_limit=0))
    first, second = active(found)
    found.ends(first)
    found.settle().wait(1)
    assert conditions(found) == ["FailureTarget"]
    assert found.pod(second).metadata.deletion_timestamp
    assert status(found).failed == 2
    finish(found, second)
    assert conditions(found) == ["FailureTarget", "Failed"]
    assert [each.reason for each in status(found).conditions if each.status == "True"] == ["BackoffLimitExceeded"] * 2
    assert not active(found.wait(3600))


def test_the_default_limit_is_six() -> None:
    found = world(etl())
    for failures in range(1, 8):
        (key,) = active(found)
        found.ends(key)
        found.settle().wait(1)
        assert status(found).failed == failures
        found.wait(700).all_run()
    assert conditions(found) == ["FailureTarget", "Failed"]


def test_a_success_resets_the_back_off() -> None:
    found = world(etl(1, 5))
    for _ in range(3):
        (key,) = active(found)
        finish(found, key, "Failed")
        found.wait(50).all_run()
    finish(found, active(found)[0])
    found.all_run()
    finish(found, active(found)[0], "Failed")
    found.wait(8.5)
    assert not active(found)
    assert len(active(found.wait(1))) == 1


def test_restarts_count_where_pods_are_restarted() -> None:
    found = world(etl(2, 2, restart="OnFailure", backoff_limit=3))
    for key, count in zip(active(found), (1, 2), strict=True):
        pod = found.pod(key)
        restarted = ContainerStatus(name="main", restart_count=count)
        found.put(replace(pod, status=replace(pod.status, container_statuses=(restarted,))))
    found.put(etl(2, 2, restart="OnFailure", backoff_limit=3, suspend=False, max_failed_indexes=0))
    assert conditions(found.settle()) == ["FailureTarget"]


def test_a_deadline() -> None:
    found = world(etl(active_deadline_seconds=60))
    found.wait(59.5)
    assert conditions(found) == []
    found.wait(1)
    assert conditions(found) == ["FailureTarget"]
    assert status(found).conditions[-1].reason == "DeadlineExceeded"


def test_a_rule_that_fails_the_job() -> None:
    policy = PodFailurePolicy(
        rules=(PodFailureRule(action="FailJob", on_exit_codes=OnExitCodes(operator="In", values=(42,))),)
    )
    found = world(etl(pod_failure_policy=policy))
    (key,) = active(found)
    ended = ContainerStatus(name="main", state=ContainerState(terminated=ContainerStateTerminated(exit_code=42)))
    found.ends(key, container_statuses=(ended,))
    found.settle().wait(1)
    (target, _) = (each for each in status(found).conditions if each.status == "True")
    assert target.message == (f"Container main for pod {key} failed with exit code 42 matching FailJob rule at index 0")


def pod_with(code: int = 1, *conditions: PodCondition, name: str = "main") -> Pod:
    ended = ContainerStatus(name=name, state=ContainerState(terminated=ContainerStateTerminated(exit_code=code)))
    return Pod(status=PodStatus(phase="Failed", conditions=conditions, container_statuses=(ended,)))


RULES = {
    "in": (
        PodFailureRule(action="Ignore", on_exit_codes=OnExitCodes(operator="In", values=(1, 2))),
        pod_with(2),
        "Ignore",
    ),
    "not in": (
        PodFailureRule(action="Ignore", on_exit_codes=OnExitCodes(operator="NotIn", values=(1, 2))),
        pod_with(3),
        "Ignore",
    ),
    "in, but not": (
        PodFailureRule(action="Ignore", on_exit_codes=OnExitCodes(operator="In", values=(1, 2))),
        pod_with(3),
        "",
    ),
    "success never matches": (
        PodFailureRule(action="Ignore", on_exit_codes=OnExitCodes(operator="NotIn", values=(1,))),
        pod_with(0),
        "",
    ),
    "of another container": (
        PodFailureRule(action="Ignore", on_exit_codes=OnExitCodes(container_name="x", operator="In", values=(1,))),
        pod_with(1),
        "",
    ),
    "of that container": (
        PodFailureRule(action="FailIndex", on_exit_codes=OnExitCodes(container_name="x", operator="In", values=(1,))),
        pod_with(1, name="x"),
        "FailIndex",
    ),
    "a condition": (
        PodFailureRule(action="Count", on_pod_conditions=(OnPodCondition(type="DisruptionTarget"),)),
        pod_with(1, DISRUPTED),
        "Count",
    ),
    "a condition that does not hold": (
        PodFailureRule(action="Ignore", on_pod_conditions=(OnPodCondition(type="DisruptionTarget", status="False"),)),
        pod_with(1, DISRUPTED),
        "",
    ),
}


@pytest.mark.parametrize(("rule", "pod", "action"), RULES.values(), ids=RULES.keys())
def test_rules_for_failed_pods(rule: PodFailureRule, pod: Pod, action: str) -> None:
    verdict = judged(pod, etl(pod_failure_policy=PodFailurePolicy(rules=(rule,))))
    assert verdict.action == action
    assert verdict.counts is (action != "Ignore")


def test_suspending_and_resuming() -> None:
    found = world(etl(2, 4))
    running = active(found)
    found.put(replace(found.state.cluster.all(Job)["batch/etl"], spec=etl(2, 4, suspend=True).spec))
    assert not active(found.settle())
    for key in running:
        finish(found, key, "Failed")
    assert conditions(found) == ["Suspended"]
    # Pods that the Job deletes itself have not failed.
    assert status(found).failed == 0
    found.put(replace(found.state.cluster.all(Job)["batch/etl"], spec=etl(2, 4).spec))
    assert len(active(found.settle())) == 2
    assert conditions(found) == []


def test_fewer_at_once() -> None:
    found = world(etl(3, 9))
    found.put(replace(found.state.cluster.all(Job)["batch/etl"], spec=etl(1, 9).spec))
    assert len(active(found.settle())) == 1
    assert status(found.wait(10)).failed == 0


def numbers(found: FakeCluster) -> list[str]:
    return sorted(found.pod(key).metadata.labels["batch.kubernetes.io/job-completion-index"] for key in active(found))


def test_numbered_pods() -> None:
    found = world(indexed(2, 4))
    assert numbers(found) == ["0", "1"]
    pod = found.pod(next(key for key in active(found) if "-1-" in key))
    assert (pod.spec.hostname, pod.metadata.annotations.completion_index) == ("etl-1", "1")
    finish(found, f"batch/{pod.metadata.name}")
    assert numbers(found) == ["0", "2"]
    assert (status(found).completed_indexes, status(found).succeeded) == ("1", 1)


def test_a_number_is_tried_again() -> None:
    found = world(indexed(2, 2))
    first = next(key for key in active(found) if "-0-" in key)
    finish(found, first, "Failed")
    assert numbers(found) == ["1"]
    found.wait(10)
    assert numbers(found) == ["0", "1"]


def test_a_limit_per_number() -> None:
    found = world(indexed(3, 3, backoff_limit_per_index=1))

    def fail(index: int) -> None:
        found.all_run()
        finish(found, next(key for key in active(found) if f"-{index}-" in key), "Failed")

    fail(0)
    assert numbers(found) == ["1", "2"]
    found.wait(10)
    assert numbers(found) == ["0", "1", "2"]
    assert found.pod(next(key for key in active(found) if "-0-" in key)).metadata.annotations.index_failures == "1"
    fail(0)
    assert status(found).failed_indexes == "0"
    found.wait(100)
    assert numbers(found) == ["1", "2"]
    for key in active(found):
        finish(found, key)
    assert conditions(found) == ["FailureTarget", "Failed"]
    assert status(found).conditions[-1].reason == "FailedIndexes"


def test_too_many_failed_numbers() -> None:
    found = world(indexed(3, 3, backoff_limit_per_index=0, max_failed_indexes=1))
    first, second, third = active(found)
    finish(found, first, "Failed")
    assert conditions(found) == []
    finish(found, second, "Failed")
    assert conditions(found) == ["FailureTarget"]
    finish(found, third)
    assert conditions(found) == ["FailureTarget", "Failed"]


def test_a_rule_that_fails_a_number() -> None:
    policy = PodFailurePolicy(
        rules=(PodFailureRule(action="FailIndex", on_pod_conditions=(OnPodCondition(type="Bad"),)),)
    )
    found = world(indexed(2, 2, backoff_limit_per_index=5, pod_failure_policy=policy))
    first = next(key for key in active(found) if "-0-" in key)
    pod = found.pod(first)
    found.put(replace(pod, status=PodStatus(phase="Failed", conditions=(PodCondition(type="Bad", status="True"),))))
    found.settle().wait(20)
    assert status(found).failed_indexes == "0"
    assert numbers(found) == ["1"]


def test_enough_numbers_have_succeeded() -> None:
    policy = SuccessPolicy(rules=(SuccessRule(succeeded_indexes="0-1"),))
    found = world(indexed(3, 3, success_policy=policy))
    for index in (0, 1):
        finish(found, next(key for key in active(found) if f"-{index}-" in key))
    assert conditions(found) == ["SuccessCriteriaMet"]
    assert not active(found)
    (last,) = (key for key, pod in found.pods().items() if pod.metadata.deletion_timestamp)
    found.ends(last)
    found.settle().wait(1)
    assert conditions(found) == ["SuccessCriteriaMet", "Complete"]
    assert status(found).failed == 0


def test_two_pods_of_a_number() -> None:
    found = world(indexed(2, 2))
    first = found.pod(next(key for key in active(found) if "-0-" in key))
    found.put(replace(first, metadata=replace(first.metadata, name="etl-0-zzzzz", uid="z")))
    found.put(replace(found.state.cluster.all(Job)["batch/etl"], spec=indexed(3, 2).spec))
    found.settle()
    assert numbers(found) == ["0", "1"]
    assert sum(isinstance(write, DeletePod) for write in found.writes) == 1


def test_left_alone() -> None:
    found = FakeCluster(CONTROLLERS)
    found.put(etl(managed_by="kueue.x-k8s.io/multikueue"))
    assert not found.settle().writes
    found = world(etl())
    (key,) = active(found)
    finish(found, key)
    found.gone(key)
    assert not active(found.settle().wait(100))


def test_what_is_refused_is_tried_again() -> None:
    full = [True]
    found = FakeCluster(CONTROLLERS, deny=lambda obj: full[0] and isinstance(obj, Pod))
    found.put(etl(3, 3))
    assert not found.settle().pods()
    full[0] = False
    assert len(found.wait(1).pods()) == 3
    assert sum(isinstance(write, Create) for write in found.writes) == 3


def test_a_pod_counts_though_the_next_one_is_refused() -> None:
    full = [False]
    found = FakeCluster(CONTROLLERS, deny=lambda obj: full[0] and isinstance(obj, Pod))
    found.put(etl(1, 3))
    (key,) = active(found.settle())
    full[0] = True
    found.ends(key, "Succeeded")
    assert not active(found.settle().wait(100))
    assert status(found).succeeded == 1


def test_pods_of_a_dump_that_were_counted_before() -> None:
    old = world(etl(1, 3))
    (key,) = active(old)
    ended = replace(old.pod(key), status=PodStatus(phase="Succeeded"))
    ended = replace(ended, metadata=replace(ended.metadata, name="etl-old", uid="old", finalizers=()))
    known = replace(etl(1, 3), status=JobStatus(succeeded=1, start_time="2026-03-01T00:00:00Z"))
    found = FakeCluster(CONTROLLERS, known, ended, old.pod(key))
    found.ends(key, "Succeeded")
    found.settle().wait(1)
    assert status(found).succeeded == 2


@pytest.mark.parametrize(
    ("before", "succeeded", "failed", "after", "until"),
    [
        (BackoffRecord(), [], [], BackoffRecord(), 0),
        (BackoffRecord(), [], [5], BackoffRecord(1, 5), 15),
        (BackoffRecord(1, 5), [], [9, 7], BackoffRecord(3, 9), 49),
        (BackoffRecord(3, 9), [20], [], BackoffRecord(), 0),
        (BackoffRecord(3, 9), [20], [19, 21, 25], BackoffRecord(2, 25), 45),
        (BackoffRecord(30, 9), [], [10], BackoffRecord(31, 10), 610),
    ],
)
def test_back_off(
    before: BackoffRecord, succeeded: list[float], failed: list[float], after: BackoffRecord, until: float
) -> None:
    assert before.after(succeeded, failed) == after
    assert after.until() == until


def test_texts_of_numbers() -> None:
    assert parse_indexes("0-2,5", 9) == {0, 1, 2, 5}
    assert parse_indexes("0-9,x,12", 4) == {0, 1, 2, 3}
    assert parse_indexes(f"1,²,0-²,{'9' * 5000}", 4) == {1}
    assert parse_indexes("", 4) == frozenset()
    assert write_indexes([5, 0, 2, 1, 7, 8]) == "0-2,5,7,8"
    assert first_pending(frozenset({0, 2}), 2, 9) == [1, 3]
    assert first_pending(frozenset({0}), 5, 2) == [1]


@pytest.mark.parametrize(
    ("indexes", "count", "succeeded", "expected"),
    [
        ("0-2", None, {0, 1}, False),
        ("0-2", None, {0, 1, 2, 7}, True),
        ("0-2", 2, {0, 1}, True),
        (None, 2, {7, 8}, True),
        (None, 2, {7}, False),
        ("20", None, {7}, False),
        (None, 1, set(), False),
    ],
)
def test_success_rules(indexes: str | None, count: int | None, succeeded: set[int], *, expected: bool) -> None:
    policy = SuccessPolicy(rules=(SuccessRule(succeeded_indexes=indexes, succeeded_count=count),))
    assert is_success(policy, frozenset(succeeded), 10) is expected
