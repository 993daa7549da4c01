"""Numbered pods, as StatefulSets and indexed Jobs have them: alike but for labels and claims of their own.

The fast way takes them for replicas where no rule minds the difference. Here is everything that may mind it: selectors
that ask for the number, volumes that exist already, claims that somebody else uses, and limits of volumes per node.
"""

from collections.abc import Iterator
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.kube.model.storage import ClaimVolumeSource
from kwhatif.scheduler.batch import cache
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER
from kwhatif.state.state import State
from tests.builders import HOSTNAME, ZONE, PodBuilder, affinity_term, cluster, node, pod, requirement, selector, service
from tests.examples import examples
from tests.placing import Placing
from tests.property.test_placing import PROFILE, compare
from tests.property.worlds import RANDOMS, World, demanding, one_in, running, some_names, some_nodes, surroundings
from tests.storage import SELECTED_NODE, WAIT, claim, csi, csi_node, reach, storage_class, volume

DRIVER = "csi.example.com"
NUMBER = "apps.kubernetes.io/pod-index"
POD_NAME = "statefulset.kubernetes.io/pod-name"


def numbered(random: Random, name: str, priority: int) -> list[PodBuilder]:
    """The pods of one set."""
    first = pod(name).cpu(random.choice(["0", "300m", "500m", "1500m"])).priority(priority)
    picky(random, first.labels(app=random.choice(["web", "db"])))
    if one_in(random, 8):
        first.claim("shared")
    has_claims = not one_in(random, 3)
    return [of_set(first, number, has_claim=has_claims) for number in range(random.choice([2, 3, 5, 8]))]


def of_set(like: PodBuilder, number: int, *, has_claim: bool = True) -> PodBuilder:
    """The pod of that number: its name, two labels and the claim for its data are its own."""
    name = f"{like.info().name}-{number}"
    built = like.named(name).labels({NUMBER: str(number), POD_NAME: name})
    if has_claim:
        built.volume("data", persistent_volume_claim=ClaimVolumeSource(claim_name=f"data-{name}"))
    return built


def picky(random: Random, built: PodBuilder) -> PodBuilder:
    """Now and then terms that ask for the number."""
    if one_in(random, 3):
        demanding(random, built)
    about_first = selector(requirement(NUMBER, "In", "0"))
    if one_in(random, 6):
        built.pod_anti_affinity(affinity_term(random.choice([HOSTNAME, ZONE]), about_first))
    if one_in(random, 6):
        built.prefer_pods(10, affinity_term(ZONE, about_first))
    if one_in(random, 6):
        built.spread(ZONE, selector(app="web"), 1, soft=one_in(random, 2), match_label_keys=(NUMBER,))
    return built


def storage(random: Random, pods: list[PodBuilder], nodes: list[str]) -> Iterator[Any]:
    yield storage_class("late", mode=WAIT, provisioner=DRIVER)
    yield storage_class("fast", mode=WAIT, provisioner="kubernetes.io/no-provisioner")
    kind = random.choice(["late", "late", "late", "fast"])
    yield claim("shared", kind)
    for built in pods:
        name = f"data-{built.info().name}"
        notes = {SELECTED_NODE: random.choice(nodes)} if one_in(random, 12) else {}
        is_bound = one_in(random, 12)
        size = random.choice(["1Gi", "1Gi", "1Gi", "1Gi", "2Gi"])
        yield claim(name, kind, size, volume=f"pv-{name}" if is_bound else "", annotations=notes)
        if is_bound or one_in(random, 12):
            yield volume(f"pv-{name}", kind, claim=name, csi=csi(DRIVER, f"h-{name}"))
    for number in range(random.choice([0, 0, 0, 2, 3] if kind == "late" else [2, 4, 6])):
        where = reach([requirement(ZONE, "In", random.choice("abc"))]) if one_in(random, 2) else None
        yield volume(f"free-{number}", kind, random.choice(["1Gi", "2Gi"]), node_affinity=where)
    if one_in(random, 2):
        for name in nodes:
            if not one_in(random, 4):
                yield csi_node(name, {DRIVER: random.choice([1, 2, 3])})


@st.composite
def worlds(draw: st.DrawFn) -> World:
    random = draw(RANDOMS)
    nodes, is_full = some_names(random), one_in(random, 2)
    pods = numbered(random, "a", random.choice([10, 20])) + numbered(random, "b", random.choice([0, 10, 20]))
    objects = [*surroundings(random, nodes), *storage(random, pods, nodes)]
    if one_in(random, 4):
        objects.append(service("first", {"app": "web", NUMBER: "0"}))
    if one_in(random, 4):
        about_first = affinity_term(ZONE, selector(requirement(NUMBER, "In", "0", "1")))
        objects.append(running(random, "picky").pod_anti_affinity(about_first).on(nodes[0]).build())
    if one_in(random, 8):
        objects.append(running(random, "squatter").claim("data-a-1").on(random.choice(nodes)).build())
    objects += some_nodes(random, nodes, 12 if is_full else 4)
    return World(cluster(*objects), [built.info() for built in pods])


@given(worlds())
@settings(max_examples=examples(250))
def test_the_fast_way_equals_the_plain_one(world: World) -> None:
    compare(world)


def stateful(number: int) -> PodBuilder:
    """One of the pods of a plain set."""
    return of_set(pod("web").cpu("100m").labels(app="web"), number).spec(hostname=f"web-{number}")


def test_a_selector_that_no_plugin_minds_may_be_invalid() -> None:
    def without_spread(plugins: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(plugin for plugin in plugins if plugin.name != "PodTopologySpread")

    points = ("pre_filter", "filter", "pre_score", "score")
    profile = replace(PROFILE, **{point: without_spread(getattr(PROFILE, point)) for point in points})
    pods = [stateful(number).spread(ZONE, selector(requirement("app", "Maybe"))) for number in range(3)]
    claims = [claim(f"data-web-{number}", "late") for number in range(3)]
    there = cluster(node("n").build(), storage_class("late", DRIVER), *claims)
    placements = Placing({DEFAULT_SCHEDULER: profile}, State(there)).place_all([each.info() for each in pods])
    assert [placement.node for placement in placements] == ["n"] * 3


@pytest.mark.parametrize(
    ("others", "attempts"),
    [
        pytest.param([], 1, id="nothing in the way"),
        pytest.param([csi_node("n", {DRIVER: 9})], 1, id="a limit on volumes"),
        pytest.param([service("first", {NUMBER: "0"})], 4, id="a service that asks for the number"),
        pytest.param([volume("free", "late")], 2, id="a volume that one of the claims may get"),
        pytest.param([pod("squatter").claim("data-web-3").on("n")], 2, id="somebody else's claim"),
        pytest.param([claim("data-web-2", "late", "2Gi")], 2, id="a larger claim"),
    ],
)
def test_a_whole_attempt_is_made_only_where_the_number_matters(others: list[Any], attempts: int) -> None:
    pods = [stateful(number) for number in range(4)]
    claims = [claim(f"data-web-{number}", "late") for number in range(4)]
    objects = [each.build() if isinstance(each, PodBuilder) else each for each in (*claims, *others)]
    there = cluster(node("n").build(), storage_class("late", DRIVER), *objects)
    with patch.object(cache, "attempt", side_effect=attempt) as made:
        placements = Placing({DEFAULT_SCHEDULER: PROFILE}, State(there)).place_all([each.info() for each in pods])
    assert [placement.node for placement in placements] == ["n"] * 4
    assert made.call_count == attempts
