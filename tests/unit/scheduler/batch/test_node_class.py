"""What is known of the nodes of one class, however often a node is looked at again."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kwhatif.scheduler.batch.node_class import ClassVerdicts, NodeClass
from kwhatif.scheduler.framework.status import Verdict, unresolvable, unschedulable
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.scheduler.preemption.candidate import NOT_TRIED, Candidate
from tests.builders import snapshot

NODES = "abcd"
OBJECTIONS = [
    Verdict(unschedulable("full"), "P"),
    Verdict(
        unresolvable(
            "tainted",
        ),
        "Q",
    ),
]
NO_HELP = Verdict(unresolvable("No preemption victims found"))


def candidate(name: str, cost: int) -> Candidate:
    return Candidate(name, (), 0, (cost,), Budgets(snapshot().cluster).split(()), NOT_TRIED)


#: What is recorded of a node: an objection or none, and whom the pod would evict, or that it does not help.
records = st.tuples(
    st.sampled_from(NODES),
    st.one_of(
        st.tuples(st.none(), st.none()),
        st.tuples(st.sampled_from(OBJECTIONS), st.none() | st.just(NO_HELP) | st.integers(0, 2)),
    ),
)


@given(st.lists(records), st.sets(st.sampled_from(NODES)))
def test_it_knows_what_was_recorded_last(
    recorded: list[tuple[str, tuple[Verdict | None, Verdict | int | None]]], gone: set[str]
) -> None:
    verdicts = ClassVerdicts(set(NODES))
    last = {}
    for name, (objection, found) in recorded:
        verdicts.record(name, objection, candidate(name, found) if isinstance(found, int) else found)
        last[name] = objection, found
    for name in gone:
        verdicts.forget(name)
        last.pop(name, None)
    for known in (verdicts, verdicts.copy()):
        assert known.feasible == {name for name, (objection, _) in last.items() if objection is None}
        said = {
            name: (objection.plugin, objection.status.reasons) for name, (objection, _) in last.items() if objection
        }
        assert known.objections == said
        reasons: Counter[str] = Counter()
        known.count_reasons(reasons)
        assert +reasons == Counter(objection.status.message for objection, _ in last.values() if objection)
        assert set(known.plugins) == {objection.plugin for objection, _ in last.values() if objection}
        refusals: Counter[str] = Counter()
        tried_in_vain = known.count_refusals(refusals)
        assert tried_in_vain == sum(found is NO_HELP for _, found in last.values())
        assert refusals == ({NO_HELP.status.message: tried_in_vain} if tried_in_vain else {})
        best = min(((found, name) for name, (_, found) in last.items() if isinstance(found, int)), default=None)
        assert known.order.best() == (best and ((best[0],), best[1]))


@given(st.dictionaries(st.sampled_from(NODES), st.tuples(st.sampled_from(OBJECTIONS), st.none() | st.integers(0, 2))))
def test_to_begin_with_all_is_to_record_one_by_one(found: dict[str, tuple[Verdict, int | None]]) -> None:
    begun, recorded = ClassVerdicts(set(found)), ClassVerdicts(set(found))
    candidates = {name: candidate(name, cost) for name, (_, cost) in found.items() if cost is not None}
    rejected = {name: NO_HELP for name, (_, cost) in found.items() if cost is None}
    begun.begin({name: objection for name, (objection, _) in found.items()}, candidates, rejected)
    for name, (objection, _) in found.items():
        recorded.record(name, objection, candidates.get(name, NO_HELP))
    counts = []
    for verdicts in (begun, recorded):
        reasons: Counter[str] = Counter()
        refusals: Counter[str] = Counter()
        verdicts.count_reasons(reasons)
        counts.append((reasons, verdicts.count_refusals(refusals), refusals, verdicts.order.best()))
        assert (verdicts.outdated, dict(verdicts.candidates)) == (set(), candidates)
    assert counts[0] == counts[1]


class TestStates:
    def test_a_state_that_the_filters_come_back_to_is_known(self) -> None:
        nodes = NodeClass("zone a", "ab")
        nodes.set_state(1)
        nodes.verdicts.record("a", OBJECTIONS[0], None)
        nodes.set_state(2)
        assert nodes.verdicts.outdated == {"a", "b"}
        nodes.set_state(1)
        assert (set(nodes.verdicts.objections), nodes.verdicts.outdated) == ({"a"}, {"b"})

    def test_only_the_last_four_are(self) -> None:
        nodes = NodeClass("zone a", "a")
        for state in (1, 2, 3, 4, 1, 5):
            nodes.set_state(state)
            nodes.verdicts.record("a", OBJECTIONS[0], None)
        known = []
        for state in (1, 3, 4, 5):
            nodes.set_state(state)
            known.append(not nodes.verdicts.outdated)
        assert known == [True] * 4
        nodes.set_state(2)
        assert nodes.verdicts.outdated == {"a"}

    def test_what_changes_at_a_node_changes_in_all_states(self) -> None:
        nodes = NodeClass("zone a", "ab")
        for state in (1, 2):
            nodes.set_state(state)
            nodes.verdicts.record("a", OBJECTIONS[0], candidate("a", 1))
        assert nodes.has_candidate("a")
        nodes.invalidate("a")
        nodes.set_state(1)
        assert nodes.verdicts.outdated == {"a", "b"}
        nodes.remove("a")
        assert not nodes.has_candidate("a")
        nodes.set_state(2)
        assert (nodes.names, dict(nodes.verdicts.objections)) == ({"b"}, {})

    def test_a_copy_goes_its_own_way(self) -> None:
        nodes = NodeClass("zone a", "a")
        nodes.set_state(1)
        other = nodes.copy()
        other.verdicts.record("a", OBJECTIONS[0], None)
        other.add("b")
        assert (nodes.names, dict(nodes.verdicts.objections)) == ({"a"}, {})
        other.set_state(1)
        assert (set(other.verdicts.objections), other.verdicts.outdated) == ({"a"}, {"b"})
