"""The engine on a snapshot that is loaded: filter and score, preemption, and how both grow."""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.dump import Shape, write_json
from kwhatif.framework.attempt import Attempt, attempt
from kwhatif.model.meta import LabelSelector, ObjectMeta
from kwhatif.model.pod import (
    Affinity,
    Container,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    ResourceRequirements,
    TopologySpreadConstraint,
)
from kwhatif.snapshot.pod_info import PodInfo
from kwhatif.sources.dump import read_cluster
from kwhatif.whatif.session import Session

SELECTOR = LabelSelector(match_labels={"app": "app-1"})


def pod(cpu: str, **spec: object) -> PodInfo:
    """A candidate of high priority."""
    container = Container(name="main", resources=ResourceRequirements(requests={"cpu": cpu, "memory": "256Mi"}))
    meta = ObjectMeta(name="candidate", namespace="team-1", labels={"app": "app-1"}, uid="candidate")
    return PodInfo(Pod(metadata=meta, spec=PodSpec(containers=(container,), priority=1_000_000, **spec)))  # type: ignore[arg-type]


SPREAD = TopologySpreadConstraint(
    max_skew=5,
    topology_key="topology.kubernetes.io/zone",
    when_unsatisfiable="DoNotSchedule",
    label_selector=SELECTOR,
)
ANTI_AFFINITY = Affinity(
    pod_anti_affinity=PodAffinity(
        required=(PodAffinityTerm(label_selector=SELECTOR, topology_key="kubernetes.io/hostname"),)
    )
)

#: Name -> the pod that asks. The free CPU of a node is less than 2 cores, so these must evict.
QUESTIONS: dict[str, Callable[[], PodInfo]] = {
    "filter and score": lambda: pod("100m"),
    "preemption": lambda: pod("2"),
    "preemption, zone spread": lambda: pod("2", topology_spread_constraints=(SPREAD,)),
    "preemption, anti-affinity": lambda: pod("2", affinity=ANTI_AFFINITY),
}


def loaded(shape: Shape) -> Session:
    """A session on a generated dump."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dump.json"
        write_json(path, shape)
        session = Session(read_cluster([str(path)], stdin=sys.stdin.buffer).cluster)
    gc.collect()
    gc.freeze()
    return session


def seconds(session: Session, question: Callable[[], PodInfo], runs: int = 5) -> float:
    """The fastest of several attempts; the first one, which fills caches, does not count."""
    profile = session.profiles["default-scheduler"]

    def once() -> float:
        info = question()
        started = time.perf_counter()
        result: Attempt = attempt(profile, info, session.snapshot)
        took = time.perf_counter() - started
        assert result.scores or result.post_filter
        return took

    once()
    return min(once() for _ in range(runs))


def growth(sizes: tuple[int, ...] = (500, 5_000)) -> dict[str, list[float]]:
    """Seconds per question for each cluster size."""
    table: dict[str, list[float]] = {name: [] for name in QUESTIONS}
    for nodes in sizes:
        session = loaded(Shape(nodes=nodes, budgets=nodes * 4 // 5))
        for name, question in QUESTIONS.items():
            table[name].append(seconds(session, question))
    return table
