"""Releases: their defaults are upstream's, and their rules differ where upstream's do."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.framework.attempt import attempt
from kwhatif.framework.plugin import NodeScorer
from kwhatif.framework.profile import Point
from kwhatif.gates import KNOWN, default_gates
from kwhatif.model.volume import ImageVolume
from kwhatif.release import MINORS, NEWEST, Release, find_release, nearest_minor
from kwhatif.sources.release import gates_of
from kwhatif.state.state import State
from tests.builders import PodBuilder, node, pod, snapshot
from tests.devices import asking, claim, device, device_class, request, slice_

MB = 1024 * 1024


@pytest.mark.parametrize("minor", MINORS)
def test_the_gates_that_rules_ask_about_have_upstreams_defaults(minor: int) -> None:
    upstream = gates_of(f"1.{minor}")
    assert {gate: gate in default_gates(minor) for gate in KNOWN} == {
        gate: gate in upstream and upstream[gate].default for gate in KNOWN
    }


@pytest.mark.parametrize("minor", MINORS)
def test_a_release_is_found_by_its_minor_version(minor: int) -> None:
    release = find_release(minor)
    assert release.minor == minor
    assert release.version == f"1.{minor}"
    assert release is find_release(minor)
    assert release.default_profile().gates == release.gates


def test_versions_that_are_not_modelled_have_a_nearest_one() -> None:
    assert nearest_minor(20) == MINORS[-1]
    assert nearest_minor(99) == NEWEST
    assert [nearest_minor(minor) for minor in MINORS] == list(MINORS)


def filters(release: Release) -> list[str]:
    return [plugin.name for plugin in release.default_profile().filter]


def test_a_plugin_without_its_gate_is_not_in_the_default_profile() -> None:
    assert "NodeDeclaredFeatures" in filters(find_release(36))
    assert "NodeDeclaredFeatures" not in filters(find_release(35))
    assert "NodeDeclaredFeatures" in filters(find_release(35).with_gates({"NodeDeclaredFeatures": True}))


def test_gates_set_by_hand_leave_the_others_as_they_are() -> None:
    release = find_release(36)
    changed = release.with_gates({"DRADeviceTaints": False, "DRAListTypeAttributes": True})
    assert changed.gates ^ release.gates == {"DRADeviceTaints", "DRAListTypeAttributes"}
    assert release.gates == default_gates(36)


def test_plugins_that_a_release_does_not_have_are_not_known() -> None:
    names = {entry.name for entry in find_release(35).entries}
    assert "TopologyPlacementGenerator" not in names
    assert Point.FILTER in find_release(35).entry("NodeDeclaredFeatures").points


# --- rules that differ -------------------------------------------------------------------------------------------


def score(minor: int, plugin: str, candidate: PodBuilder, within: State) -> int:
    """What the plugin of that release gives the first node."""
    made = next(each for each in find_release(minor).default_profile().score if each.name == plugin)
    scorer = made.pre_score(candidate.info(), within, within.nodes)
    assert isinstance(scorer, NodeScorer)
    return scorer.score(within.nodes[0])


@pytest.mark.parametrize(("minor", "expected"), [(36, 68), (35, 87)])
def test_until_1_35_the_balance_itself_counts(minor: int, expected: int) -> None:
    within = snapshot(node().allocatable(cpu="4", memory="10000"))
    candidate = pod("a").cpu("3").memory("5000")
    assert score(minor, "NodeResourcesBalancedAllocation", candidate, within) == expected


@pytest.mark.parametrize(("minor", "expected"), [(36, 59), (35, 0)])
def test_until_1_35_image_volumes_do_not_count(minor: int, expected: int) -> None:
    within = snapshot(node("a").image(900 * MB, "web:1"), node("b").image(900 * MB, "web:1"), node("c"))
    assert score(minor, "ImageLocality", pod().volume("v", image=ImageVolume(reference="web:1")), within) == expected


def refusals(release: Release, candidate: PodBuilder, within: State) -> list[tuple[str, ...]]:
    """Why each node is turned down."""
    cycle = attempt(release.default_profile(), candidate.info(), within).cycle
    return [cycle.verdicts[each.name].status.reasons for each in within.nodes if each.name in cycle.verdicts]


def test_in_1_35_the_reason_names_the_features() -> None:
    release = find_release(35).with_gates({"NodeDeclaredFeatures": True})
    found = refusals(release, pod().spec(host_network=True, host_users=False), snapshot(node("a")))
    why = "node declared features check failed - unsatisfied requirements: UserNamespacesHostNetworkSupport"
    assert found == [(why,)]


NEEDS: dict[str, dict[str, Any]] = {
    "DRADeviceTaints": {"taint": ("broken", "NoSchedule")},
    "DRADeviceBindingConditions": {"fields": {"binding_conditions": ("ready",)}},
    "DRAPartitionableDevices": {"uses": {"c": {"slots": "1"}}},
}


@pytest.mark.parametrize("gate", NEEDS)
def test_what_a_gate_is_for_counts_only_where_it_is_on(gate: str) -> None:
    """Taints count for nothing without theirs; devices that need the others are taken by nobody."""
    devices = slice_("n1", device("gpu-0", **NEEDS[gate]), count=2)
    counters = slice_("n1", name="counters", counters={"c": {"slots": "4"}}, count=2)
    within = snapshot(node("n1"), device_class(), claim("mine", request()), devices, counters)
    on, off = (bool(refusals(find_release(minor), asking("mine"), within)) for minor in (36, 35))
    assert (on, off) == ((True, False) if gate == "DRADeviceTaints" else (False, True))


def test_extended_resources_are_left_to_devices_only_where_the_gate_is_on() -> None:
    within = snapshot(node("n1"), device_class(resource="example.com/gpu"), slice_("n1", device("gpu-0")))
    wanting = pod().requests({"example.com/gpu": "1"})
    assert refusals(find_release(36), wanting, within) == []
    assert refusals(find_release(35), wanting, within) == [("Insufficient example.com/gpu",)]
    on = find_release(35).with_gates({"DRAExtendedResource": True})
    assert refusals(on, wanting, within) == []
