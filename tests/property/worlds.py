"""Random worlds: clusters, and pods to be placed there.

All is made from random numbers that Hypothesis chooses, and makes as small as it can where a law is broken: zeros make
the simplest world.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.pod_spec import PodAffinityTerm
from kwhatif.kube.model.policy import PriorityClass
from kwhatif.state.pod_info import PodInfo
from tests.builders import (
    HOSTNAME,
    ZONE,
    PodBuilder,
    affinity_term,
    budget,
    cluster,
    node,
    pod,
    requirement,
    selector,
    service,
    term,
)

RANDOMS = st.randoms(use_true_random=False)
RACK = "rack"
APPS = ["web", "db"]


class World(NamedTuple):
    cluster: Cluster
    pods: list[PodInfo]

    def __repr__(self) -> str:
        """For people who read a failing example: its objects as JSON."""
        kinds = [self.cluster.all(kind).values() for kind in self.cluster.counts() if kind is not PriorityClass]
        there = [line(obj) for objects in kinds for obj in objects]
        return "\n".join(["World:", *there, "to be placed:", *(line(info.pod) for info in self.pods)])


def line(obj: KubernetesObject) -> str:
    return msgspec.json.encode(obj).decode()


def one_in(random: Random, number: int) -> bool:
    """True that often, and not of zero."""
    return random.randrange(number) == number - 1


def some_selector(random: Random) -> LabelSelector | None:
    if one_in(random, 8):
        return random.choice([None, selector(), selector(requirement("app", "NotIn", "db"))])
    return selector(app=random.choice(APPS))


def some_term(random: Random) -> PodAffinityTerm:
    return affinity_term(random.choice([HOSTNAME, HOSTNAME, ZONE, RACK]), some_selector(random))


def decorate(random: Random, built: PodBuilder, rarity: int) -> PodBuilder:
    """Now and then something that a filter or a scorer looks at."""
    if one_in(random, rarity):
        built.pod_anti_affinity(some_term(random))
    if one_in(random, rarity * 2):
        built.pod_affinity(some_term(random))
    if one_in(random, rarity):
        built.prefer_pods(random.randint(1, 100), some_term(random))
    if one_in(random, rarity):
        built.prefer_not_pods(random.randint(1, 100), some_term(random))
    if one_in(random, rarity * 2):
        built.host_port(random.choice([80, 443]))
    return built


def running(random: Random, name: str) -> PodBuilder:
    built = pod(name, random.choice(["default", "default", "shop"])).cpu(random.choice(["0", "300m", "500m", "1"]))
    built.labels(app=random.choice(APPS)).priority(random.choice([0, 0, 0, -5, 5]))
    if one_in(random, 2):
        built.started(f"2026-01-01T00:0{random.randrange(4)}:00Z")
    if one_in(random, 10):
        built.terminating()
    if one_in(random, 2):
        built.labels(tier=random.choice("ab"))
    return decorate(random, built, 10)


def some_names(random: Random) -> list[str]:
    """The names of nodes."""
    return [f"n{index}" for index in range(random.choice([1, 2, 3, 4, 9, 10]))]


def some_nodes(random: Random, names: Sequence[str], most: int) -> Iterator[Any]:
    """The nodes with what runs there. Nothing is made after them: it would be another one where they get fewer."""
    for name in names:
        built = node(name).allocatable(cpu=random.choice(["2", "2", "4"]), pods="8")
        built.zone(random.choice("abc")).labels({RACK: random.choice([name, name, "x"])})
        if one_in(random, 6):
            built.without_label(random.choice([HOSTNAME, ZONE, RACK]))
        if one_in(random, 4):
            built.taint("soft", effect="PreferNoSchedule")
        if one_in(random, 6):
            built.taint("hard")
        if one_in(random, 3):
            built.labels(disk="ssd")
        if one_in(random, 3):
            built.image(500 * 1024 * 1024, "app:1")
        yield built.build()
        # Most nodes have many pods, but the simplest has none.
        for number in range(max(random.randrange(most) for _ in range(4))):
            yield running(random, f"{name}-{number}").on(name).build()


def surroundings(random: Random, names: Sequence[str]) -> list[Any]:
    objects: list[Any] = []
    for number in range(random.randrange(4)):
        labels = random.choice([{"app": "web"}, {"app": "db"}, {"tier": "a"}, {}])
        disrupted = [random.choice(["n0-0", "n1-1"])] if one_in(random, 4) else []
        namespace = random.choice(["default", "default", "shop"])
        objects.append(budget(f"b{number}", random.randrange(6), selector(**labels), namespace, disrupted))
    if one_in(random, 2):
        objects.append(service("web", {"app": "web"}))
    for number in range(random.choice([0, 0, 1, 2])):
        nominated = running(random, f"nominated-{number}").nominated(random.choice(names))
        objects.append(nominated.priority(random.choice([0, 5, 10])).build())
    return objects


def workload(random: Random, name: str, priority: int) -> list[PodBuilder]:
    """Replicas of one workload; they differ in their names alone."""
    first = replica(random, name, priority)
    return [first.named(f"{name}-{number}") for number in range(random.choice([1, 2, 3, 5, 7, 14]))]


def replica(random: Random, name: str, priority: int) -> PodBuilder:
    built = pod(name).cpu(random.choice(["0", "300m", "500m", "1", "1500m"])).labels(app=random.choice(APPS))
    built.priority(priority).image("app:1")
    return built if one_in(random, 3) else demanding(random, built)


def demanding(random: Random, built: PodBuilder) -> PodBuilder:
    decorate(random, built, 4)
    if one_in(random, 3):
        key = random.choice([HOSTNAME, ZONE, ZONE, RACK])
        built.spread(key, some_selector(random), random.randint(1, 2), min_domains=random.choice([None, None, 2]))
    if one_in(random, 3):
        key = random.choice([HOSTNAME, ZONE, RACK])
        built.spread(key, some_selector(random), random.randint(1, 3), soft=True)
    if one_in(random, 3):
        built.prefer_nodes(random.randint(1, 50), term(requirement("disk", "In", "ssd")))
    if one_in(random, 5):
        built.node_selector(disk="ssd")
    if one_in(random, 4):
        built.toleration("hard", "Exists")
    if one_in(random, 12):
        built.spec(preemption_policy="Never")
    if one_in(random, 12):
        built.claim("data")
    if one_in(random, 20):
        built.gates("later")
    return built


@st.composite
def worlds(draw: st.DrawFn) -> World:
    random = draw(RANDOMS)
    names, is_full = some_names(random), one_in(random, 2)
    priorities = [random.choice([10, 20]) if is_full else random.choice([0, 10, 20]) for _ in range(2)]
    pods = [built for index, priority in enumerate(priorities) for built in workload(random, f"w{index}", priority)]
    if one_in(random, 6):
        pods.append(pod("nominated-0").cpu("500m").nominated(random.choice(names)))
    if one_in(random, 6):
        pods.append(pod("n0-0").cpu("500m"))
    objects = [*surroundings(random, names), *some_nodes(random, names, 12 if is_full else 4)]
    return World(cluster(*objects), [built.info() for built in pods])
