"""Laws of preemption, over random small clusters and the default profile."""

from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.decisions.decide import preemption_row
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.preemption.candidate import Preemption
from kwhatif.scheduler.preemption.evaluator import Evaluator
from kwhatif.scheduler.preemption.policy import Policy
from kwhatif.scheduler.preemption.victims import SoleFilter
from kwhatif.state.state import State
from tests.builders import ZONE, PodBuilder, affinity_term, budget, node, pod, selector, snapshot
from tests.examples import examples
from tests.reference import preemption as plain

PROFILE = default_profile()
CPUS = ["0", "200m", "500m", "1", "1500m"]
APPS = ["web", "db"]
NAMESPACES = ["default", "shop"]


@dataclass
class World:
    objects: list[KubernetesObject]
    preemptor: PodBuilder

    def cycle(self, *gone: str) -> Cycle:
        """The preemptor's cycle after filtering, without the pods of these keys."""
        return cycle_of(self, State(cluster_without(self.objects, gone)))


def cluster_without(objects: list[KubernetesObject], gone: tuple[str, ...]) -> Cluster:
    return snapshot(*(obj for obj in objects if not isinstance(obj, Pod) or key_of(obj) not in gone)).cluster


def cycle_of(world: World, snap: State) -> Cycle:
    cycle = Cycle(PROFILE, world.preemptor.info(), snap)
    if cycle.pre_filter():
        cycle.filter_nodes()
    return cycle


def preempt(cycle: Cycle) -> Preemption:
    outcome = Evaluator(Policy()).preempt(cycle).outcome
    assert isinstance(outcome, Preemption)
    return outcome


@st.composite
def pods(draw: st.DrawFn, name: str, *, features: bool) -> PodBuilder:
    built = pod(name, draw(st.sampled_from(NAMESPACES))).cpu(draw(st.sampled_from(CPUS)))
    built.priority(draw(st.sampled_from([-10, 0, 0, 7])))
    if draw(st.booleans()):
        built.labels(app=draw(st.sampled_from(APPS)))
    if draw(st.booleans()):
        built.started(f"2026-01-01T00:0{draw(st.integers(0, 3))}:00Z")
    if features:
        decorate(draw, built)
    return built


def decorate(draw: st.DrawFn, built: PodBuilder) -> None:
    """Sometimes something that other filters than NodeResourcesFit look at."""
    match draw(st.integers(0, 9)):
        case 0 | 1:
            built.host_port(draw(st.sampled_from([80, 443])))
        case 2 | 3:
            key = draw(st.sampled_from([ZONE, "kubernetes.io/hostname"]))
            built.pod_anti_affinity(affinity_term(key, selector(app=draw(st.sampled_from(APPS)))))
        case 4:
            built.pod_affinity(affinity_term(ZONE, selector(app=draw(st.sampled_from(APPS)))))
        case 5 | 6:
            built.labels(app="web").spread(ZONE, selector(app="web"))
        case _:
            pass


@st.composite
def worlds(draw: st.DrawFn, *, features: bool = True) -> World:
    objects: list[Any] = []
    for index in range(draw(st.integers(1, 4))):
        name = f"n{index}"
        objects.append(node(name).allocatable(cpu="2", pods="6").zone(draw(st.sampled_from("ab"))).build())
        for number in range(draw(st.integers(0, 6))):
            built = draw(pods(f"{name}-{number}", features=features)).on(name)
            if draw(st.integers(0, 7)) == 0:
                built.terminating()
            objects.append(built.build())
    for number in range(draw(st.integers(0, 3))):
        labels = draw(st.sampled_from([{"app": "web"}, {"app": "db"}, {}]))
        disrupted = draw(st.lists(st.sampled_from(["n0-0", "n0-1", "n1-0"]), max_size=1))
        allowed, namespace = draw(st.integers(0, 2)), draw(st.sampled_from(NAMESPACES))
        objects.append(budget(f"b{number}", allowed, selector(**labels), namespace, disrupted))
    if features:
        for number in range(draw(st.integers(0, 2))):
            nominated = draw(pods(f"nominated-{number}", features=True)).nominated(draw(st.sampled_from(["n0", "n1"])))
            objects.append(nominated.build())
    preemptor = draw(pods("preemptor", features=features)).cpu(draw(st.sampled_from(["1", "1500m", "2"])))
    return World(objects, preemptor.priority(draw(st.sampled_from([0, 7, 20]))))


@given(worlds())
@settings(max_examples=examples(300))
def test_the_fast_way_equals_the_plain_one(world: World) -> None:
    cycle = world.cycle()
    expected = plain.preempt(cycle)
    outcome = preempt(cycle)
    found = {each.node: ([p.key for p in each.pods], each.pdb_violations) for each in outcome.candidates}
    assert found == expected.candidates
    rejected = {name: (verdict.status.code, verdict.status.reasons) for name, verdict in outcome.rejected.items()}
    assert rejected == expected.rejected
    assert set(outcome.ties) == expected.best


@given(worlds())
@settings(max_examples=examples(300))
def test_where_one_filter_decides_it_tells_what_trying_all_of_them_would(world: World) -> None:
    cycle = world.cycle()
    alone = preemption_row(preempt(cycle))
    with patch.object(SoleFilter, "on", return_value=None):
        assert preemption_row(preempt(cycle)) == alone


@given(worlds(features=False))
@settings(max_examples=examples(100))
def test_the_pod_fits_once_the_victims_are_gone(world: World) -> None:
    cycle = world.cycle()
    for candidate in preempt(cycle).candidates:
        after = world.cycle(*(victim.key for victim in candidate.pods))
        assert candidate.node in {info.name for info in after.feasible}


@given(worlds(features=False))
@settings(max_examples=examples(100))
def test_no_victim_can_be_put_back(world: World) -> None:
    cycle = world.cycle()
    for candidate in preempt(cycle).candidates:
        victims = [victim.key for victim in candidate.pods]
        for spared in victims:
            after = world.cycle(*(key for key in victims if key != spared))
            assert candidate.node not in {info.name for info in after.feasible}


@given(worlds(), st.randoms(use_true_random=False))
@settings(max_examples=examples(100))
def test_the_order_of_the_input_does_not_matter(world: World, random: Any) -> None:
    cycle = world.cycle()
    shuffled = list(world.objects)
    random.shuffle(shuffled)
    one, other = preempt(cycle), preempt(World(shuffled, world.preemptor).cycle())
    assert (one.message, one.node, one.ties) == (other.message, other.node, other.ties)
    assert [(each.node, [p.key for p in each.pods]) for each in one.candidates] == [
        (each.node, [p.key for p in each.pods]) for each in other.candidates
    ]


@given(worlds())
@settings(max_examples=examples(100))
def test_budgets_are_charged_for_the_victims_alone(world: World) -> None:
    cycle = world.cycle()
    for candidate in preempt(cycle).candidates:
        charged = [name for victim in candidate.victims for name in victim.budgets]
        assert {use.name: use.before - use.after for use in candidate.budgets} == {
            name: charged.count(name) for name in charged
        }
        assert candidate.pdb_violations == sum(bool(victim.violates) for victim in candidate.victims)
