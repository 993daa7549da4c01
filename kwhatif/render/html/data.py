"""The data for the script of a page: words and numbers of map and story, as JSON within HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from markupsafe import Markup

from kwhatif.render.html.looks import LOOKS, Mark, View
from kwhatif.render.html.told import Told
from kwhatif.render.safe import safe, shortened
from kwhatif.render.timeline import PHRASES
from kwhatif.report.decision import CandidateRow
from kwhatif.report.inputs import Picture

#: The events of a story that the page plays.
_MOST_EVENTS = 20_000


class _Texts:
    """Texts that occur often, by number; inert as everywhere on the page."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.known.setdefault(safe(shortened(text)), len(self.known))


def data_of(picture: Picture, seen: Sequence[View], told: Sequence[Told]) -> Markup:
    """The picture, the verdicts and the stories as JSON within a page."""
    texts = _Texts()
    data = {
        "resources": picture.resources,
        "nodes": [
            (
                *(texts(each) for each in (node.name, node.place, node.pool)),
                [texts(each) for each in node.state],
                node.allocatable,
                node.used,
                node.most_pods,
                [number for group, name in node.pods for number in (group, safe(shortened(name)))],
            )
            for node in picture.nodes
        ],
        "groups": [
            (texts(each.namespace), texts(each.workload), each.priority, each.requests) for each in picture.groups
        ],
        "looks": {look.letter: (kind, look.glyph) for kind, look in LOOKS.items()},
        "views": [_view(view, picture, texts) for view in seen],
        "phrases": PHRASES if told else {},
        "stories": [_story(each, texts) for each in told],
        "texts": list(texts.known),
    }
    return script_data(data)


def script_data(data: object) -> Markup:
    """JSON that cannot end the element around it."""
    encoded = msgspec.json.encode(data).decode()
    for character in "<>&\u2028\u2029":
        encoded = encoded.replace(character, f"\\u{ord(character):04x}")
    return Markup(encoded)  # noqa: S704 - no markup is left in it


def _view(view: View, picture: Picture, texts: _Texts) -> Mapping[str, object]:
    marks = [view.marks.get(node.name, Mark("none")) for node in picture.nodes]
    plugins = list(dict.fromkeys(plugin for mark in marks for plugin in mark.scores))
    return {
        "title": texts(view.title),
        "requests": [view.requests.get(name, 0) for name in picture.resources],
        "words": {look.letter: view.called(kind) for kind, look in LOOKS.items()},
        "kinds": "".join(LOOKS[mark.kind].letter for mark in marks),
        "why": [texts(mark.why) for mark in marks],
        "evidence": {at: [texts(each) for each in mark.evidence] for at, mark in enumerate(marks) if mark.evidence},
        "counts": {at: mark.landing for at, mark in enumerate(marks) if mark.landing},
        "needs": {
            at: [mark.needs.get(name, 0) for name in picture.resources] for at, mark in enumerate(marks) if mark.needs
        },
        "after": {
            at: [mark.after.get(name, 0) for name in picture.resources] for at, mark in enumerate(marks) if mark.after
        },
        "plugins": plugins,
        "scores": {at: [mark.scores.get(name, 0) for name in plugins] for at, mark in enumerate(marks) if mark.scores},
        "candidates": {at: _candidate(mark.candidate, texts) for at, mark in enumerate(marks) if mark.candidate},
    }


def _candidate(row: CandidateRow, texts: _Texts) -> Mapping[str, object]:
    return {
        "violations": row.pdb_violations,
        "losesBy": row.loses_by,
        "budgets": [(texts(each.budget), each.before, each.after) for each in row.budgets],
        "victims": [
            (texts(each.pod), each.priority, [texts(budget) for budget in each.violates]) for each in row.victims
        ],
    }


def _story(told: Told, texts: _Texts) -> Mapping[str, object]:
    story = told.story
    events = story.events[:_MOST_EVENTS]
    return {
        "title": texts(told.title),
        "part": told.part,
        "first": story.first_event,
        "asked": story.asked or 0.0,
        "cut": len(story.events) - len(events),
        "events": [
            (
                event.id,
                event.at,
                -1 if event.because is None else event.because,
                texts(event.actor),
                texts(event.verb),
                texts(event.object),
                texts(event.workload or ""),
                texts(event.node or ""),
                texts(event.detail or told.reason(event)),
            )
            for event in events
        ],
    }
