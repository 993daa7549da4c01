"""`capacity` counts what `gate` places one after another, on the random clusters of the differential tests."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.questions.capacity.capacity import fewest
from kwhatif.report.capacity import FitRow
from kwhatif.report.decision import Decision
from kwhatif.scheduler.framework.reference import use_reference
from tests.differential.dice import Dice
from tests.differential.files import write
from tests.differential.generate import FAMILIES, generate
from tests.differential.scene import Case, Object
from tests.examples import examples
from tests.objects import manifest
from tests.property.test_one_reading import template_of, try_some

SEED = 21
#: Questions of all families together.
QUESTIONS = int(os.environ.get("KWHATIF_CAPACITIES", "60"))
LIMIT = 12


def workload(case: Case, dice: Dice, replicas: int) -> Object:
    kind = dice.pick("Deployment", "Deployment", "StatefulSet", "Job")
    pod = case.pod
    template = template_of(pod, dice)
    meta = {"name": "new", "namespace": pod["metadata"].get("namespace", "default")}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        spec: Object = {"parallelism": replicas, "completions": replicas, "template": template}
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": meta, "spec": spec}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"set": pod["metadata"]["name"]}}, "template": template}
    if kind == "StatefulSet":
        spec |= {"serviceName": "s", "podManagementPolicy": "Parallel"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec}


def session_of(case: Case, folder: Path) -> kwhatif.Session:
    config = folder / "config.yaml"
    return kwhatif.load(folder / "cluster.yaml", scheduler_config=config if case.config else None)


def places(decisions: list[Decision]) -> dict[str, int]:
    return dict(sorted(Counter(decision.node for decision in decisions if decision.node).items()))


def check(fit: FitRow, decisions: list[Decision], outcomes: tuple[str, ...], name: str) -> None:
    assert fit.counted[0].nodes == places(decisions[: fit.sets]), name
    assert {decision.outcome for decision in decisions[: fit.sets]} <= set(outcomes), name
    if fit.stop is None:
        assert fit.sets == LIMIT, name
        return
    following = decisions[fit.sets]
    assert following.outcome == fit.stop.outcome, name
    assert following.message == fit.stop.message, name


@pytest.mark.parametrize("family", FAMILIES)
def test_it_places_as_gate_does(family: str, tmp_path: Path) -> None:
    for index in range(QUESTIONS // len(FAMILIES)):
        case = generate(family, SEED, index)
        try_some(case, Dice(case.name))
        session = session_of(case, write(case, tmp_path))
        asked = kwhatif.text(json.dumps(workload(case, Dice(case.name), LIMIT + 1)))
        classes = kwhatif.text(json.dumps(manifest("PriorityClass", {"name": "urgent"}, value=2000000)))
        row = kwhatif.capacity(session, asked, classes, limit=LIMIT, with_preemption=True, validation="ignore").capacity
        gate = kwhatif.gate(session, asked, classes, rollout="final", validation="ignore")
        pods = [decision for decision in gate.decisions if decision.source == gate.workloads[0].source]
        assert row is not None
        assert row.fit is not None
        assert row.preempting is not None
        check(row.fit, pods, ("Placed",), case.name)
        check(row.preempting.fit, pods, ("Placed", "Preempts"), case.name)
        evicting = [pod for pod in pods[: row.preempting.fit.sets] if pod.outcome == "Preempts"]
        assert row.preempting.evicting == len(evicting)
        assert row.preempting.victims == tuple(victim.pod for pod in evicting for victim in pod.victims)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_fast_way_counts_as_the_plain_one(family: str, tmp_path: Path) -> None:
    case = generate(family, SEED, 50)
    session = session_of(case, write(case, tmp_path))
    first = kwhatif.text(json.dumps(workload(case, Dice(case.name), 1)))
    (tmp_path / "pod.json").write_text(json.dumps(case.pod))

    def count() -> object:
        second = f"2*{tmp_path / 'pod.json'}"
        return kwhatif.capacity(session, first, second, limit=4, with_preemption=True, validation="ignore").to_dict()

    quick = count()
    try:
        use_reference(on=True)
        assert count() == quick
    finally:
        use_reference(on=False)


@pytest.mark.parametrize("family", ["resources", "spread"])
def test_targets_agree_with_the_count(family: str, tmp_path: Path) -> None:
    for index in range(4):
        case = generate(family, SEED, 100 + index)
        session = session_of(case, write(case, tmp_path))
        asked = json.dumps(workload(case, Dice(case.name), 1))

        def count(**options: Any) -> tuple[int, bool]:
            row = kwhatif.capacity(session, kwhatif.text(asked), validation="ignore", **options).capacity  # noqa: B023
            assert row is not None
            assert row.fit is not None
            return row.fit.sets, row.target is None or row.target.met

        sets, _ = count(limit=LIMIT)
        for wanted in (1, sets, sets + 1, LIMIT):
            if 0 < wanted <= LIMIT:
                assert count(target=wanted) == (min(sets, wanted), wanted <= sets)
                assert count(limit=wanted) == (min(sets, wanted), True)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(1, 120))
def test_the_fewest_nodes_are_the_fewest(gains: list[int], target: int) -> None:
    sums = [sum(gains[:count]) for count in range(len(gains) + 1)]
    tried: set[int] = set()

    def sets(nodes: int) -> int:
        tried.add(nodes)
        return sums[nodes]

    found = fewest(sets, target, len(gains))
    expected = next((count for count, number in enumerate(sums) if number >= target), None)
    assert found == expected
    assert found is None or {found, max(0, found - 1)} <= tried


def bare_node(name: str, cpu: int, memory: int, pods: int) -> Object:
    amounts = {"cpu": f"{cpu}m", "memory": str(memory), "pods": str(pods)}
    status = {"allocatable": amounts, "capacity": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def plain(cpu: int, memory: int) -> Object:
    requests = {"cpu": f"{cpu}m", "memory": str(memory)}
    spec = {"containers": [{"name": "a", "image": "i", "resources": {"requests": requests}}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": spec}


SIZES = st.tuples(st.integers(0, 900), st.integers(0, 900), st.integers(0, 9))


@settings(max_examples=examples(40))
@given(st.lists(SIZES, min_size=1, max_size=5), st.integers(1, 300), st.integers(1, 300))
def test_without_other_rules_each_node_takes_what_it_has_room_for(
    sizes: list[tuple[int, int, int]], cpu: int, memory: int
) -> None:
    nodes = [bare_node(f"n{index}", *size) for index, size in enumerate(sizes)]
    row = kwhatif.capacity(kwhatif.load(nodes), plain(cpu, memory)).capacity
    assert row is not None
    assert row.fit is not None
    room = {f"n{index}": min(size[0] // cpu, size[1] // memory, size[2]) for index, size in enumerate(sizes)}
    assert row.fit.counted[0].nodes == {name: number for name, number in room.items() if number}
    assert row.fit.stop is not None
    assert sum(tight.nodes for tight in row.fit.stop.tightest) == len(nodes)
    fewer = kwhatif.capacity(kwhatif.load(nodes[1:] or nodes), plain(cpu, memory)).capacity
    assert fewer is not None
    assert fewer.fit is not None
    assert fewer.fit.sets <= row.fit.sets  # a node more never makes it fewer
