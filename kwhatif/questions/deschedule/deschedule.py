"""`kwhatif deschedule`: which pods a descheduler evicts, what stops it, and where the replacements land."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import asdict, replace

from kwhatif.descheduler.attempt import DeschedulingCycle, EvictionAttempt, WantedRow
from kwhatif.descheduler.build import RunnablePolicy
from kwhatif.descheduler.cycle import run_cycle
from kwhatif.descheduler.policy import LowNodeUtilizationArgs
from kwhatif.descheduler.sandbox import Sandbox
from kwhatif.descheduler.validate import KUBERNETES_METRICS, PROMETHEUS
from kwhatif.kube.matching.requests import CPU, MEMORY, PODS
from kwhatif.kube.model.bystanders import NodeMetrics
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import EvictionOrder, NoMetrics, PrometheusNotAsked
from kwhatif.kube.model.cluster import identity
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.deschedule.replacements import Replacements, fingerprint
from kwhatif.questions.rows import owner_and_workload
from kwhatif.questions.session.admission_hooks import admission_not_asked, new_pods
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.rows import story_of
from kwhatif.questions.story.settled_cluster import SettledCluster
from kwhatif.report import Report
from kwhatif.report.deciders import (
    Course,
    DescheduleRow,
    EvictedRow,
    EvictionRefusedRow,
    NodeUseRow,
    ReplacementRow,
    RoundRow,
)
from kwhatif.report.story import Story
from kwhatif.simulation.parameters import HOUR, Parameters
from kwhatif.state.state import State

#: The time between cycles, as in the descheduler's manifests.
INTERVAL = 5 * 60


class Round(msgspec.Struct, frozen=True):
    """One cycle: the pods that it evicted, and their replacements."""

    cycle: DeschedulingCycle
    evicted: Sequence[Pod]
    landed: Sequence[ReplacementRow]
    #: When all replacements have a node.
    state: State
    #: Other pods that have no node then: they had one before, or did not exist.
    displaced: Sequence[str]
    caveats: Sequence[Caveat]
    #: None where nothing was evicted.
    story: Story | None = None

    def row(self, number: int) -> RoundRow:
        """Its counts; `number`: which cycle it is."""
        landings = [row.landing for row in self.landed]
        return RoundRow(
            round=number,
            evicted=len(self.evicted),
            refused=len(self.cycle.attempts) - len(self.evicted),
            same_node=landings.count("SameNode"),
            elsewhere=landings.count("Elsewhere"),
            preempting=landings.count("Preempts"),
            pending=landings.count("Pending"),
            not_replaced=landings.count("None"),
        )


class Rounds:
    """A limited number of cycles; after each the simulation goes on, so that replacements land."""

    def __init__(self, session: Session, policy: RunnablePolicy, most: int) -> None:
        self._session = session
        self._policy = policy
        self._most = most
        self._played: Replacements | None = None
        #: Whether to make the story of the first cycle, which the report shows.
        self._is_told = False

    def play(self, state: State, moment: int) -> Round:
        """Run one cycle on a state, at a moment, and simulate what follows."""
        cycle = run_cycle(self._policy, Sandbox(state, moment))
        pods = state.cluster.all(Pod)
        evicted = [pods[attempt.pod] for attempt in cycle.attempts if attempt.by is None]
        if not evicted:
            return Round(cycle, (), (), state, (), ())
        if self._played is None:
            parameters = Parameters(horizon=(self._most + 1) * HOUR)
            self._played = Replacements(SettledCluster(self._session, parameters, start=moment))
        played = self._played
        landed = played.land(evicted)
        own = {row.pod for row in landed}
        displaced = tuple(key for key in played.pending if key not in own)
        story = None if self._is_told else story_of(played.ending, (), played.base.asked)
        self._is_told = True
        return Round(cycle, evicted, landed, played.state, displaced, played.caveats(), story)

    def go_on(self) -> tuple[State, int]:
        """The state and the moment at which the next cycle begins."""
        assert self._played is not None, "nothing was evicted"
        self._played.wait(INTERVAL)
        return self._played.state, self._played.engine.clock.nanoseconds

    @property
    def is_endless(self) -> bool:
        """Whether what follows the evictions never settles."""
        return self._played is not None and self._played.engine.cycle is not None and not self.is_over

    @property
    def is_over(self) -> bool:
        """Whether the simulation has given up, or had not settled before the first eviction."""
        return self._played is not None and (self._played.engine.is_over_horizon or self._played.base.was_endless)


_SHOWN = (CPU, MEMORY, PODS)


class DescheduleQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The policy, and the time of the first cycle."""

    policy: RunnablePolicy
    #: How the report calls it: its file, or `strategy NAME`.
    name: str
    #: The moment that ages count to, RFC 3339.
    at: str
    #: How many cycles to run, unless one evicts nothing, or they never end.
    rounds: int = 5
    caveats: Sequence[Caveat] = ()


def ask_deschedule(session: Session, question: DescheduleQuestion) -> Report:
    """Run the cycles, and report the first of them with what became of all."""
    first, rounds, course = _run(session, question)
    row = DescheduleRow(
        policy=question.name,
        at=question.at,
        skipped=first.cycle.skipped or None,
        evicted=tuple(_evicted(first)),
        refused=tuple(_refused(first.cycle, session.state)),
        spared=first.cycle.spared,
        plugins=first.cycle.plugins,
        node_classes=first.cycle.classes,
        nodes=tuple(_uses(session.state, first)),
        displaced=tuple(first.displaced),
        rounds=rounds,
        course=course,
        story=first.story,
    )
    said = (*session.caveats, *question.caveats, *_caveats(session, question, first), *session.remarks())
    return replace(session.report("deschedule", (), dict.fromkeys(said)), deschedule=row)


def _run(session: Session, question: DescheduleQuestion) -> tuple[Round, tuple[RoundRow, ...], Course]:
    """The first cycle, a row for each cycle, and how they end.

    They never end if a cycle starts from the same placement as an earlier one, and evicts replacements.
    The first one sees the cluster as it is, later ones what the simulation has made of it.
    """
    played = Rounds(session, question.policy, question.rounds)
    state, moment, first = session.state, parse_time(question.at), None
    initial = {identity(pod) for pod in session.state.cluster.all(Pod).values()}
    rows: list[RoundRow] = []
    begun: set[object] = set()
    while True:
        mark = fingerprint(state)
        found = played.play(state, moment)
        first = first or found
        rows.append(found.row(len(rows) + 1))
        if not found.evicted:
            return first, tuple(rows), "Settles"
        is_repeated = any(identity(pod) not in initial for pod in found.evicted)
        if played.is_endless or (mark in begun and is_repeated):
            return first, tuple(rows), "Endless"
        begun.add(mark)
        if len(rows) >= question.rounds or _is_measured(question.policy) or played.is_over:
            return first, tuple(rows), "Open"
        state, moment = played.go_on()


def _evicted(found: Round) -> Iterator[EvictedRow]:
    made = (attempt for attempt in found.cycle.attempts if attempt.by is None)
    for attempt, pod, landed in zip(made, found.evicted, found.landed, strict=True):
        wanted = {name: getattr(attempt, name) for name in WantedRow.__struct_fields__}
        yield EvictedRow(**wanted, workload=owner_and_workload(pod)[1], replacement=landed)


def _refused(cycle: DeschedulingCycle, state: State) -> Iterator[EvictionRefusedRow]:
    pods = state.cluster.all(Pod)
    for attempt in cycle.attempts:
        if attempt.by is not None:
            yield EvictionRefusedRow(**asdict(attempt), workload=owner_and_workload(pods[attempt.pod])[1])


def _uses(before: State, found: Round) -> Iterator[NodeUseRow]:
    """Of all nodes, by name."""
    for name in sorted(before.by_name):
        yield NodeUseRow(node=name, before=_use(before, name), after=_use(found.state, name))


def _use(state: State, name: str) -> dict[str, float]:
    """What the pods of a node request of it, in percent, as the scheduler counts it."""
    node = state.by_name[name]
    used = {CPU: node.cpu, MEMORY: node.memory, PODS: len(node.pods)}
    there = {CPU: node.allocatable.cpu, MEMORY: node.allocatable.memory, PODS: node.allowed_pods}
    return {name: round(used[name] / there[name] * 100, 1) for name in _SHOWN if there[name]}


# --- caveats and notes ----------------------------------------------------------------------------------------------


def _low(policy: RunnablePolicy) -> Iterable[LowNodeUtilizationArgs]:
    """The arguments of LowNodeUtilization, wherever it is enabled."""
    for profile in policy.profiles:
        args = profile.args.get("LowNodeUtilization")
        if isinstance(args, LowNodeUtilizationArgs) and "LowNodeUtilization" in profile.balance:
            yield args


def _is_measured(policy: RunnablePolicy) -> bool:
    """Whether a strategy uses measured usage, which is not known for a later moment."""
    return any(args.metrics_utilization is not None for args in _low(policy))


def _caveats(session: Session, question: DescheduleQuestion, first: Round) -> Iterator[Caveat]:
    yield from first.caveats
    yield from admission_not_asked(new_pods(session.cluster.all(Pod).values()), session.cluster)
    policy, cluster = question.policy, session.cluster
    for metrics in (args.metrics_utilization for args in _low(policy)):
        if metrics is None:
            continue
        if metrics.source == PROMETHEUS and policy.asks_prometheus:
            yield PrometheusNotAsked(plugin="LowNodeUtilization")
        elif (metrics.metrics_server or metrics.source == KUBERNETES_METRICS) and not cluster.all(NodeMetrics):
            yield NoMetrics()
    if not first.evicted:
        return
    moment = parse_time(question.at)
    other = run_cycle(policy, Sandbox(session.state, moment, backwards=True))
    if _gone(other.attempts) != _gone(first.cycle.attempts):
        yield EvictionOrder()


def _gone(attempts: Iterable[EvictionAttempt]) -> frozenset[str]:
    return frozenset(attempt.pod for attempt in attempts if attempt.by is None)
