"""The engine on a snapshot that is loaded: filter and score, preemption, and how both grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count

from msgspec.structs import replace

from benchmarks.context import Context
from benchmarks.rows import Row, at_most, times
from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.pod import Pod, PodMeta, PodSpec
from kwhatif.kube.model.pod_spec import (
    Affinity,
    Container,
    PodAffinity,
    PodAffinityTerm,
    ResourceRequirements,
    TopologySpreadConstraint,
)
from kwhatif.questions.session.session import Session
from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.state.pod_info import PodInfo

TITLE = "The engine, on a snapshot that is loaded"

SELECTOR = LabelSelector(match_labels={"app": "app-1"})


def pod(cpu: str, **spec: object) -> PodInfo:
    """A candidate of high priority."""
    container = Container(name="main", resources=ResourceRequirements(requests={"cpu": cpu, "memory": "256Mi"}))
    meta = PodMeta(name="candidate", namespace="team-1", labels={"app": "app-1"}, uid="candidate")
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


#: Milliseconds that a question may take.
LIMITS = {
    "filter and score": 60,
    "preemption": 800,
    "preemption, zone spread": 2500,
    "preemption, anti-affinity": 2500,
}
_PRIORITIES = count(1_000_000)
#: A multiple of linear growth that caches and luck explain; quadratic would be 10.
GROWTH = 2


def seconds(session: Session, question: Callable[[], PodInfo], runs: int = 5) -> float:
    """The fastest of several attempts; the first one, which fills caches, does not count.

    Each pod has a priority of its own: nodes keep what was found out for pods of one priority.
    """
    profile = session.profiles["default-scheduler"]

    def once() -> float:
        asked = question().pod
        info = PodInfo(replace(asked, spec=replace(asked.spec, priority=next(_PRIORITIES))))
        started = time.process_time()
        result: Attempt = attempt(profile, info, session.state)
        took = time.process_time() - started
        assert result.scores or result.post_filter
        return took

    once()
    return min(once() for _ in range(runs))


def rows(context: Context) -> Iterator[Row]:
    """Every question on the large cluster, and against the small one."""
    for name, question in QUESTIONS.items():
        small, large = (seconds(context.session(shape), question) for shape in (context.small, context.large))
        nodes = f"{context.large.nodes:,} nodes"
        yield Row(f"{name}, {nodes}", large * 1e3, "ms", target=at_most(LIMITS[name]))
        yield _growth(name, context, small, large)


def _growth(name: str, context: Context, small: float, large: float) -> Row:
    scale = context.large.nodes / context.small.nodes
    against = f"{scale:.0f} times {context.small.nodes} nodes"
    return Row(f"{name}: growth", large * 1e3, "ms", against, small * scale * 1e3, times(GROWTH))
