"""From which nodes something can be used."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.matching.volumes import EVERYWHERE, Reach, Reachable, affinity_reach, selector_reach, topologies_reach
from kwhatif.kube.model.meta import Requirement
from tests.builders import ZONE, requirement, selector
from tests.storage import reach, storage_class

HOST = "kubernetes.io/hostname"
LABELS = st.dictionaries(st.sampled_from([HOST, ZONE, "ssd"]), st.sampled_from(["a", "b", "c"]))
REQUIREMENTS = st.builds(
    requirement,
    st.sampled_from([HOST, ZONE, "ssd"]),
    st.sampled_from(["In", "NotIn"]),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["b", "c"]),
)
REACHES = st.one_of(
    st.just(EVERYWHERE),
    st.lists(st.lists(REQUIREMENTS, max_size=2), max_size=2).map(lambda terms: affinity_reach(reach(*terms))),
    st.lists(REQUIREMENTS, max_size=2).map(lambda expressions: selector_reach(selector(*expressions))),
    st.sampled_from(["a", "b", "c"]).map(lambda zone: selector_reach(selector(zone=zone, ssd="a"))),
)


@given(st.lists(REACHES, max_size=8), LABELS)
def test_looking_up_by_a_label_finds_what_asking_everything_finds_in_the_same_order(
    reaches: list[Reach], labels: dict[str, str]
) -> None:
    asked = [number for number, reach in enumerate(reaches) if reach.matches(labels)]
    assert list(Reachable((reach, number) for number, reach in enumerate(reaches)).of(labels)) == asked


@given(REACHES, LABELS, LABELS)
def test_the_answer_depends_on_nothing_but_the_keys(
    reach: Reach, labels: dict[str, str], others: dict[str, str]
) -> None:
    same_keys = {**others, **{key: labels[key] for key in reach.keys if key in labels}}
    for key in reach.keys - labels.keys():
        same_keys.pop(key, None)
    assert reach.matches(labels) is reach.matches(same_keys)


def test_keys_of_a_lookup_are_those_of_everything_in_it() -> None:
    things = [(affinity_reach(reach([requirement(ZONE, "In", "a")])), 1), (selector_reach(selector(ssd="yes")), 2)]
    assert Reachable(things).keys == {ZONE, "ssd"}


def test_one_value_listed_twice_is_found_once() -> None:
    twice = affinity_reach(reach([Requirement(key=ZONE, operator="In", values=("a", "a"))]))
    assert list(Reachable([(twice, "x")]).of({ZONE: "a"})) == ["x"]


def test_a_pool_without_selector_is_accessible_from_nowhere_and_an_empty_one_from_everywhere() -> None:
    assert not selector_reach(None).matches({})
    assert selector_reach(selector()).matches({})


def test_a_class_without_topologies_provisions_everywhere() -> None:
    assert topologies_reach(()) is EVERYWHERE
    assert not topologies_reach(storage_class(topologies=[{}]).allowed_topologies).matches({ZONE: "a"})
