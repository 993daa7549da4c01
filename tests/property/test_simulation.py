"""Laws of the simulation, on random small clusters with Deployments, budgets, drains, taints and preemptions."""

from __future__ import annotations

import io
import random
from collections import Counter
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.controllers.catalog import all_controllers
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Question
from kwhatif.scheduler.framework.reference import use_reference
from kwhatif.simulation.clock import Clock, start_of
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.parameters import Chance, Parameters
from kwhatif.sources.manifests.applied import all_applied
from kwhatif.sources.manifests.read import read_manifest_set
from tests.examples import examples
from tests.valid_state import validate

MANY = settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
Json = dict[str, Any]
#: What each event is allowed to come from: nothing.
FROM_OUTSIDE = ("user",)


def node(name: str, cpu: int) -> Json:
    resources = {"cpu": str(cpu), "memory": "32Gi", "pods": "20"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"node-{name}", "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def deployment(name: str, replicas: int, cpu: int, priority: str, grace: int) -> Json:
    labels = {"app": name}
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": str(cpu)}}}
    spec = {"containers": [container], "priorityClassName": priority, "terminationGracePeriodSeconds": grace}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def budget(name: str, least: int) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": name}}},
        "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
    }


CLASSES = [
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
    for name, value in (("low", 1), ("mid", 10), ("high", 100))
]
NAMES = ("a", "b", "c")
STEPS = (
    "cordon {node}",
    "uncordon {node}",
    "drain {node} --timeout=20s",
    "scale deploy/{app}={count}",
    "delete node/{node}",
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Json], list[Json], list[str]]:
    """Objects of the cluster, what is applied, and what is done then."""
    nodes = [node(name, draw(st.integers(2, 5))) for name in NAMES]
    budgets = [budget(app, draw(st.integers(0, 2))) for app in ("x", "y") if draw(st.booleans())]
    applied = [
        deployment(
            app,
            draw(st.integers(1, 4)),
            draw(st.integers(1, 2)),
            draw(st.sampled_from(("low", "mid", "high"))),
            draw(st.sampled_from((0, 3, 30))),
        )
        for app in ("x", "y", "z")
    ]
    step = st.builds(
        lambda text, where, app, count: text.format(node=where, app=app, count=count),
        st.sampled_from(STEPS[:4]),
        st.sampled_from(NAMES),
        st.sampled_from(("x", "y", "z")),
        st.integers(0, 5),
    )
    return [*CLASSES, *nodes, *budgets], applied, draw(st.lists(step, max_size=3))


def story(cluster: list[Json], applied: list[Json], steps: list[str]) -> Any:
    try:
        report = kwhatif.simulate(kwhatif.load(cluster), applied, then=steps)
    except kwhatif.InputError:  # such as cordon of what is cordoned
        report = kwhatif.simulate(kwhatif.load(cluster), applied)
    assert report.story is not None
    return report.story


@MANY
@given(worlds())
def test_every_event_has_a_cause_that_came_before(world: tuple[list[Json], list[Json], list[str]]) -> None:
    said = story(*world)
    at = -1.0
    for number, event in enumerate(said.events):
        assert event.id == number
        assert event.at >= at
        at = event.at
        if event.because is None:
            assert event.actor in FROM_OUTSIDE or event.actor.startswith("kubectl"), event
        else:
            assert event.because < event.id


@MANY
@given(worlds())
def test_the_events_replayed_give_the_end(world: tuple[list[Json], list[Json], list[str]]) -> None:
    said = story(*world)
    where: dict[str, str | None] = {}
    for event in said.events:
        kind, _, key = event.object.partition(" ")
        if kind != "Pod":
            continue
        if event.verb == "created":
            assert key not in where
            where[key] = None
        elif event.verb == "bound":
            assert where[key] is None
            where[key] = event.node
        elif event.verb in ("deleted", "evicted", "preempted", "collected", "removed"):
            where.pop(key, None)
    nodes: dict[str, int] = {}
    for row in said.workloads:
        for name, count in row.after.items():
            nodes[name] = nodes.get(name, 0) + count
    replayed = [name for name in where.values() if name is not None]
    assert nodes == {name: replayed.count(name) for name in set(replayed)}
    assert sorted(row.pod for row in said.pending) == sorted(key for key, name in where.items() if name is None)


@MANY
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(
    world: tuple[list[Json], list[Json], list[str]], dice: random.Random
) -> None:
    cluster, applied, steps = world
    shuffled = cluster.copy()
    dice.shuffle(shuffled)
    assert story(shuffled, applied, steps) == story(cluster, applied, steps)


@MANY
@given(worlds())
def test_fast_paths_change_nothing(world: tuple[list[Json], list[Json], list[str]]) -> None:
    fast = story(*world)
    use_reference(on=True)
    try:
        assert story(*world) == fast
    finally:
        use_reference(on=False)


@MANY
@given(worlds(), st.integers(0, 9))
def test_whatever_the_choices_a_run_is_a_story_like_others(
    world: tuple[list[Json], list[Json], list[str]], seed: int
) -> None:
    cluster, applied, _ = world
    session = kwhatif.load([*cluster, *applied])
    state = session.state.fork()
    clock, chance = Clock(start_of(state.cluster)), Chance(str(seed))
    engine = Engine(state, session.profiles, all_controllers(), clock, Parameters(), chance)
    engine.begin()
    validate(state)
    ends = [event.at for event in engine.api_server.history.events]
    assert ends == sorted(ends)
    again = kwhatif.simulate(kwhatif.load(cluster), applied, runs=2, seed=seed)
    assert again.story is not None
    assert again.story.runs == kwhatif.simulate(kwhatif.load(cluster), applied, runs=2, seed=seed).story.runs  # type: ignore[union-attr]


@MANY
@given(worlds())
def test_settled_means_that_nobody_has_anything_to_do(world: tuple[list[Json], list[Json], list[str]]) -> None:
    cluster, applied, _ = world
    session = kwhatif.load([*cluster, *applied])
    state = session.state.fork()
    engine = Engine(state, session.profiles, all_controllers(), Clock(start_of(state.cluster)), Parameters())
    engine.begin()
    if engine.cycle is not None:
        return
    before = len(engine.api_server.history.events)
    engine.reactions.start()
    engine.wait(30)
    # Pods that have waited for five minutes are tried again, in vain.
    assert {event.verb for event in engine.api_server.history.events[before:]} <= {"unschedulable"}
    validate(state)
    # And whoever takes the end for a start finds nothing to do, but for pods that were tried in vain.
    again = Engine(state.fork(), session.profiles, all_controllers(), Clock(engine.clock.nanoseconds), Parameters())
    again.begin()
    assert {event.verb for event in again.api_server.history.events} <= {"unschedulable"}
    assert msgspec.json.encode(list(again.api_server.state.cluster.all(Pod))) == msgspec.json.encode(
        list(state.cluster.all(Pod))
    )


@MANY
@given(worlds())
def test_schedule_places_pods_where_simulate_does(world: tuple[list[Json], list[Json], list[str]]) -> None:
    """One engine answers both: at once, and over time. All pods are new, so nothing is evicted: the first come first."""
    cluster, applied, _ = world
    decisions = kwhatif.schedule(kwhatif.load(cluster), applied).decisions
    said = story(cluster, applied, [])
    bound = [(event.ref.name[0], event.node) for event in said.events if event.verb == "bound"]
    pending = [(row.pod.partition("/")[2][0], None) for row in said.pending]
    at_once = [(each.pod.partition("/")[2][0], each.node) for each in decisions]
    assert Counter(at_once) == Counter([*bound, *pending])


def bare(name: str, cpu: int, where: str, priority: int, grace: int) -> Json:
    """A running pod that does not come back."""
    moment = "2026-01-01T00:00:00Z"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"pod-{name}", "creationTimestamp": moment},
        "spec": {
            "nodeName": where,
            "priority": priority,
            "terminationGracePeriodSeconds": grace,
            "containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": str(cpu)}}}],
        },
        "status": {"phase": "Running", "startTime": moment, "conditions": [{"type": "Ready", "status": "True"}]},
    }


@MANY
@given(worlds(), st.data())
def test_the_gate_ends_where_simulate_does(
    world: tuple[list[Json], list[Json], list[str]], data: st.DataObject
) -> None:
    """Also where new pods evict others, once all have reacted. (Budgets are left out: `simulate` counts them first.)"""
    cluster, applied = [each for each in world[0] if each["kind"] != "PodDisruptionBudget"], world[1]
    for name, free in [(each["metadata"]["name"], each["status"]) for each in cluster if each["kind"] == "Node"]:
        for number in range(data.draw(st.integers(0, int(free["allocatable"]["cpu"])))):
            priority, grace = data.draw(st.sampled_from((0, 1, 10))), data.draw(st.sampled_from((0, 3, 30)))
            cluster.append(bare(f"old-{name}{number}", 1, name, priority, grace))
    text = io.BytesIO(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": applied}))
    manifests = all_applied(read_manifest_set(["-"], stdin=text, default_namespace="default").manifests)
    answer = judge(kwhatif.load(cluster), Question(applied=manifests, reacts=True))
    ends: Counter[tuple[str, str | None]] = Counter()
    for row in story(cluster, applied, []).workloads:
        if row.workload.startswith("Deployment "):
            ends.update({(row.workload[-1], node): count for node, count in row.after.items()})
            ends.update({(row.workload[-1], None): row.pending} if row.pending else {})
    pods = {key.partition("/")[2]: info.pod.spec.node_name or None for key, info in answer.end.pods.items()}
    found = Counter((name[0], node) for name, node in pods.items() if not name.startswith("old-"))
    decisions = [decision for judged in answer.judged for decision in judged.decisions]
    if not answer.reacted and any(each.victims for each in decisions):  # one evicts, and is on its node at once
        found, ends = (Counter((name, node is not None) for name, node in each.elements()) for each in (found, ends))  # type: ignore[assignment]
    assert found == ends
