"""Laws of answers that go on with the nodes that an autoscaler adds."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import kwhatif
from tests.examples import examples
from tests.unit.autoscaler.test_loop import AT, POOL, TYPES, added, web, where
from tests.unit.questions.manifests.test_daemons import Json, daemon_set, node


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[Json], Json, dict[str, Any]]:
    """A cluster, a workload, and an autoscaler."""
    nodes = [node(name, cpu=draw(st.sampled_from(("2", "6")))) for name in draw(st.sampled_from(("a", "ab", "abc")))]
    daemons = [daemon_set("agent", "1")] if draw(st.booleans()) else []
    workload = web(draw(st.integers(1, 6)), draw(st.sampled_from(("500m", "3", "7", "20"))))
    group = {"name": "general", "min": 0, "max": draw(st.integers(1, 6)), "nodes": [nodes[0]["metadata"]["name"]]}
    choices: tuple[Json, ...] = (
        {"autoscaler": "karpenter", "instance_types": TYPES},
        {"autoscaler": "cluster-autoscaler", "node_groups": {"groups": [group]}},
    )
    scaling: Json = draw(st.sampled_from(choices))
    return [POOL, *nodes, *daemons], workload, scaling


@given(questions())
@settings(max_examples=examples(20), deadline=None)
def test_nodes_only_help(question: tuple[list[Json], Json, dict[str, Any]]) -> None:
    objects, workload, scaling = question
    session = kwhatif.load(objects)
    without = kwhatif.schedule(session, workload)
    report = kwhatif.schedule(kwhatif.with_autoscaler(session, at=AT, **scaling), workload)
    assert where(report).count("-") <= where(without).count("-")
    if "-" not in where(without):
        assert added(report) == 0
        assert where(report) == where(without)


@given(questions())
@settings(max_examples=examples(20), deadline=None)
def test_with_and_without_time_the_same_is_added_in_the_first_round(
    question: tuple[list[Json], Json, dict[str, Any]],
) -> None:
    objects, workload, scaling = question
    session = kwhatif.load(objects)
    played = kwhatif.schedule(kwhatif.with_autoscaler(session, at=AT, **scaling), workload)
    found = kwhatif.autoscale(session, workload, at=AT, **scaling)
    rounds = [each.autoscaler.rounds[:1] if each.autoscaler is not None else () for each in (played, found)]
    firsts = [
        [(row.group, row.delta) for each in first for row in each.scale_up] + [len(each.new_nodes) for each in first]
        for first in rounds
    ]
    assert firsts[0] == firsts[1] or not firsts[0]
