"""The rows and events of a story: what the question causes, what happens without it, and when."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from kwhatif.controllers.contract import How
from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.render.amounts import in_seconds, plural, some
from kwhatif.render.blocks import Block, Item, Listing, Sentence, Table, number, shown, words
from kwhatif.render.detail import Detail
from kwhatif.report.story import (
    EventRow,
    FailedRow,
    GoneRow,
    PendingRow,
    RefusedRow,
    Story,
    StoryBudgetRow,
    StoryNodeRow,
    StoryWorkloadRow,
)
from kwhatif.simulation.history import Verb

#: How a pod was removed, in words.
_HOW: Mapping[How, str] = {
    "Preempted": "preempted",
    "Evicted": "evicted",
    "TaintEviction": "evicted by a taint",
    "DeviceTaintEviction": "evicted by a taint of its device",
    "PodGC": "collected with its node",
    "Deleted": "deleted",
    "ScaledDown": "scaled down",
    "RolledOut": "replaced in a rollout",
    "Completed": "completed",
    "Garbage": "collected with its owner",
}
#: The maximum number of nodes that are named.
FEW = 4


def is_different(row: StoryWorkloadRow) -> bool:
    """Whether its pods are on other nodes at the end, or fewer were ready in between."""
    return row.before != row.after or row.ready_lowest < row.ready_before


def different_workloads(story: Story) -> tuple[list[StoryWorkloadRow], list[StoryWorkloadRow]]:
    """The workloads with a different result at the end; and the workloads whose pods are on the same nodes again.

    The latter had fewer ready pods for a time, such as DaemonSets with lost nodes.
    """
    rows: list[StoryWorkloadRow] = []
    as_before: list[StoryWorkloadRow] = []
    for row in story.workloads:
        if row.pending or row.before != row.after:
            rows.append(row)
        elif is_different(row):
            is_well = ObjectRef.parse(row.workload).kind == "DaemonSet" or row.ready_after >= row.ready_before
            (as_before if is_well else rows).append(row)
    return rows, as_before


def kinds_of(rows: Sequence[StoryWorkloadRow]) -> str:
    """`24 DaemonSets, 1 Deployment`."""
    counts = Counter(ObjectRef.parse(row.workload).kind for row in rows)
    return ", ".join(plural(count, kind) for kind, count in counts.items())


def places(row: StoryWorkloadRow) -> tuple[str, str]:
    """The nodes of its pods before and after; nodes with a different number of pods come first."""
    return nodes_in_words(row.before, row.after), nodes_in_words(row.after, row.before)


def nodes_in_words(counts: Mapping[str, int], others: Mapping[str, int]) -> str:
    """`a, b (2)`; if not all are named, nodes with a different count among the others come first."""
    nodes = list(counts.items())
    if len(nodes) > FEW + 1:
        nodes.sort(key=lambda item: others.get(item[0], 0) == item[1])
    return some([f"{node} ({count})" if count > 1 else node for node, count in nodes], FEW) or "-"


def course_of(row: StoryWorkloadRow) -> str:
    """`a pod of Deployment shop/web goes from a to b`; "" unless exactly one pod is on another node at the end."""
    came, left = _beyond(row.after, row.before), _beyond(row.before, row.after)
    if max(sum(came.values()), sum(left.values())) != 1:
        return ""
    who = row.workload if ObjectRef.parse(row.workload).kind == "Pod" else f"a pod of {row.workload}"
    if came and left:
        return f"{who} goes from {', '.join(left)} to {', '.join(came)}"
    return f"{who} comes to {', '.join(came)}" if came else f"{who} leaves {', '.join(left)}"


def _beyond(counts: Mapping[str, int], others: Mapping[str, int]) -> Mapping[str, int]:
    return {node: more for node, count in counts.items() if (more := count - others.get(node, 0)) > 0}


def gone_rows(story: Story) -> list[tuple[str, int, str]]:
    """The pods that are gone: the workload, how many of its pods, from where and why."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in story.gone:
        why = f"{_HOW[row.how]} for {row.by}" if row.by and row.how == "Preempted" else _HOW[row.how]
        groups.setdefault((row.owner or f"Pod {row.pod}", why), []).append(row.node or "")
    return [(who, len(nodes), f"{why}{_on(nodes)}") for (who, why), nodes in groups.items()]


def _on(nodes: Sequence[str]) -> str:
    named = list(dict.fromkeys(filter(None, nodes)))
    return f" on {some(named, FEW)}" if named else ""


def pending_rows(story: Story) -> list[tuple[str, int, str]]:
    """The pods that wait for a node: the workload, how many of its pods, and the scheduler's message."""
    groups: dict[tuple[str, str], int] = {}
    for row in story.pending:
        place = row.owner or f"Pod {row.pod}", row.message or "not tried"
        groups[place] = groups.get(place, 0) + row.count
    return [(who, count, why) for (who, why), count in groups.items()]


def failed_rows(story: Story) -> list[tuple[str, str]]:
    """The Jobs that have failed, and why."""
    return [(row.workload, row.message) for row in story.failed]


def refused_rows(story: Story) -> list[tuple[str, str]]:
    """The workloads whose new pods the API server refuses, and why."""
    return [(row.workload, why_refused(row.message)) for row in story.refused]


# --- what happens anyway ---------------------------------------------------------------------------------------------


_Row = TypeVar("_Row", PendingRow, RefusedRow, FailedRow, GoneRow, StoryWorkloadRow, StoryNodeRow, StoryBudgetRow)


def of_question(story: Story) -> Story:
    """The story without what happens anyway; the verdict of a drain or an outage is already without it."""
    if story.caused is None:
        return story
    return _only(story, anyway=False)


def _only(story: Story, *, anyway: bool) -> Story:
    def rows(given: Sequence[_Row]) -> tuple[_Row, ...]:
        return tuple(row for row in given if row.anyway == anyway)

    return replace(
        story,
        settled=story.settled if anyway else story.outcome,
        workloads=rows(story.workloads),
        pending=rows(story.pending),
        refused=rows(story.refused),
        failed=rows(story.failed),
        gone=rows(story.gone),
        nodes=rows(story.nodes),
        budgets=rows(story.budgets),
        cycle=story.cycle if story.cycle is not None and story.cycle.anyway == anyway else None,
    )


def anyway_rows(story: Story) -> list[tuple[str, str, str]]:
    """What also happens without the question: the workload, how many of its pods, and the result."""
    return [] if story.caused is None else list(_anyway_rows(_only(story, anyway=True)))


def _anyway_rows(story: Story) -> Iterator[tuple[str, str, str]]:
    if story.cycle is not None:
        yield some(story.cycle.participants), "-", "replace each other, and never settle"
    yield from ((who, str(count), why) for who, count, why in gone_rows(story))
    yield from ((who, str(count), f"pending: {why}") for who, count, why in pending_rows(story))
    yield from ((row.workload, "-", f"new pods are refused: {why_refused(row.message)}") for row in story.refused)
    yield from ((row.workload, "-", f"fails: {row.message}") for row in story.failed)
    for row in story.budgets:
        if row.overrun_anyway:
            yield f"PodDisruptionBudget {row.budget}", "-", f"short of {plural(row.overrun_anyway, 'healthy pod')}"


# --- events: a table with equal events as one line, or a tree of causes ----------------------------------------------


_MOST_LINES = 60
_REFUSED: Verb = "was refused"
#: The beginning of a refusal: the resource, and a name that is often generated.
_FORBIDDEN = re.compile(r'^[\w.-]+ "[^"\s]*" is forbidden: ')
#: Other words for verbs that cannot be used with the name of a pod.
PHRASES: Mapping[Verb, str] = {
    "unschedulable": "found no node for {}",
    "ready": "reported {} ready",
    "not ready": "reported {} not ready",
    "running": "started {}",
    "deferred": "deferred the resize of {}",
    "found infeasible": "found the resize of {} infeasible",
}
#: Kinds that cause nothing by themselves: their creation and deletion is left out unless everything is wanted.
_NO_NEWS = frozenset({"Namespace", "Service", "RuntimeClass", "StorageClass", "CSIDriver", "DeviceClass"})
#: Repeated messages of the scheduler are named by the time of the first.
_MESSAGES: tuple[Verb, ...] = ("unschedulable", "nominated")


def timeline(story: Story, detail: Detail) -> Iterator[Block]:
    """The events with their times from the start of the question; with `-o wide` also earlier and minor events."""
    rows = [(in_seconds(at), who, what) for at, who, what in _grouped(_since_asked(story), detail)]
    yield from shown(Table((number("Time"), words("Who"), words("What")), rows, _MOST_LINES))
    if story.first_event and not detail.wide:
        count = plural(story.first_event, "event")
        hint = "" if detail.page else " (-o wide)"
        before = f"Before, the cluster settles by itself: {count} in {in_seconds(story.asked or 0.0)}{hint}"
        yield Sentence(before, "faint")


def _grouped(story: Story, detail: Detail) -> Iterator[tuple[float, str, str]]:
    """Equal events at one moment are one line, for pods by workload; refusals at any time."""
    groups: dict[tuple[object, ...], list[EventRow]] = {}
    for event in story.events if detail.wide else story.events[story.first_event :]:
        is_news = detail.wide or event.ref.kind not in _NO_NEWS
        if event.verb != "removed" and is_news:  # the end of its containers is already an event
            groups.setdefault(_place(event, detail), []).append(event)
    said = {row.message: "see PENDING" for row in story.pending if row.message}
    for alike in groups.values():
        first = alike[0]
        yield first.at, _actor(first), _line(alike, said)


def _since_asked(story: Story) -> Story:
    """The story with times from the start of the question: earlier events have negative times."""
    if not story.asked:
        return story
    asked = story.asked
    return replace(story, events=tuple(replace(each, at=round(each.at - asked, 3)) for each in story.events))


def _place(event: EventRow, detail: Detail) -> tuple[object, ...]:
    """Key of the events that share a line."""
    kind = event.ref.kind
    if event.verb == _REFUSED:
        return _refusal(event)
    if kind == "Node":
        return event.at, _actor(event), event.verb, event.detail
    message = event.detail if event.verb == "unschedulable" else ""
    if kind == "Pod" or detail.wide:
        return event.at, _actor(event), event.verb, kind, event.workload or event.object, message
    return event.at, _actor(event), event.verb, kind, event.detail


def _refusal(event: EventRow) -> tuple[object, ...]:
    return event.actor, event.verb, event.ref.kind, why_refused(event.detail)


def _actor(event: EventRow) -> str:
    """The actor. All kubelets count as one, and actors on a node are named without the node."""
    if event.actor.startswith("kubelet "):
        return "kubelet"
    return event.actor.removesuffix(f" {event.ref.key}") if event.ref.kind == "Node" else event.actor


def why_refused(message: str) -> str:
    """The refusal without the name of the object, which is often generated."""
    return _FORBIDDEN.sub("", message)


def _line(alike: Sequence[EventRow], said: dict[str, str]) -> str:
    first = alike[0]
    if first.verb == _REFUSED and len(alike) > 1:
        times = f"{len(alike):,} times, until {in_seconds(alike[-1].at)}"
        return f"{_REFUSED} a {first.ref.kind} {times}: {why_refused(first.detail)}"
    phrase = PHRASES.get(first.verb, f"{first.verb} {{}}").replace("{}", _objects(alike), 1)
    nodes = list(dict.fromkeys(event.node for event in alike if event.node))
    where = f" {'to' if first.verb in ('bound', 'nominated') else 'on'} {some(nodes)}" if nodes else ""
    return f"{phrase}{where}{_why(alike, said)}"


def _objects(alike: Sequence[EventRow]) -> str:
    first = alike[0]
    objects = list(dict.fromkeys(event.object for event in alike))
    if len(objects) == 1:
        return first.object
    kind = first.ref.kind
    if kind == "Pod":
        return f"{len(objects):,} pods of {first.workload}"
    noun = "node" if kind == "Node" else kind
    names = some([ObjectRef.parse(each).key for each in objects])
    nouns = f"{noun}es" if noun.endswith("s") else ""
    return f"{plural(len(objects), noun, nouns)} ({names})"


def _why(alike: Sequence[EventRow], said: dict[str, str]) -> str:
    details = list(dict.fromkeys(event.detail for event in alike if event.detail))
    if not details:
        return ""
    if alike[0].verb == "preempted":
        return f" for {some([detail.removeprefix('for ') for detail in details])}"
    first, *others = details
    if alike[0].verb in _MESSAGES:
        message, first = first, said.get(first, first)
        said.setdefault(message, f"as at {in_seconds(alike[0].at)}")
    more = f" (and {plural(len(others), 'other message')})" if others else ""
    return f": {first}{more}"


def tree(story: Story) -> Listing:
    """Every event, below the event that caused it."""
    return Listing(list(_below(_since_asked(story))), "lines")


def _below(story: Story) -> Iterator[Item]:
    children: dict[int | None, list[EventRow]] = {}
    for event in story.events:
        children.setdefault(event.because, []).append(event)
    said = {row.message: "see PENDING" for row in story.pending if row.message}
    stack = [(group, 0) for group in reversed(_siblings(children, None))]
    while stack:
        alike, depth = stack.pop()
        first = alike[0]
        actor = first.actor if first.actor.startswith("kubelet ") else _actor(first)
        yield Item(f"{in_seconds(first.at):>8}  {actor} {_line(alike, said)}", depth=depth)
        for event in reversed(alike):
            stack.extend((group, depth + 1) for group in reversed(_siblings(children, event.id)))


def _siblings(children: dict[int | None, list[EventRow]], parent: int | None) -> list[list[EventRow]]:
    """The events that one event caused: equal refusals together, all others separate."""
    groups: dict[tuple[object, ...], list[EventRow]] = {}
    for event in children.get(parent, ()):
        groups.setdefault(_refusal(event) if event.verb == _REFUSED else (event.id,), []).append(event)
    return list(groups.values())
