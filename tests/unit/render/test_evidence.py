"""Rejected nodes in groups, the nearest miss first; victims by owner, and how their budgets run down."""

from kwhatif.render.evidence import rejected_groups, victim_groups
from kwhatif.report.decision import BudgetRow, CandidateRow, ObjectionRow, RejectedRow, VictimRow
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


# --- Victims by owner and count, and how their budgets run down ---------------------------------------


def victim(pod: str, *, violates: bool = False, workload: str | None = "Deployment ml/trainer") -> VictimRow:
    broken = ("ml/trainer",) if violates else ()
    return VictimRow(pod=pod, priority=-5, owner=workload, workload=workload, budgets=("ml/trainer",), violates=broken)


def candidate(before: int, *victims: VictimRow) -> CandidateRow:
    after = before - len(victims)
    budgets = (BudgetRow(budget="ml/trainer", before=before, after=after),)
    return CandidateRow(node="n1", pdb_violations=0, victims=victims, ladder={}, budgets=budgets)


def shown(row: CandidateRow, *, each: bool = False) -> list[tuple[str, str, list[str]]]:
    return [(group.name, group.owner, group.budgets) for group in victim_groups(row, each=each)]


def test_pods_of_one_owner_are_together() -> None:
    assert shown(candidate(1, victim("ml/a", violates=True), victim("ml/b"))) == [
        ("2 pods", "Deployment ml/trainer", ["ml/trainer 1 → 0 → -1 VIOLATED"])
    ]


def test_each_pod_has_its_own_step_and_those_that_violate_come_last() -> None:
    assert shown(candidate(1, victim("ml/a", violates=True), victim("ml/b")), each=True) == [
        ("ml/a", "Deployment ml/trainer", ["ml/trainer 0 → -1 VIOLATED"]),
        ("ml/b", "Deployment ml/trainer", ["ml/trainer 1 → 0"]),
    ]


def test_a_long_run_is_shortened() -> None:
    victims = [victim(f"ml/{number}") for number in range(7)]
    assert shown(candidate(9, *victims))[0][2] == ["ml/trainer 9 → 8 → … → 2"]


def test_pods_without_an_owner_stand_for_themselves() -> None:
    row = candidate(5, victim("ml/a", workload=None), victim("ml/b", workload=None))
    assert [name for name, _, _ in shown(row)] == ["ml/a", "ml/b"]
