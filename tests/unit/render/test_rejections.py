"""Rejected nodes in groups, the nearest miss first."""

from __future__ import annotations

from kwhatif.render.evidence import rejected_groups
from kwhatif.report.decision import ObjectionRow, RejectedRow
from kwhatif.scheduler.framework.evidence import CordonedNode, Evidence, InsufficientResource, UntoleratedTaint

NEVER, MAYBE = "UnschedulableAndUnresolvable", "Unschedulable"
TAINT = ObjectionRow(
    plugin="TaintToleration", code=NEVER, reasons=("tainted",), evidence=(UntoleratedTaint("gpu", "", "NoSchedule"),)
)
CORDON = ObjectionRow(plugin="NodeUnschedulable", code=NEVER, reasons=("cordoned",), evidence=(CordonedNode(),))
CORDON_TAINT = ObjectionRow(
    plugin="TaintToleration",
    code=NEVER,
    reasons=("tainted",),
    evidence=(UntoleratedTaint("node.kubernetes.io/unschedulable", "", "NoSchedule"),),
)


def cpu(allocatable: int, used: int = 0) -> ObjectionRow:
    evidence: tuple[Evidence, ...] = (InsufficientResource("cpu", 4000, used, allocatable),)
    code = NEVER if allocatable < 4000 else MAYBE
    return ObjectionRow(plugin="NodeResourcesFit", code=code, reasons=("Insufficient cpu",), evidence=evidence)


def row(node: str, *objections: ObjectionRow, alike: int = 0) -> RejectedRow:
    first = objections[0]
    return RejectedRow(
        node=node,
        code=first.code,
        plugin=first.plugin,
        reasons=first.reasons,
        evidence=first.evidence,
        objections=objections,
        alike=alike,
    )


def order(*rows: RejectedRow, may_evict: bool = False) -> list[list[str]]:
    return [group.nodes for group in rejected_groups(rows, may_evict=may_evict)]


def test_fewest_objections_first_then_most_nodes() -> None:
    rows = [row("a", TAINT, cpu(8000, 6000)), row("b", cpu(8000, 6000)), row("c", TAINT), row("d", TAINT)]
    assert order(*rows) == [["c", "d"], ["b"], ["a"]]


def test_what_eviction_can_clear_counts_less() -> None:
    rows = [row("a", TAINT), row("b", TAINT), row("c", cpu(8000, 6000))]
    assert order(*rows) == [["a", "b"], ["c"]]
    assert order(*rows, may_evict=True) == [["c"], ["a", "b"]]


def test_nodes_that_are_too_small_come_last() -> None:
    assert order(row("a", cpu(2000)), row("b", TAINT, cpu(8000, 6000))) == [["b"], ["a"]]


def test_the_taint_of_a_cordoned_node_is_not_said_twice() -> None:
    (group,) = rejected_groups([row("a", CORDON, CORDON_TAINT)], may_evict=False)
    assert (group.reasons, group.evidence) == (["cordoned"], ["cordoned (spec.unschedulable)"])


def test_nodes_that_are_left_out_count() -> None:
    (group,) = rejected_groups([row("a", TAINT, alike=7), row("b", TAINT)], may_evict=False)
    assert (group.size, group.where) == (9, "on a, b and 7 more")


def test_rows_without_objections_have_their_own() -> None:
    bare = RejectedRow(node="a", code=MAYBE, plugin="Mine", reasons=("no",))
    (group,) = rejected_groups([bare], may_evict=False)
    assert group.reasons == ["no"]
