"""The data of a page about nodes and stories: marks, charts of budgets, and the JSON for its script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
from markupsafe import Markup

from kwhatif.render.amounts import took
from kwhatif.render.deschedule import why_evicted
from kwhatif.render.safe import safe, shortened
from kwhatif.render.story_rows import PHRASES
from kwhatif.report import Report
from kwhatif.report.decision import CandidateRow
from kwhatif.report.inputs import Picture
from kwhatif.report.story import EventRow, Story, StoryBudgetRow

# --- marks of nodes --------------------------------------------------------------------------------------------------


Kind = Literal["new", "goes", "lands", "tie", "fits", "evicts", "candidate", "loses", "swaps", "rejected", "none"]


class Look(NamedTuple):
    """How a verdict about a node is marked: its letter in the page's data, glyph, and words."""

    letter: str
    glyph: str
    words: str


LOOKS: Mapping[Kind, Look] = {
    "new": Look("N", "✚", "new"),
    "goes": Look("G", "⊖", "goes"),
    "lands": Look("L", "✔", "lands here"),
    "tie": Look("T", "≈", "equally good"),
    "fits": Look("F", "○", "fits"),
    "evicts": Look("E", "!", "would evict here"),
    "candidate": Look("C", "△", "could evict here"),
    "loses": Look("S", "▽", "has fewer pods"),
    "swaps": Look("W", "⇄", "has other pods"),
    "rejected": Look("R", "✘", "does not fit"),
    "none": Look("-", "·", "not asked"),
}


class View(NamedTuple):
    """The subject of the map: a pod, all pods, replicas, or scenarios."""

    title: str
    #: the requests of one pod
    requests: Mapping[str, int]
    #: Node -> its verdict.
    marks: Mapping[str, Mark]
    #: Other names for verdicts in this view.
    words: Mapping[Kind, str] = {}

    def needs(self, mark: Mark) -> Mapping[str, int]:
        """The requests of all pods that land there; if none does, those of one."""
        if mark.needs is not None:
            return mark.needs
        return {name: count * max(mark.landing, 1) for name, count in self.requests.items()}

    def called(self, kind: Kind) -> str:
        """The verdict in words."""
        return self.words.get(kind, LOOKS[kind].words)


class Mark(NamedTuple):
    """A verdict about one node."""

    kind: Kind
    #: The reasons, in a few words and in full.
    why: str = ""
    evidence: tuple[str, ...] = ()
    #: How many pods land here.
    landing: int = 0
    #: Their total requests, if that is not the view's amount for each.
    needs: Mapping[str, int] | None = None
    #: The use of each resource at the end, if pods are added or removed.
    after: Mapping[str, int] | None = None
    scores: Mapping[str, int] = {}
    candidate: CandidateRow | None = None


# --- budgets over time, as step lines --------------------------------------------------------------------------------


_WIDTH, _HEIGHT, _TOP = 560.0, 34.0, 3.0
#: The part of the line before the first event.
_BEFORE = 0.04
#: Further budgets are only in the table.
_MOST_LINES = 12


class BudgetLine(NamedTuple):
    """A budget's line, and its meaning in words."""

    budget: str
    words: str
    tone: str
    svg: Markup


class Chart(NamedTuple):
    """The lines, and the number of seconds that they cover."""

    lines: Sequence[BudgetLine]
    seconds: str
    left_out: int


def chart_of(story: Story | None) -> Chart | None:
    """The budgets that change, the lowest first; None if none does."""
    changing = [] if story is None else [row for row in story.budgets if row.steps]
    if story is None or not changing:
        return None
    changing.sort(key=lambda row: (-row.overrun, row.lowest, row.budget))
    start = story.asked or 0.0
    end = max(story.seconds, start + 1.0)
    lines = [_budget_line(row, start, end) for row in changing[:_MOST_LINES]]
    return Chart(lines, took(end - start), len(changing) - len(lines))


def _budget_line(row: StoryBudgetRow, start: float, end: float) -> BudgetLine:
    first = [allowed for at, allowed in row.steps if at <= start]
    before = start - _BEFORE * (end - start)
    points = [(before, row.before), (start, first[-1] if first else row.before)]
    points += [each for each in row.steps if each[0] > start]
    most = max(1, *(allowed for _, allowed in points))
    zero: list[str] = []
    path = f"M0 {_y(points[0][1], most):.1f}"
    for (at, allowed), (until, _) in zip(points, [*points[1:], (end, 0)], strict=True):
        x, y = _x(at, before, end), _y(allowed, most)
        path += f"H{x:.1f}V{y:.1f}"
        if allowed <= 0:
            width = _x(until, before, end) - x
            zero.append(f'<rect class="none" x="{x:.1f}" y="0" width="{width:.1f}" height="{_HEIGHT}"/>')
    path += f"H{_WIDTH}"
    said = f"allows {row.before} before, {row.lowest} at the least, {row.after} after"
    if row.overrun:
        said += f"; broken by {row.overrun}"
    svg = Markup(  # noqa: S704 - numbers alone
        f'<svg class="line" viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f'{"".join(zero)}<path class="axis" d="M0 {_HEIGHT - _TOP}H{_WIDTH}"/><path class="step" d="{path}"/></svg>'
    )
    return BudgetLine(row.budget, said, "bad" if row.overrun else "warn" if row.lowest <= 0 else "", svg)


def _x(at: float, start: float, end: float) -> float:
    return (at - start) / (end - start) * _WIDTH


def _y(allowed: int, most: int) -> float:
    return _HEIGHT - _TOP - max(allowed, 0) / most * (_HEIGHT - 2 * _TOP)


# --- stories ---------------------------------------------------------------------------------------------------------


class Told(NamedTuple):
    """A story and its place in the page: `part` is the anchor of its part; "": it belongs to the answer.

    `reasons`: object -> why it is evicted, if the events do not have the reason.
    """

    title: str
    part: str
    story: Story
    reasons: Mapping[str, str] = {}

    @property
    def chart(self) -> Chart | None:
        """Its budgets over time."""
        return chart_of(self.story)

    def reason(self, event: EventRow) -> str:
        """The reason of the event; "" if it has a cause among the events."""
        return self.reasons.get(event.object, "") if event.because is None else ""


def told_of(report: Report, parts: Mapping[str, str]) -> list[Told]:
    """The stories of the report; `parts`: the title of each part of the page -> its anchor."""
    return [each for each in _all_told(report, parts) if len(each.story.events) > each.story.first_event]


def _all_told(report: Report, parts: Mapping[str, str]) -> Iterator[Told]:
    if report.story is not None:
        yield Told("", "", report.story)
    if report.deschedule is not None and report.deschedule.story is not None:
        reasons = {f"Pod {row.pod}": f"{row.plugin}, {why_evicted(row.why)}" for row in report.deschedule.evicted}
        yield Told("", "", report.deschedule.story, reasons)
    for found in () if report.audit is None else report.audit.findings:
        if found.story is not None:
            yield Told("", "", found.story)
    for row in report.scenarios:
        if row.story is not None and row.scenario in parts:
            yield Told(row.scenario, parts[row.scenario], row.story)


# --- JSON within HTML ------------------------------------------------------------------------------------------------


#: The events of a story that the page plays.
_MOST_EVENTS = 20_000


class _Texts:
    """Numbers for texts, which may occur often; the texts are inert, as everywhere on the page."""

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
