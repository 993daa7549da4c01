"""The law of watching: after any sequence of events the cluster, and all answers, are those of reading it anew."""

from collections import deque
from collections.abc import Iterable
from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings

import kwhatif
from kwhatif.questions.session.session import Session
from kwhatif.simulation.clock import start_of
from kwhatif.simulation.view import Owned
from kwhatif.sources.live.watches import WatchEvent
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.workloads.survey import survey_of
from tests.examples import examples
from tests.property.worlds import RANDOMS
from tests.valid_state import validate
from tests.watching import BY_NAME, CHANGING, Watched, World, read

POD = """
apiVersion: v1
kind: Pod
metadata: {name: new, namespace: x, labels: {app: web}}
spec:
  containers: [{name: main, image: "app:1", resources: {requests: {cpu: 700m}}}]
"""


MANIFEST = kwhatif.text(POD)


def _pods(pods: Iterable[PodInfo]) -> list[Any]:
    return [pod.pod for pod in pods]


def _node(info: NodeInfo) -> list[Any]:
    sums = (info.cpu, info.memory, info.ephemeral, info.scalars, info.nonzero_cpu, info.nonzero_memory)
    return [info.node, _pods(info.pods), sums, info.used_ports(), info.images, info.allocatable, info.allowed_pods]


def form(session: Session) -> dict[str, Any]:
    """All that a session knows, in order."""
    state, cluster = session.state, session.cluster
    kinds = sorted((kind for kind in cluster.counts()), key=lambda kind: kind.__name__)
    return {
        **{kind.__name__: list(cluster.all(kind).items()) for kind in kinds},
        "nodes": list(map(_node, state.nodes)),
        "live": [(key, pod.pod) for key, pod in state.pods.items()],
        "pending": [(key, pod.pod) for key, pod in state.pending.items()],
        "nominated": [(name, _pods(pods)) for name, pods in state.nominated.items()],
        "strays": [(name, _pods(pods)) for name, pods in state.strays.items()],
        "images": dict(state.images),
        "gone": cluster.gone_nodes,
        "unread": cluster.facts.unread,
        "events": dict(cluster.facts.scheduling_events),
        "caveats": session.caveats,
        "release": (cluster.facts.minor, cluster.facts.gates, cluster.facts.taken_at, session.age, session.namespace),
    }


def indexes(session: Session) -> list[Any]:
    """What is kept up to date with the objects, as data."""
    survey = survey_of(session.cluster)
    groups = [(place, each.in_order, each.restless, each.nodes, each.ready) for place, each in survey.groups()]
    owned = Owned(session.cluster)
    return [
        groups,
        survey.restless,
        survey.bare,
        survey.latest,
        survey.odd_times,
        start_of(session.cluster),
        {place: dict(keys) for place, keys in owned._others.items()},
        {name: sorted(keys) for name, keys in owned.pods_by_owner()},
        sorted(owned.bare_pods()),
        [node.is_huge for node in session.state.nodes],
        [node.generation for node in session.state.nodes] == list(session.state.node_generations),
    ]


def answers(session: Session) -> list[Any]:
    """Answers to some questions, as data."""
    manifest = MANIFEST
    reports = [
        kwhatif.schedule(session, manifest),
        kwhatif.preempt(session),
        kwhatif.pending(session),
        kwhatif.capacity(session, manifest, limit=5),
        kwhatif.advise(session, manifest),
    ]
    if session.state.nodes:
        reports.append(kwhatif.drain(session, *(node.name for node in session.state.nodes), each=True, jobs=1))
    return [msgspec.to_builtins(report) for report in reports]


def history(random: Random) -> tuple[World, Watched]:
    """A cluster to which something has happened, and how it was watched: each list by itself, some again and again."""
    world = World()
    for _ in range(random.randrange(20)):
        world.change(random)
    watched = Watched(world.all_listed())
    waiting: dict[str, deque[WatchEvent]] = {name: deque() for name in CHANGING}
    for _ in range(random.randrange(40)):
        match random.randrange(12):
            case 11:
                name = random.choice(CHANGING)
                waiting[name].clear()  # the watch has expired: what it would have said is in the list
                watched.take(world.listed(BY_NAME[name]))
            case 10:
                validate(watched.session.state)
                kwhatif.schedule(watched.session, MANIFEST)  # what it found is there for later moments
            case 7 | 8 | 9:
                name = random.choice(CHANGING)
                watched.take([waiting[name].popleft() for _ in range(len(waiting[name]))])
            case _:
                event = world.change(random)
                if event is not None:
                    waiting[event.asked.name].append(event)
    names = list(CHANGING)
    random.shuffle(names)
    for name in names:
        if random.randrange(2):
            watched.take(waiting[name])
        else:
            for event in waiting[name]:
                watched.take([event])
    return world, watched


@given(RANDOMS)
@settings(max_examples=examples(300))
def test_what_is_watched_is_what_would_be_read(random: Random) -> None:
    world, watched = history(random)
    session = watched.session
    validate(session.state)
    anew = read(world.all_listed())
    assert form(session) == form(anew)
    assert indexes(session) == indexes(anew)


def test_an_image_has_the_size_of_the_first_node_that_has_it_now() -> None:
    def node(name: str, *sizes: int) -> WatchEvent:
        images = [{"names": ["app:1"], "sizeBytes": size} for size in sizes]
        return world.put("Node", {"metadata": {"name": name}, "status": {"images": images}})

    world = World()
    node("a", 100)
    node("b", 200)
    watched = Watched(world.all_listed())
    assert watched.session.state.images["app:1"].size == 100
    watched.take([node("a")])
    assert watched.session.state.images["app:1"].size == 200


@given(RANDOMS)
@settings(max_examples=examples(60))
def test_answers_are_those_of_reading_it_anew(random: Random) -> None:
    world, watched = history(random)
    assert answers(watched.session) == answers(read(world.all_listed()))


@given(RANDOMS)
@settings(max_examples=examples(60))
def test_a_moment_stays_as_it_is(random: Random) -> None:
    world, watched = history(random)
    session = watched.session
    before = form(session)
    for _ in range(10):
        event = world.change(random)
        watched.take([] if event is None else [event])
    assert form(watched.session) == form(read(world.all_listed()))
    assert form(session) == before
