"""Laws that hold for every decision, over the conformance corpus and over random clusters."""

import random
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.kube.model.cluster import Cluster
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.scoring import score_nodes
from tests import FIXTURES
from tests.asking import each_alone, stored_pods
from tests.builders import node, pod, snapshot
from tests.examples import examples

ROOT = FIXTURES / "conformance"
#: Every ninth case is enough: a law that is broken is broken almost everywhere.
CASES = sorted(path.parent for path in ROOT.glob("*/*/expected.json"))[::9]


def case_id(case: Path) -> str:
    return f"{case.parent.name}/{case.name}"


def load(case: Path) -> Session:
    config = case / "config.yaml"
    return kwhatif.load(case / "cluster.yaml", scheduler_config=config if config.exists() else None)


def shuffled(cluster: Cluster, seed: int) -> Cluster:
    objects = [obj for kind in cluster.counts() for obj in cluster.all(kind).values()]
    random.Random(seed).shuffle(objects)
    made = Cluster(objects)
    made.sort()
    return made


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_order_of_the_input_never_changes_a_decision(case: Path) -> None:
    session = load(case)
    pods = stored_pods(session, case / "pod.yaml")
    again = Session.of(shuffled(session.cluster, seed=7), profiles=session.profiles)
    assert each_alone(session, pods).decisions == each_alone(again, pods).decisions


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_asking_changes_nothing(case: Path) -> None:
    session = load(case)
    pods = stored_pods(session, case / "pod.yaml")
    assert each_alone(session, pods) == each_alone(session, pods)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_a_report_survives_json(case: Path) -> None:
    report = kwhatif.schedule(load(case), case / "pod.yaml")
    assert msgspec.json.decode(report.to_json(), type=Report) == report


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_every_node_has_exactly_one_row_and_every_score_is_in_its_range(case: Path) -> None:
    session = load(case)
    (decision,) = kwhatif.schedule(session, case / "pod.yaml", admission=False).decisions
    if decision.outcome == "Gated":
        return
    rows = [row.node for row in decision.feasible] + [row.node for row in decision.rejected]
    assert sorted(rows) == sorted(session.state.by_name)
    weights = session.profiles[decision.scheduler_name].weights
    for row in decision.feasible:
        assert row.score == sum(row.scores.values())
        for plugin, score in row.scores.items():
            assert 0 <= score <= 100 * weights[plugin]


amounts = st.sampled_from(["0", "100m", "500m", "1", "1500m", "2", "4"])


@given(st.lists(st.tuples(amounts, st.lists(amounts, max_size=3)), min_size=1, max_size=5), amounts)
@settings(max_examples=examples(60))
def test_more_allocatable_never_turns_a_yes_into_a_no(nodes: list[tuple[str, list[str]]], wanted: str) -> None:
    def feasible(extra: int) -> set[str]:
        objects: list[object] = []
        for number, (cpu, pods) in enumerate(nodes):
            name = f"n{number}"
            total = int(float(cpu.rstrip("m")) * (1 if cpu.endswith("m") else 1000)) + extra
            objects.append(node(name).allocatable(cpu=f"{total}m", memory="8Gi", pods="10"))
            objects.extend(pod(f"p{number}-{i}").cpu(amount).on(name) for i, amount in enumerate(pods))
        cycle = Cycle(default_profile(), pod("candidate").cpu(wanted).info(), snapshot(*objects))  # type: ignore[arg-type]
        assert cycle.pre_filter()
        cycle.filter_nodes()
        return {info.name for info in cycle.feasible}

    assert feasible(0) <= feasible(700)


@given(st.lists(amounts, min_size=2, max_size=6), st.sampled_from(["100m", "1"]))
@settings(max_examples=examples(40))
def test_the_chosen_node_is_the_lowest_name_of_the_best(free: list[str], wanted: str) -> None:
    made = snapshot(
        *(node(f"n{number}").allocatable(cpu=cpu, memory="8Gi", pods="10") for number, cpu in enumerate(free))
    )
    result = attempt(default_profile(), pod("candidate").cpu(wanted).info(), made)
    if result.scores is None:
        return
    again = score_nodes(result.cycle)
    assert again.best() == result.scores.best() == sorted(again.best())
    highest = max(again.total)
    assert {info.name for info, total in zip(again.nodes, again.total, strict=True) if total == highest} == set(
        again.best()
    )
