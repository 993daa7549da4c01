"""The events of a story: a table with equal events as one line, or a tree of causes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.render.blocks import Block, Item, Listing, Sentence, Table, number, shown, words
from kwhatif.render.detail import Detail
from kwhatif.report.story import Story
from kwhatif.simulation.history import EventRow
from kwhatif.words.amounts import plural, some

_MOST_LINES = 60
_REFUSED = "was refused"
#: The beginning of a refusal: the resource, and a name that is often generated.
_FORBIDDEN = re.compile(r'^[\w.-]+ "[^"\s]*" is forbidden: ')
#: For verbs that cannot precede the name of a pod: the words instead.
PHRASES = {
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
_MESSAGES = ("unschedulable", "nominated")


def seconds(value: float) -> str:
    """`30 s`."""
    return f"{value:g} s"


def timeline(story: Story, detail: Detail) -> Iterator[Block]:
    """When each event happened, from the start of what was asked; with `-o wide` also earlier and minor events."""
    rows = [(seconds(at), who, what) for at, who, what in _grouped(_since_asked(story), detail)]
    yield from shown(Table((number("Time"), words("Who"), words("What")), rows, _MOST_LINES))
    if story.first_event and not detail.wide:
        count = plural(story.first_event, "event")
        hint = "" if detail.page else " (-o wide)"
        before = f"Before, the cluster settles by itself: {count} in {seconds(story.asked or 0.0)}{hint}"
        yield Sentence(before, "faint")


def _grouped(story: Story, detail: Detail) -> Iterator[tuple[float, str, str]]:
    """Equal events at one moment are one line, for pods by workload; refusals at any time."""
    groups: dict[tuple[object, ...], list[EventRow]] = {}
    for event in story.events if detail.wide else story.events[story.first_event :]:
        is_news = detail.wide or event.ref.kind not in _NO_NEWS
        if event.verb != "removed" and is_news:  # the end of its containers has been said
            groups.setdefault(_place(event, detail), []).append(event)
    said = {row.message: "see PENDING" for row in story.pending if row.message}
    for alike in groups.values():
        first = alike[0]
        yield first.at, _actor(first), _line(alike, said)


def _since_asked(story: Story) -> Story:
    """The story with times from the start of what was asked: earlier events have negative times."""
    if not story.asked:
        return story
    asked = story.asked
    return replace(story, events=tuple(replace(each, at=round(each.at - asked, 3)) for each in story.events))


def _place(event: EventRow, detail: Detail) -> tuple[object, ...]:
    """What the event has in common with others of the same line."""
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
    """Who acted: one kubelet is like another, and what works on a node is not named by it."""
    if event.actor.startswith("kubelet "):
        return "kubelet"
    return event.actor.removesuffix(f" {event.ref.key}") if event.ref.kind == "Node" else event.actor


def why_refused(message: str) -> str:
    """The refusal without the name of the object, which is often generated."""
    return _FORBIDDEN.sub("", message)


def _line(alike: Sequence[EventRow], said: dict[str, str]) -> str:
    first = alike[0]
    if first.verb == _REFUSED and len(alike) > 1:
        times = f"{len(alike):,} times, until {seconds(alike[-1].at)}"
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
    if by := list(dict.fromkeys(event.by for event in alike if event.by)):
        return f" for {some(by)}"
    details = list(dict.fromkeys(event.detail for event in alike if event.detail))
    if not details:
        return ""
    first, *others = details
    if alike[0].verb in _MESSAGES:
        message, first = first, said.get(first, first)
        said.setdefault(message, f"as at {seconds(alike[0].at)}")
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
        yield Item(f"{seconds(first.at):>8}  {actor} {_line(alike, said)}", depth=depth)
        for event in reversed(alike):
            stack.extend((group, depth + 1) for group in reversed(_siblings(children, event.id)))


def _siblings(children: dict[int | None, list[EventRow]], parent: int | None) -> list[list[EventRow]]:
    """The events that one event caused: equal refusals together, all others separate."""
    groups: dict[tuple[object, ...], list[EventRow]] = {}
    for event in children.get(parent, ()):
        groups.setdefault(_refusal(event) if event.verb == _REFUSED else (event.id,), []).append(event)
    return list(groups.values())
