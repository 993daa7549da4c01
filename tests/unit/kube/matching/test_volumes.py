"""Volumes: how two pods may share them, and from which nodes they can be used."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.matching.volumes import (
    EVERYWHERE,
    ClaimName,
    Reach,
    Reachable,
    affinity_reach,
    claim_class,
    claim_names,
    not_owner,
    selector_reach,
    topologies_reach,
    volume_reaches,
    volumes_of_class,
)
from kwhatif.kube.model.meta import Requirement
from tests.builders import ZONE, cluster, pod, requirement, selector
from tests.storage import EPHEMERAL, claim, owned_by, reach, storage_class, volume

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def test_claims_of_a_pod_in_the_order_of_its_volumes() -> None:
    asking = pod("web").volume("tmp", **EPHEMERAL).volume("plain").claim("data").build()
    assert list(claim_names(asking)) == [ClaimName("web-tmp", ephemeral=True), ClaimName("data")]


@pytest.mark.parametrize(
    ("storage_class", "annotations", "expected"),
    [
        pytest.param("fast", {}, "fast", id="spec"),
        pytest.param("fast", {BETA_CLASS: "slow"}, "slow", id="annotation"),
        pytest.param("fast", {BETA_CLASS: ""}, "", id="an empty annotation is no class"),
        pytest.param(None, {}, "", id="none"),
    ],
)
def test_class_of_a_claim(storage_class: str | None, annotations: dict[str, str], expected: str) -> None:
    assert claim_class(claim("c", storage_class, annotations=annotations)) == expected


@pytest.mark.parametrize(
    ("uid", "meta", "owned"),
    [
        pytest.param("1", owned_by("web", uid="1"), True, id="by UID"),
        pytest.param("1", owned_by("web", uid="2"), False, id="a pod of the same name, earlier or later"),
        pytest.param("1", owned_by("other", uid="1"), True, id="the name does not count"),
        pytest.param("1", owned_by("web", uid="1", controller=False), False, id="owned but not controlled"),
        pytest.param("1", {}, False, id="without owner"),
        pytest.param("", owned_by("web", uid="2"), True, id="a manifest without UID: by name"),
        pytest.param("", owned_by("db", uid="2"), False, id="a manifest without UID: another name"),
        pytest.param("", owned_by("web", uid="2", kind="Job"), False, id="a manifest without UID: another kind"),
    ],
)
def test_owner_of_an_ephemeral_claim(uid: str, meta: dict[str, Any], owned: bool) -> None:
    reason = not_owner(pod("web").meta(uid=uid).build(), claim("web-tmp", meta=meta))
    assert (reason == "") is owned
    if not owned:
        assert reason == "PVC default/web-tmp was not created for pod default/web (pod is not owner)"


def test_volumes_of_a_class_smallest_first_then_by_name_and_claimed_ones_apart() -> None:
    found = cluster(
        volume("c", size="1Gi"),
        volume("b", size="2Gi"),
        volume("a", size="2Gi"),
        volume("d", claim="data"),
        volume("x", "slow"),
    )
    volumes = volumes_of_class(found, "fast")
    assert [name for _, name in volumes.unclaimed] == ["c", "a", "b"]
    assert volumes.claimed == {("default", "data"): ["d"]}
    assert volumes_of_class(found, "gone").unclaimed == []


def test_a_volume_that_changes_is_compiled_anew() -> None:
    found = cluster(volume("a"))
    reaches = volume_reaches(found)
    assert reaches.of(volume("a")) is volume_reaches(found).of(volume("a"))
    found.add(volume("a", claim="data"))
    assert volume_reaches(found) is reaches
    found.add(volume("a", node_affinity=reach([requirement("zone", "In", "b")])))
    assert volume_reaches(found) is not reaches


def test_a_volume_that_is_given_away_is_found_as_it_is() -> None:
    """Reserve gives volumes away with every pod: that must not cost a new index."""
    found = cluster(volume("a", size="1Gi"), volume("b", size="2Gi"))
    before = volumes_of_class(found, "fast")
    found.add(volume("a", size="1Gi", claim="data"))
    assert volumes_of_class(found, "fast") is before
    found.add(volume("a", size="4Gi", claim="data"))
    assert [name for _, name in volumes_of_class(found, "fast").unclaimed] == ["b"]


# --- From which nodes something can be used -----------------------------------------------------------


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
