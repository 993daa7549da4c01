"""`threats`: who could evict these pods, what protects them, and what would."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.controllers.disruption import budget_pods
from kwhatif.descheduler.build import RunnablePolicy
from kwhatif.descheduler.cycle import run_cycle
from kwhatif.descheduler.sandbox import Sandbox
from kwhatif.edits.edit import Reference, Wrong
from kwhatif.edits.selection import Lookup
from kwhatif.edits.words import reference
from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.pods import PodChoice
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, ObjectRef, key_of
from kwhatif.kube.model.kinds import BY_WORD
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget, PriorityClass
from kwhatif.kube.model.workload import DaemonSet, Deployment, StatefulSet
from kwhatif.questions.session.session import Session
from kwhatif.questions.threats.arrivals import Arrivals, with_priority
from kwhatif.questions.threats.nodes import (
    NodeEvent,
    NodeEvents,
    NodeOutcome,
    events,
    is_critical,
    threats_of_nodes,
    threats_of_taints,
    under_pressure,
)
from kwhatif.report import Report
from kwhatif.report.risks import (
    PREEMPTING,
    HarmlessRow,
    ProtectionRow,
    ShieldRow,
    ThreatKind,
    ThreatRow,
    ThreatsRow,
)
from kwhatif.simulation.parameters import Parameters
from kwhatif.workloads.owners import pods_of

#: All kinds of threats, in the order of the answer; `descheduler` needs a policy.
KINDS: tuple[ThreatKind, ...] = (*PREEMPTING, "taint", "outage", "drain", "descheduler")
_OF_NODES: tuple[Literal["outage", "drain"], ...] = ("outage", "drain")
#: Plays events; yields outcomes in any order, and stops early if it is interrupted.
Runner = Callable[[NodeEvents, Sequence[NodeEvent]], Iterable[NodeOutcome]]


class DeschedulerAsked(NamedTuple):
    """A policy, its name, and the moment that ages count to (RFC 3339)."""

    policy: RunnablePolicy
    name: str
    at: str


class ThreatsQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The subject, and which kinds of threats."""

    subject: str
    namespace: str
    #: Instead of an object, these pods; `subject` is how they were chosen.
    choice: PodChoice | None = None
    kinds: tuple[ThreatKind, ...] = KINDS
    parameters: Parameters = Parameters()


class Subject(NamedTuple):
    """What is asked about, and its running pods."""

    name: str
    object: Pod | Node | PriorityClass | object
    pods: tuple[str, ...]


# --- who is asked about ----------------------------------------------------------------------------------------------


def chosen(choice: PodChoice, text: str, session: Session) -> Subject:
    """The running pods that a selector chooses.

    Raises:
        InputError: there is none.
    """
    pods = tuple(_running([key for key, info in session.state.pods.items() if choice.matches(info.pod)], session))
    where = f" in namespace {choice.namespace}" if choice.namespace else ""
    if not pods:
        raise InputError([Problem(text, f"no pod that is on a node is chosen by it{where}")])
    return Subject(f"pods {text}{where}", None, pods)


def subject_of(text: str, session: Session, namespace: str) -> Subject:
    """The pods of `pod/NS/NAME`, of a workload, on a node, or of a PriorityClass.

    Raises:
        InputError: there is no such object, or none of its pods is on a node.
    """
    lookup = Lookup(session.cluster, namespace)
    try:
        found = lookup.object(_reference(text))
    except Wrong as wrong:
        lookup.mistakes.append(wrong)
        found = None
    if lookup.mistakes or found is None:
        raise InputError([Problem(text, wrong.message, hint=wrong.hint) for wrong in lookup.mistakes])
    name = str(ObjectRef.of(found))
    pods = tuple(_pods_of(found, session))
    if not pods:
        said = "it is on no node: nothing can evict it" if isinstance(found, Pod) else "none of its pods is on a node"
        raise InputError([Problem(text, said, hint="`kwhatif preempt` asks about pods that are pending")])
    return Subject(name, found, pods)


def _reference(text: str) -> Reference:
    word, slash, _ = text.partition("/")
    return reference(text, "" if slash and word.lower() in BY_WORD else "pod")


def _pods_of(found: object, session: Session) -> Iterator[str]:
    state = session.state
    match found:
        case Pod():
            keys: Iterable[str] = (key_of(found),)
        case Node():
            node = state.node(found.metadata.name)
            keys = () if node is None else (info.key for info in node.pods)
        case PriorityClass():
            name = found.metadata.name
            keys = (key for key, info in state.pods.items() if info.pod.spec.priority_class_name == name)
        case _:
            keys = map(key_of, pods_of(found, session.cluster))  # type: ignore[arg-type] # what edits find is an object
    yield from _running(keys, session)


def _running(keys: Iterable[str], session: Session) -> Iterator[str]:
    """Those of the pods that are on a node, by key."""
    state = session.state
    for key in sorted(keys):
        info = state.pods.get(key)
        if info is not None and info.pod.spec.node_name in state.by_name and not info.terminating:
            yield key


# --- the question ----------------------------------------------------------------------------------------------------


def ask_threats(
    session: Session, question: ThreatsQuestion, run: Runner, descheduler: DeschedulerAsked | None = None
) -> Report:
    """Try everything that may evict the pods.

    Args:
        session: the cluster; it is not changed.
        question: the subject.
        run: plays what happens to nodes.
        descheduler: a policy that runs once.

    Raises:
        InputError: there are no such pods.
    """
    session = session.with_owners()
    if question.choice is None:
        subject = subject_of(question.subject, session, question.namespace)
    else:
        subject = chosen(question.choice, question.subject, session)
    kinds = tuple(kind for kind in question.kinds if kind != "descheduler" or descheduler is not None)
    state = session.state
    infos = [state.pods[key] for key in subject.pods]
    lowest = min(info.priority for info in infos)
    harmful, harmless = _classes(session, lowest)
    arrivals = Arrivals(session, subject.pods)
    threats = list(_preempting(arrivals, kinds, harmful))
    caveats: dict[Caveat, None] = dict.fromkeys(
        (*session.caveats, *arrivals.caveats, *session.left_out(session.cluster, ()), *session.remarks())
    )
    if "taint" in kinds:
        threats += threats_of_taints(state, subject.pods)
    asked = events(state, subject.pods, [kind for kind in _OF_NODES if kind in kinds])
    outcomes: dict[str, NodeOutcome] = {}
    if asked:
        player = NodeEvents(session, question.parameters, subject.pods)
        outcomes = {each.name: each for each in run(player, asked)}
        caveats.update(dict.fromkeys(player.caveats(each for found in outcomes.values() for each in found.caveats)))
    threats += threats_of_nodes(outcomes, asked)
    if descheduler is not None and "descheduler" in kinds:
        threats += _descheduled(session, subject, descheduler)
    row = ThreatsRow(
        subject=subject.name,
        pods=subject.pods,
        lowest=lowest,
        highest=max(info.priority for info in infos),
        threats=tuple(threats),
        harmless=tuple(harmless),
        protections=tuple(_protections(session, subject)),
        pressure=tuple(under_pressure(state, subject.pods)),
        shield=_shield(session, subject, threats),
        templates_asked=arrivals.templates_asked,
        nodes_asked=len({each.node for each in asked}),
        skipped=tuple(kind for kind in KINDS if kind not in kinds),
    )
    return replace(session.report("threats", (), caveats), threats=row)


def _preempting(
    arrivals: Arrivals, kinds: Sequence[ThreatKind], classes: Sequence[PriorityClass]
) -> Iterator[ThreatRow]:
    if "pending" in kinds:
        yield from arrivals.pending()
    if "template" in kinds:
        yield from arrivals.templates()
    if "class" in kinds:
        yield from arrivals.classes(classes)


def _classes(session: Session, lowest: int) -> tuple[list[PriorityClass], list[HarmlessRow]]:
    """The classes whose pods may evict some of these pods, and the others, by value."""
    harmful: list[PriorityClass] = []
    harmless: list[HarmlessRow] = []
    for each in sorted(session.cluster.all(PriorityClass).values(), key=lambda one: (one.value, one.metadata.name)):
        if each.value <= lowest:
            harmless.append(HarmlessRow(name=each.metadata.name, value=each.value, why="priority"))
        elif each.preemption_policy == "Never":
            harmless.append(HarmlessRow(name=each.metadata.name, value=each.value, why="never"))
        else:
            harmful.append(each)
    return harmful, harmless


def _descheduled(session: Session, subject: Subject, asked: DeschedulerAsked) -> Iterator[ThreatRow]:
    cycle = run_cycle(asked.policy, Sandbox(session.state, parse_time(asked.at)))
    found: dict[str, list[str]] = {}
    for each in cycle.attempts:
        if each.by is None and each.pod in subject.pods:
            found.setdefault(each.plugin, []).append(each.pod)
    for plugin, pods in found.items():
        yield ThreatRow(
            kind="descheduler", by=plugin, pods=tuple(pods), command=f"kwhatif deschedule --policy {asked.name}"
        )


def _protections(session: Session, subject: Subject) -> Iterator[ProtectionRow]:
    cluster, pods = session.cluster, session.state.pods
    selected: dict[str, list[str]] = {}
    for key in subject.pods:
        for budget in budget_pods(cluster).budgets_of(pods[key].pod):
            selected.setdefault(budget, []).append(key)
    for name, keys in sorted(selected.items()):
        status = cluster.all(PodDisruptionBudget)[name].status
        allowed = None if status is None else status.disruptions_allowed
        yield ProtectionRow(kind="budget", name=name, pods=tuple(keys), allowed=allowed)
    critical = tuple(key for key in subject.pods if is_critical(pods[key]))
    if critical:
        yield ProtectionRow(kind="critical", name="", pods=critical)


# --- what would protect them -----------------------------------------------------------------------------------------


def _shield(session: Session, subject: Subject, threats: Sequence[ThreatRow]) -> ShieldRow | None:
    """The smallest priority with which no pending pod, and no next pod of a workload, evicts them.

    If none of these evicts them now, new pods of all classes but those of the system count. The priority was tried.
    """
    real = [each for each in threats if each.kind in ("pending", "template")]
    own = [
        each for each in threats if each.kind == "class" and ObjectRef.parse(each.by).key not in SYSTEM_PRIORITY_CLASSES
    ]
    needed = [each.priority for each in real or own if each.priority is not None]
    if not needed:
        return None
    value = max(needed)
    if real and not _is_safe(session, subject, value):
        return None
    classes = sorted(session.cluster.all(PriorityClass).values(), key=lambda each: (each.value, each.metadata.name))
    name = next((each.metadata.name for each in classes if each.value == value), "")
    return ShieldRow(value=value, name=name, edit=_edit(subject, name))


def _is_safe(session: Session, subject: Subject, value: int) -> bool:
    pods = {key: session.state.pods[key] for key in subject.pods}
    raised = {key: info for key, info in pods.items() if info.priority < value}
    arrivals = Arrivals(session.at(with_priority(session.state, raised, value)), subject.pods)
    return next(_preempting(arrivals, ("pending", "template"), ()), None) is None


def _edit(subject: Subject, name: str) -> str:
    found = subject.object
    if not name or not isinstance(found, Deployment | StatefulSet | DaemonSet):
        return ""
    word = type(found).__name__.lower()
    return f"set {word}/{key_of(found)} spec.template.spec.priorityClassName={name}"
