"""The law of comparing: what was edited comes back, and the smallest set of changes is the smallest that there is."""

import random
from collections.abc import Sequence
from itertools import combinations

from hypothesis import HealthCheck, given, settings

import kwhatif
from kwhatif.api.compare import _said
from kwhatif.questions.comparing import SingleChange, applied, single_changes
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from tests.examples import examples
from tests.property.test_threats import running, world
from tests.property.worlds import RANDOMS


def edits(dice: random.Random, session: Session) -> list[str]:
    """Some edits of nodes, classes and workloads; not two that may undo each other."""
    nodes = list(session.state.by_name)
    found = [
        f"cordon {dice.choice(nodes)}",
        f"taint {dice.choice(nodes)} new=x:NoSchedule",
        f"label node/{dice.choice(nodes)} disk=ssd",
        f"priority mid={dice.choice((5, 200))}",
        f"set node/{dice.choice(nodes)} status.allocatable.cpu={dice.choice((1, 6))}",
        f"add 1 node like {nodes[0]}",
        "delete pod/bare-0",
    ]
    there = [each for each in found if not each.startswith("delete") or "default/bare-0" in session.state.pods]
    return dice.sample(there, dice.randint(1, min(4, len(there))))


def smallest(before: Session, after: Session, changes: Sequence[SingleChange], subject: str, wanted: str | None) -> int:
    """How many changes are needed, by trying all sets; more than there are: all together do not suffice."""
    ask = _said(question)
    for size in range(len(changes) + 1):
        for some in combinations(changes, size):
            if ask(before.at(applied(before.state, after.state, some))).get(subject) == wanted:
                return size
    return len(changes) + 1


POD: list[dict[str, object]] = []


def question(session: Session) -> Report:
    return kwhatif.schedule(session, *POD)


@settings(max_examples=examples(60, deep=200), suppress_health_check=list(HealthCheck))
@given(RANDOMS)
def test_edits_come_back_and_causes_are_the_smallest(dice: random.Random) -> None:
    before = kwhatif.load([each for each in world(dice) if each["metadata"]["name"] != "late"]).with_owners()
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": str(dice.randint(1, 4))}}}]}
    selector = {"nodeSelector": {"disk": "ssd"}} if dice.random() < 0.3 else {}
    POD[:] = [running("new", {**spec, **selector, "priorityClassName": dice.choice(("low", "mid", "high"))}, "")]
    after = kwhatif.edited(before, *edits(dice, before))
    row = kwhatif.compare_clusters(before, after, {"new": question}).compare
    assert row is not None
    assert {touched.object for edit in after.changes for touched in edit.touched} == {
        each.object for each in row.changes if each.change != "times"
    }
    changes = single_changes(before, after, configured=False)
    together = applied(before.state, after.state, changes).cluster
    assert all(together.all(kind) == after.cluster.all(kind) for kind in after.cluster.counts())
    if len(changes) > 8:
        return
    for answer in row.answers:
        size = smallest(before, after, changes, answer.subject, answer.after)
        assert (len(answer.because), answer.proof) == ((size, "smallest") if size <= len(changes) else (0, "none"))
