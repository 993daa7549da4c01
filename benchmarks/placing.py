"""Many pods placed one after another: pods a second, beside what whole attempts would take, and how both grow."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from benchmarks.context import Context
from benchmarks.engine import ANTI_AFFINITY, SPREAD, pod
from benchmarks.rows import Row, at_least
from kwhatif.kube.model.pod_spec import TopologySpreadConstraint
from kwhatif.questions.session.session import Session
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.simulation.instant import InstantEngine
from kwhatif.state.change import Upsert
from kwhatif.state.pod_info import PodInfo

TITLE = "Many pods, one after another"

TARGETS = {"equal replicas": at_least(2_000), "preempting": at_least(300)}

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
    """What it took to place so many pods, in seconds of processor time."""

    pods: int
    seconds: float
    #: A whole attempt for one of them.
    attempt: float

    @property
    def per_second(self) -> float:
        """Pods placed in a second of processor time."""
        return self.pods / self.seconds


def _named(info: PodInfo, name: str) -> PodInfo:
    given = info.pod
    return PodInfo(replace(given, metadata=replace(given.metadata, name=name, uid=name)))


def _workloads(number: int) -> tuple[PodInfo, ...]:
    """Workloads as a set of manifests has them: every fifth spreads over zones, every tenth keeps hosts to itself."""
    made = []
    for index in range(number):
        extra: dict[str, Any] = {"topology_spread_constraints": (SPREAD,)} if index % 5 == 0 else {}
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
        attempt(profile, asked.templates[0], session.state)
        whole.append(time.process_time() - started)
    pods = asked.pods()
    started = time.process_time()
    engine = InstantEngine(session.state.fork(), session.profiles)
    for info in sorted(pods, key=lambda each: -each.priority):
        engine.api_server.state.apply(Upsert(info.pod))
        engine.carry_out(info, engine.attempt(info))
    seconds = time.process_time() - started
    return Pace(len(pods), seconds, min(whole))


def rows(context: Context) -> Iterator[Row]:
    """Pods a second, beside whole attempts, and beside the same on a cluster of a tenth of the size."""
    few, many = context.small, context.large
    before = {name: pace(context.session(few), asked) for name, asked in series(few.nodes).items()}
    for name, asked in series(many.nodes).items():
        found = pace(context.session(many), asked)
        what = f"{found.pods:,} pods: {name}"
        yield Row(what, found.per_second, "pods/s", "whole attempts", 1 / found.attempt, TARGETS.get(name))
        yield Row(f"{what}: growth", found.per_second, "pods/s", f"{few.nodes} nodes", before[name].per_second)
