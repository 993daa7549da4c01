"""Two clusters: what is different, as single changes; and which of them make an answer another one."""

from collections.abc import Mapping

import kwhatif
from kwhatif.questions.comparing import Causes
from kwhatif.report.differences import CompareRow
from tests import FIXTURES

FOLDER = FIXTURES / "compare"


def days() -> tuple[kwhatif.Session, kwhatif.Session]:
    one, other = (kwhatif.load(FOLDER / f"{name}.yaml") for name in ("monday", "tuesday"))
    return one, other


def compared(tries: int = 500) -> CompareRow:
    shop = FOLDER / "shop.yaml"
    questions = {"shop": lambda cluster: kwhatif.schedule(cluster, shop)}
    row = kwhatif.compare_clusters(*days(), questions, tries=tries).compare
    assert row is not None
    return row


def test_changes_are_as_small_as_can_be_made_by_themselves() -> None:
    found = [(each.change, each.object, [field.field for field in each.fields]) for each in compared().changes]
    assert found == [
        ("changed", "Node a1", ["metadata.labels[patched]"]),
        ("changed", "Node c1", ["metadata.labels[patched]"]),
        ("changed", "Node c1", ["spec.taints[0]"]),
        ("added", "Node d1", []),
        ("changed", "PriorityClass web", ["value"]),
        ("changed", "PodDisruptionBudget shop/batch", ["spec.maxUnavailable"]),
        ("changed", "PodDisruptionBudget shop/batch", ["status.disruptionsAllowed"]),
        ("changed", "PodDisruptionBudget shop/batch", ["status.desiredHealthy"]),
        ("changed", "ReplicaSet shop/web", ["spec.replicas"]),
        ("added", "Pod shop/web-2", []),
        ("times", "1", []),
    ]


def test_the_cause_is_the_smallest_set() -> None:
    row = compared()
    (answer,) = row.answers
    assert (answer.subject, answer.before, answer.after) == ("shop/checkout", "fits on c1", "fits on d1")
    assert [row.changes[place].object for place in answer.because] == ["Node c1", "Node d1"]
    assert answer.proof == "smallest"


def test_with_few_tries_it_is_not_said_to_be_the_smallest() -> None:
    assert [(each.proof, len(each.because)) for each in compared(tries=3).answers] == [("minimal", 2)]
    assert [(each.proof, each.because) for each in compared(tries=0).answers] == [("none", ())]


def test_nothing_differs_of_a_cluster_and_itself() -> None:
    one, _ = days()
    row = kwhatif.compare_clusters(one, one).compare
    assert row is not None
    assert (row.changes, row.answers) == ((), ())


def causes(needed: list[set[int]], count: int = 12) -> Causes:
    """Of that many changes, any of these sets makes the difference."""

    def ask(some: frozenset[int]) -> Mapping[str, str]:
        return {"it": "new" if any(each <= some for each in needed) else "old"}

    return Causes(ask, [[each // 4, each] for each in range(count)], 400)


def test_delta_debugging_and_then_all_smaller_sets() -> None:
    assert causes([{3}]).of("it", "new").because == (3,)
    assert causes([{1, 6, 11}]).of("it", "new")[:2] == ((1, 6, 11), "smallest")
    assert causes([{0, 1, 2}, {8, 9}]).of("it", "new")[:2] == ((8, 9), "smallest")
    assert causes([set(range(12))]).of("it", "new")[:2] == (tuple(range(12)), "minimal")
    assert causes([{99}]).of("it", "new")[:2] == ((), "none")
