"""Many pods placed one after another: pods a second, beside what whole attempts would take, and how both grow."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from benchmarks.dump import Shape
from benchmarks.engine import ANTI_AFFINITY, SPREAD, loaded, pod
from kwhatif.framework.attempt import attempt
from kwhatif.model.pod import TopologySpreadConstraint
from kwhatif.snapshot.pod_info import PodInfo
from kwhatif.whatif.placing import Placer
from kwhatif.whatif.session import Session

#: So many whole attempts are made for comparison.
ATTEMPTS = 5

SOFT_SPREAD: TopologySpreadConstraint = replace(SPREAD, max_skew=1, when_unsatisfiable="ScheduleAnyway")


class Series(NamedTuple):
    """So many replicas of each pod, in a row."""

    replicas: int
    templates: tuple[PodInfo, ...]

    def pods(self) -> list[PodInfo]:
        """All replicas."""
        return [_named(pod, f"{pod.name}-{number}") for pod in self.templates for number in range(self.replicas)]


class Pace(NamedTuple):
    """What it took to place so many pods; seconds are of processor time, `wall` of the clock."""

    pods: int
    seconds: float
    wall: float
    #: A whole attempt for one of them.
    attempt: float
    #: How many of them evict others.
    preempting: int

    @property
    def per_second(self) -> float:
        """Pods placed in a second of processor time."""
        return self.pods / self.seconds

    @property
    def gain(self) -> float:
        """How many times as long whole attempts take."""
        return self.pods * self.attempt / self.seconds


def _named(info: PodInfo, name: str) -> PodInfo:
    given = info.pod
    return PodInfo(replace(given, metadata=replace(given.metadata, name=name, uid=name)))


def _workloads(number: int) -> tuple[PodInfo, ...]:
    """Workloads as a set of manifests has them: every fifth spreads over zones, every tenth keeps hosts to itself."""
    made = []
    for index in range(number):
        extra = {"topology_spread_constraints": (SPREAD,)} if index % 5 == 0 else {}
        extra |= {"affinity": ANTI_AFFINITY} if index % 10 == 3 else {}
        made.append(_named(pod(f"{100 + index % 7 * 10}m", **extra), f"workload-{index}"))
    return tuple(made)


def series(nodes: int) -> Mapping[str, Series]:
    """Name -> the pods to place on a cluster of so many nodes, whose dump has 300 milli-CPU free on each."""
    few, many = nodes // 2, nodes * 2
    return {
        "equal replicas": Series(many, (pod("100m"),)),
        "equal replicas, zone spread": Series(many, (pod("100m", topology_spread_constraints=(SPREAD,)),)),
        "equal replicas, soft zone spread": Series(many, (pod("100m", topology_spread_constraints=(SOFT_SPREAD,)),)),
        "equal replicas, anti-affinity": Series(few, (pod("100m", affinity=ANTI_AFFINITY),)),
        "preempting": Series(nodes, (pod("2"),)),
        "preempting, zone spread": Series(nodes, (pod("2", topology_spread_constraints=(SPREAD,)),)),
        "preempting, anti-affinity": Series(few, (pod("2", affinity=ANTI_AFFINITY),)),
        "50 workloads of 10": Series(10, _workloads(50)),
    }


def pace(session: Session, asked: Series) -> Pace:
    """Place the pods on a fork of the session's snapshot; what the fork takes counts, too."""
    profile = session.profiles["default-scheduler"]
    whole = []
    for _ in range(ATTEMPTS + 1):  # the first one fills caches
        started = time.process_time()
        attempt(profile, asked.templates[0], session.snapshot)
        whole.append(time.process_time() - started)
    pods = asked.pods()
    started, clock = time.process_time(), time.perf_counter()
    placer = Placer(session.profiles, session.snapshot.fork())
    outcomes = [placement.outcome for placement in placer.place_all(pods)]
    seconds, wall = time.process_time() - started, time.perf_counter() - clock
    return Pace(len(pods), seconds, wall, min(whole), outcomes.count("Preempts"))


def growth(sizes: tuple[int, ...] = (500, 5_000)) -> dict[str, list[Pace]]:
    """The pace of every series on each cluster size."""
    table: dict[str, list[Pace]] = {}
    for nodes in sizes:
        session = loaded(Shape(nodes=nodes, budgets=nodes * 4 // 5))
        for name, asked in series(nodes).items():
            table.setdefault(name, []).append(pace(session, asked))
    return table
