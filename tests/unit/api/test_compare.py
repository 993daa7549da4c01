"""What is different between two answers to one question."""

import json
from typing import Any

import pytest

import kwhatif
from kwhatif.render.comparison import headline
from tests.edit_cases import load
from tests.schemas import validator


def asked(name: str = "p", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def compared(*edits: str, pods: tuple[dict[str, Any], ...] = (asked(),)) -> kwhatif.Comparison:
    session = load()
    after = kwhatif.edited(session, *edits)
    return kwhatif.compare(kwhatif.schedule(session, *pods), kwhatif.schedule(after, *pods))


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ("cordon a1", "p flipped: Placed a1 -> Unschedulable None"),
        ("add 1 node like a1", "p moved: Placed a1 -> Placed a1-new-1"),
        ("label node/a1 x=y", ""),
    ],
)
def test_one_pod(edit: str, expected: str) -> None:
    found = compared(edit).difference
    rows = [
        f"{row.pod.partition('/')[2]} {row.difference}: {row.before.outcome} {row.before.node} ->"
        f" {row.after.outcome} {row.after.node}"
        for row in found.pods
        if row.before and row.after
    ]
    assert rows == ([expected] if expected else [])
    assert found.unchanged == (0 if expected else 1)


def test_pods_that_only_one_answer_has() -> None:
    session = load()
    after = kwhatif.edited(session, "scale deploy/shop/web=4", "scale sts/shop/db=3")
    there = kwhatif.compare(kwhatif.preempt(session), kwhatif.preempt(after)).difference
    back = kwhatif.compare(kwhatif.preempt(after), kwhatif.preempt(session)).difference
    assert [row.difference for row in there.pods] == ["new", "new"]
    assert [(row.difference, row.after) for row in back.pods] == [("gone", None), ("gone", None)]


def test_other_victims() -> None:
    pod = asked(priorityClassName="high", nodeName="a1", containers=[
        {"name": "c", "image": "x", "resources": {"requests": {"cpu": "3500m"}}}
    ])  # fmt: skip
    found = compared("delete pod/shop/db-1", pods=(pod,)).difference
    assert [row.difference for row in found.pods] == ["victims"]


def test_findings_come_and_go() -> None:
    policy = {"apiVersion": "kwhatif.dev/v1", "kind": "Policy"}
    session = load()
    after = kwhatif.edited(session, "cordon a1")
    without, with_edits = (kwhatif.gate(each, asked(), policy=policy) for each in (session, after))
    assert [row.rule for row in kwhatif.compare(without, with_edits).difference.new_findings] == ["unschedulable"]
    assert [row.rule for row in kwhatif.compare(with_edits, without).difference.gone_findings] == ["unschedulable"]


def test_caveats_come_and_go() -> None:
    found = compared("delete node/a1 node/a2 node/b1").difference
    assert any("no nodes" in caveat for caveat in found.new_caveats)
    assert ["Services" in caveat for caveat in found.gone_caveats] == [True]


def test_the_schema_describes_it() -> None:
    comparison = compared("cordon a1")
    validator("comparison").validate(json.loads(comparison.to_json(indent=2)))
    assert comparison.to_dict()["kind"] == "Comparison"
    assert comparison.to_dict()["before"]["changes"] == []
    assert comparison.to_dict()["after"]["changes"][0]["edit"] == "cordon a1"


def test_stories_that_end_in_another_way() -> None:
    session = load()
    after = kwhatif.edited(session, "add 1 node like a1", "cordon a1")
    found = kwhatif.compare(kwhatif.simulate(session, asked()), kwhatif.simulate(after, asked())).difference
    rows = {row.subject: (row.before, row.after) for row in found.ends}
    assert rows["Pod default/p"] == ("1 pending", "a1-new-1 (1)")


@pytest.mark.parametrize(
    ("asked_for", "edit", "expected", "said"),
    [
        ({}, "cordon a1", {"without eviction": ("2", "0"), "node a1": ("2", None)}, "without the edits, 2 fit"),
        ({"limit": 1}, "add 1 node like a1", {"node a1-new-1": (None, "1")}, "still at least 1 more pod"),
        ({}, "label node/a1 x=y", {}, "the answer is the same"),
        ({"target": 2}, "cordon a1", {"target 2": ("met", "2 missing")}, "not one of 2 more pods"),
    ],
)
def test_how_many_more_fit(
    asked_for: dict[str, Any], edit: str, expected: dict[str, tuple[str | None, str | None]], said: str
) -> None:
    session = load()
    before, after = (kwhatif.capacity(each, asked(), **asked_for) for each in (session, kwhatif.edited(session, edit)))
    comparison = kwhatif.compare(before, after)
    found = {end.subject: (end.before, end.after) for end in comparison.difference.ends}
    assert expected.items() <= found.items()
    assert comparison.difference.pods == ()
    assert said in headline(comparison)
    validator("comparison").validate(json.loads(comparison.to_json()))


def test_how_many_more_fit_of_each_kind() -> None:
    session = load()
    comparison = kwhatif.compare(kwhatif.capacity(session), kwhatif.capacity(kwhatif.edited(session, "delete node/a1")))
    assert any(end.subject.startswith("more like ") for end in comparison.difference.ends)
    assert "another number of pods fits for" in headline(comparison)
