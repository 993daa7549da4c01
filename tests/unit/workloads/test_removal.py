"""Which pods a controller deletes first; the cases are the rules of upstream's `controller_utils_test.go`."""

from itertools import permutations

import pytest

from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.pod import ContainerStatus, Pod, PodAnnotations, PodCondition, PodMeta, PodSpec, PodStatus
from kwhatif.kube.model.pod_spec import Container
from kwhatif.workloads.removal import active, removed_first, removed_first_of_job

NOW = parse_time("2026-03-02T00:00:00Z")


def pod(
    name: str = "p",
    *,
    node: str = "n",
    phase: str = "Running",
    ready: bool | str = False,
    created: str | None = None,
    cost: str = "",
    restarts: int = 0,
    sidecar: int = 0,
    uid: str = "",
    deleted: bool = False,
) -> Pod:
    """`ready`: since when, or that nobody knows since when."""
    since = ready if isinstance(ready, str) else None
    conditions = (PodCondition(type="Ready", status="True", last_transition_time=since),) if ready else ()
    return Pod(
        metadata=PodMeta(
            name=name,
            namespace="shop",
            uid=uid or name,
            creation_timestamp=created,
            annotations=PodAnnotations(deletion_cost=cost),
            deletion_timestamp="2026-03-02T00:00:00Z" if deleted else None,
        ),
        spec=PodSpec(
            node_name=node,
            containers=(Container(name="main"),),
            init_containers=(Container(name="beside", restart_policy="Always"), Container(name="before")),
        ),
        status=PodStatus(
            phase=phase,
            conditions=conditions,
            container_statuses=(ContainerStatus(name="main", restart_count=restarts),),
            init_container_statuses=(
                ContainerStatus(name="beside", restart_count=sidecar),
                ContainerStatus(name="before", restart_count=99),
            ),
        ),
    )


DAY, HALF_DAY = "2026-03-01T00:00:00Z", "2026-03-01T12:00:00Z"
#: Two pods, of which the first goes first, for every rule, whatever the rules after it say.
RULES = {
    "no node before a node": (pod(node="", ready=HALF_DAY), pod(phase="Pending")),
    "pending before unknown": (pod(phase="Pending", cost="9"), pod(phase="Unknown")),
    "unknown before running": (pod(phase="Unknown", cost="9"), pod(phase="Running")),
    "not ready before ready": (pod(cost="9"), pod(ready=True)),
    "the lower cost": (pod(cost="-1", ready=DAY), pod(ready=HALF_DAY)),
    "no cost is 0": (pod(ready=DAY), pod(cost="1", ready=HALF_DAY)),
    "a cost that is no number is 0": (pod(cost="-3", ready=DAY), pod(cost="-4x", ready=HALF_DAY)),
    "a cost with a plus sign is 0": (pod(cost="4", ready=DAY), pod(cost="5", ready=HALF_DAY)),
    "ready for a shorter time": (pod(ready=HALF_DAY), pod(ready=DAY, restarts=3)),
    "since when it is ready is not known": (pod(ready=True), pod(ready=HALF_DAY, restarts=3)),
    "more restarts": (pod(restarts=2, created=DAY), pod(restarts=1, sidecar=9, created=HALF_DAY)),
    "more restarts of sidecars": (pod(sidecar=2, created=DAY), pod(sidecar=1, created=HALF_DAY)),
    "the younger one": (pod(created=HALF_DAY), pod(created=DAY)),
    "no age": (pod(), pod(created=HALF_DAY)),
}


@pytest.mark.parametrize(("first", "other"), RULES.values(), ids=RULES.keys())
def test_rules(first: Pod, other: Pod) -> None:
    for pods in permutations([first, other]):
        assert removed_first(pods, (), NOW)[0] is first
        assert removed_first(pods)[0] is first


@pytest.mark.parametrize("cost", ["008", "+1", "x", "2147483648", "9" * 5000, "²", "-", "1.5", ""])
def test_costs_that_are_none(cost: str) -> None:
    below, above = pod("below", cost="-1"), pod("above", cost="1")
    odd = pod("odd", cost=cost)
    assert removed_first([above, odd, below]) == [below, odd, above]


def test_where_there_are_more_of_them() -> None:
    alone, crowded = pod("a", node="n1"), pod("b", node="n2")
    others = [pod("c", node="n2"), pod("d", node="n1", deleted=True), pod("e", node="n1", phase="Failed")]
    assert removed_first([alone, crowded], [alone, crowded, *others]) == [crowded, alone]
    assert removed_first([alone, crowded]) == [alone, crowded]


def test_ages_of_one_magnitude_are_ordered_by_uid() -> None:
    # 2^46 ns are 19.5 hours, 2^47 are 39.
    one, other = pod("a", uid="2", ready="2026-03-01T00:00:00Z"), pod("b", uid="1", ready="2026-03-01T04:00:00Z")
    much_older = pod("c", uid="0", ready="2026-02-27T00:00:00Z")
    assert removed_first([one, other, much_older], (), NOW) == [other, one, much_older]
    assert removed_first([much_older, other, one], (), NOW) == [other, one, much_older]
    one, other = pod("a", uid="2", created=DAY), pod("b", uid="1", created="2026-03-01T04:00:00Z")
    assert removed_first([one, other], (), NOW) == [other, one]
    fresh = pod("d", uid="9", created="2026-03-02T00:00:00Z")
    assert removed_first([one, fresh], (), NOW) == [fresh, one]


def test_jobs_look_at_neither_cost_nor_neighbours_nor_magnitude() -> None:
    older = pod("a", uid="1", cost="-9", created=DAY)
    younger = pod("b", uid="2", cost="9", created="2026-03-01T00:00:01Z")
    assert removed_first_of_job([older, younger]) == [younger, older]


def test_equals_go_by_name() -> None:
    pods = [pod(name) for name in "abc"]
    for some in permutations(pods):
        assert removed_first(some) == pods


def test_active() -> None:
    assert active([pod(deleted=True), pod(phase="Failed"), pod(phase="Succeeded")]) == []
    assert len(active([pod(), pod(phase="Pending", node="")])) == 2
