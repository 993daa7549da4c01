"""What another release decides otherwise: about what waits, about what starts anew, and by which rules."""

from random import Random
from typing import Any

import pytest

import kwhatif
from kwhatif.errors import InputError
from kwhatif.policy.fail_on import fails
from kwhatif.report import Report
from kwhatif.report.differences import LandingRow, UpgradedRow
from kwhatif.scheduler.framework.reference import use_reference
from tests.objects import manifest

BALANCED = "NodeResourcesBalancedAllocation (1.36)"


def node(name: str, cpu: str, memory: str) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory, "pods": "10"}
    return manifest(
        "Node",
        {"name": name, "labels": {"kubernetes.io/hostname": name}},
        status={"allocatable": amounts, "capacity": amounts},
    )


def pod(name: str, on: str = "", cpu: str = "1", memory: str = "1Gi", owner: str = "") -> dict[str, Any]:
    kind, _, controller = owner.partition("/")
    owners = [{"apiVersion": "apps/v1", "kind": kind, "name": controller, "controller": True}] if owner else []
    return manifest(
        "Pod",
        {"name": name, "namespace": "shop", "ownerReferences": owners},
        spec={
            **({"nodeName": on} if on else {}),
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": memory}}}],
        },
        status={"phase": "Running" if on else "Pending"},
    )


#: Of two empty nodes one is evenly used with the pod. The other is made more even by it, as it is unevenly used before.
NODES = [node("even", "4", "4Gi"), node("tilted", "4", "4Gi")]
LOAD = [pod("load", "tilted", cpu="100m", memory="1Gi"), pod("other", "even")]
FRESH = pod("fresh")


def upgraded(*objects: dict[str, Any], before: str = "1.35", to: str = "1.36") -> Report:
    return kwhatif.upgrade(kwhatif.load([*NODES, *objects], kubernetes_version=before), to=to)


def best(cluster: list[dict[str, Any]], version: str, candidate: dict[str, Any]) -> tuple[str, ...]:
    session = kwhatif.load(cluster, kubernetes_version=version)
    return kwhatif.schedule(session, candidate, alone=True).decisions[0].ties


def test_what_waits_is_decided_as_both_releases_decide() -> None:
    row = upgraded(*LOAD, FRESH).upgrade
    assert row is not None
    (found,) = row.pending
    assert found.before.nodes == best([*NODES, *LOAD], "1.35", FRESH) == ("even",)
    assert found.after.nodes == best([*NODES, *LOAD], "1.36", FRESH) == ("tilted",)
    assert (found.workload, found.difference, found.rules) == ("Pod shop/fresh", "moved", (BALANCED,))


def test_a_workload_starts_anew_without_its_own_pods() -> None:
    mine = [pod(f"web-{number}", "even", owner="ReplicaSet/web") for number in (1, 2)]
    row = upgraded(*LOAD, *mine).upgrade
    assert row is not None
    found = next(each for each in row.workloads if each.workload == "ReplicaSet shop/web")
    assert (found.before.nodes, found.after.nodes) == (("even",), ("tilted",))
    assert row.workloads_judged == 3


def test_the_same_release_decides_the_same() -> None:
    row = upgraded(*LOAD, FRESH, before="1.36").upgrade
    assert row is not None
    assert (row.pending, row.workloads, row.rules) == ((), (), ())
    assert (row.pending_judged, row.workloads_judged) == (1, 2)


def test_the_cluster_stays_as_it_is() -> None:
    session = kwhatif.load([*NODES, *LOAD, FRESH], kubernetes_version="1.35")
    first = kwhatif.schedule(session, pod("x")).to_json()
    kwhatif.upgrade(session, to="1.36")
    assert kwhatif.schedule(session, pod("x")).to_json() == first
    assert session.scheduler.version == "1.35"


def test_what_is_no_release_is_refused() -> None:
    with pytest.raises(InputError, match="--to: .*is not a version of Kubernetes"):
        upgraded(to="next")


def landing(outcome: Any, *victims: str) -> LandingRow:
    return LandingRow(outcome=outcome, nodes=("n",), victims=victims)


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        (landing("Placed"), landing("Placed"), False),
        (landing("Placed"), landing("Preempts", "d/v"), True),
        (landing("Placed"), landing("Unschedulable"), True),
        (landing("Preempts", "d/v"), landing("Unschedulable"), True),
        (landing("Preempts", "d/v"), landing("Preempts", "d/w"), True),
        (landing("Preempts", "d/v", "d/w"), landing("Preempts", "d/w"), False),
        (landing("Preempts", "d/v"), landing("Placed"), False),
        (landing("Unschedulable"), landing("Preempts", "d/v"), True),
        (landing("Unschedulable"), landing("Gated"), False),
        (landing("Unschedulable"), landing("Placed"), False),
    ],
)
def test_what_is_worse(before: LandingRow, after: LandingRow, worse: bool) -> None:
    report = upgraded()
    assert report.upgrade is not None
    row = UpgradedRow(workload="Pod d/p", pod="d/p", difference="flipped", before=before, after=after)
    changed = replaced(report, row)
    assert fails(changed, ("worse",)) is worse
    assert fails(changed, ("changed",))
    assert not fails(report, ("worse", "changed"))


def replaced(report: Report, row: UpgradedRow) -> Report:
    from msgspec.structs import replace

    assert report.upgrade is not None
    return replace(report, upgrade=replace(report.upgrade, workloads=(row,)))


def test_what_workloads_with_equal_requests_share_changes_no_answer() -> None:
    """What one leaves is room for the next, and how evenly nodes are used is another thing for each."""
    dice = Random(5)
    shapes = [("1", "512Mi"), ("500m", "1Gi"), ("1", "1Gi")]
    nodes = [node(f"n{index}", "4", f"{dice.randint(3, 12)}Gi") for index in range(8)]
    pods = [
        pod(f"{name}-{index}", f"n{dice.randrange(8)}", *shapes[place % 3], owner=f"ReplicaSet/{name}")
        for place, name in enumerate("abcdefghi")
        for index in range(2)
    ]

    def judged() -> tuple[int, list[UpgradedRow], object]:
        report = kwhatif.upgrade(kwhatif.load([*nodes, *pods], kubernetes_version="1.35"), to="1.36")
        row = report.upgrade
        assert row is not None
        return row.workloads_judged, list(row.workloads), report.caveats

    found = judged()
    use_reference(on=True)
    try:
        assert judged() == found
    finally:
        use_reference(on=False)
    assert found[0] == 9
    assert found[1]
