"""A pod that is resized in place: who decides what, what stands in the way, and that the simulation says the same."""

from random import Random
from typing import Any

import pytest

import kwhatif
from kwhatif.report.deciders import ResizeRow
from tests.unit.questions.test_threats import CLASSES, node, pod


def resized(objects: list[dict[str, Any]], version: str = "1.36", **options: Any) -> tuple[ResizeRow, kwhatif.Report]:
    report = kwhatif.resize(kwhatif.load([*CLASSES, *objects], kubernetes_version=version), "pod/shop/web-0", **options)
    assert report.resize is not None
    return report.resize, report


def test_what_fits_is_resized_and_restarts_by_policy() -> None:
    web = pod("web-0", "1", where="a")
    web["spec"]["containers"][0]["resizePolicy"] = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    row, report = resized([node("a"), web], requests={"cpu": "2"})
    assert (row.decision, row.change, row.restarts, row.node) == ("Fits", "cpu 1 to 2", ("c",), "a")
    assert report.story is not None


def test_pods_in_the_way_are_of_no_higher_priority_and_as_few_as_can_be() -> None:
    others = [pod("db-0", "1", where="a"), pod("gold-0", "1", "high", "a"), pod("tiny-0", "100m", "", "a")]
    row, _ = resized([node("a"), pod("web-0", "1", where="a"), *others], requests={"cpu": "2500m"})
    assert (row.decision, row.in_the_way) == ("Deferred", ("shop/db-0",))
    row, _ = resized([node("a"), pod("web-0", "1", where="a"), *others], requests={"cpu": "4"})
    assert (row.decision, row.in_the_way) == ("Deferred", ())


@pytest.mark.parametrize(("version", "decision"), [("1.35", "Infeasible"), ("1.36", "Refused")])
def test_what_no_node_has_is_refused_by_the_api_server_since_1_36(version: str, decision: str) -> None:
    row, _ = resized([node("a"), pod("web-0", "1", where="a")], version, requests={"cpu": "9"})
    assert row.decision == decision
    assert "cpu, requested: 9000" in row.message


def test_what_the_api_server_does_not_take() -> None:
    row, report = resized([node("a"), pod("web-0", "1", where="a")], limits={"cpu": "500m"})
    assert row.decision == "Refused"
    assert "must be less than or equal to cpu limit of 500m" in row.message
    assert report.story is None


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        (
            "ResourceQuota",
            {"hard": {"requests.cpu": "3"}},
            "exceeded quota: few, requested: requests.cpu=1500m, used: requests.cpu=2, limited: requests.cpu=3",
        ),
        ("ResourceQuota", {"hard": {"requests.cpu": "3500m"}}, ""),
        (
            "LimitRange",
            {"limits": [{"type": "Container", "max": {"cpu": "2"}}]},
            "must be less than or equal to cpu limit of 2",
        ),
        ("LimitRange", {"limits": [{"type": "Container", "maxLimitRequestRatio": {"memory": "2"}}]}, None),
    ],
)
def test_quotas_charge_what_is_more_and_limit_ranges_hold(kind: str, spec: dict[str, Any], message: str | None) -> None:
    """`SupportsAttributes` of LimitRanger and `Handles` of the pod evaluator take the subresource `resize`."""
    few = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "few", "namespace": "shop"}, "spec": spec}
    web, other = pod("web-0", "1", where="a"), pod("db-0", "1", where="a")
    row, _ = resized([node("a"), web, other, few], requests={"cpu": "2500m"})
    assert row.decision == ("Fits" if message == "" else "Refused")
    assert (message or "") in row.message


@pytest.mark.parametrize(
    ("objects", "problem"),
    [
        ([pod("web-1", "1", where="a")], 'pods "web-0" not found in namespace shop'),
        ([pod("web-0", "1")], "is on no node: only a running pod can be resized"),
        ([pod("web-0", "1", where="gone")], "node gone is not in the input"),
    ],
)
def test_who_cannot_be_asked_about(objects: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(kwhatif.InputError) as raised:
        resized([node("a"), *objects], requests={"cpu": "2"})
    assert problem in str(raised.value)


def test_the_simulation_ends_as_it_is_decided_and_room_is_made_by_whom_it_names() -> None:
    dice = Random(5)
    decisions = set[str]()
    for _ in range(12):
        others = [
            pod(f"o{number}-0", dice.choice(("500m", "1", "1500m")), dice.choice(("", "low", "high")), "a")
            for number in range(dice.randint(0, 3))
        ]
        objects = [*CLASSES, node("a", "6"), pod("web-0", "500m", where="a"), *others]
        cluster, wanted = kwhatif.load(objects), {"cpu": str(dice.randint(1, 5))}
        report = kwhatif.resize(cluster, "pod/shop/web-0", requests=wanted)
        row = report.resize
        assert row is not None
        decisions.add(row.decision)
        played = kwhatif.simulate(cluster, then=[f"resize pod/shop/web-0 cpu={wanted['cpu']}"]).story
        assert played is not None
        assert report.story is not None
        assert (report.story.outcome, report.story.failed) == (played.outcome, played.failed)
        for kept in row.in_the_way:
            without = [f"delete pod/{key}" for key in row.in_the_way if key != kept]
            fewer = kwhatif.resize(kwhatif.edited(cluster, *without), "pod/shop/web-0", requests=wanted).resize
            assert fewer is not None
            assert fewer.decision == "Deferred"
        if row.in_the_way:
            emptied = kwhatif.edited(cluster, *(f"delete pod/{key}" for key in row.in_the_way))
            made = kwhatif.resize(emptied, "pod/shop/web-0", requests=wanted).resize
            assert made is not None
            assert made.decision == "Fits"
    assert decisions == {"Fits", "Deferred"}
