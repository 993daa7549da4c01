"""The map of a page: every node in its zone and pool, as the answer sees it, as HTML and SVG that need no script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from kwhatif.render.amounts import amount, some
from kwhatif.render.html.data import LOOKS, Kind, Look, Mark, Told, View, data_of
from kwhatif.render.html.views import views
from kwhatif.report import Report
from kwhatif.report.inputs import Picture, PictureNode

#: From this number of nodes on, they are cells; the script makes cards of the nodes that are searched.
_MANY = 240
#: Commands whose answer is about the nodes of pods: their map is above the tables, otherwise it is below.
_MAP_FIRST = (
    "schedule",
    "preempt",
    "capacity",
    "simulate",
    "drain",
    "outage",
    "deschedule",
    "autoscale",
    "consolidate",
)
#: Resources with a bar on a card.
_BARS = 3


class Bar(NamedTuple):
    """A resource of a node, in percent of its amount: used, needed in addition, and beyond the amount."""

    resource: str
    text: str
    used: float
    need: float
    over: float
    #: The use in the end, if it differs.
    after: float | None


class Card(NamedTuple):
    """A node on the map."""

    number: int
    name: str
    kind: Kind
    look: Look
    words: str
    why: str
    state: str
    bars: Sequence[Bar]
    pods: str
    landing: int


class Pool(NamedTuple):
    """The nodes of a pool in one place."""

    name: str
    cards: Sequence[Card]

    @property
    def cells(self) -> Markup:
        """The nodes as cells of one SVG, for many of them."""
        return _cells(self.cards)

    @property
    def summary(self) -> str:
        """How many of each verdict."""
        counts = Counter(card.kind for card in self.cards)
        words = {card.kind: card.words for card in self.cards}
        return ", ".join(f"{count:,} {words[kind]}" for kind, count in counts.most_common())


class Place(NamedTuple):
    """A zone, or a rack."""

    name: str
    nodes: int
    pools: Sequence[Pool]


class Map(NamedTuple):
    """The data for the map of the cluster."""

    places: Sequence[Place]
    legend: Sequence[tuple[Kind, Look, str, int]]
    #: Parts of bars other than used and free: "need", "over", "after".
    keys: Sequence[str]
    titles: Sequence[str]
    place_label: str
    nodes: int
    is_dense: bool
    #: Whether it shows the answer; otherwise it shows the subject of the answer, and is below the answer.
    is_answer: bool
    data: Markup
    #: Nodes that get pods and do not exist yet.
    coming: str
    #: How many of these nodes an autoscaler adds.
    new: int


def map_of(report: Report, picture: Picture, told: Sequence[Told] = ()) -> Map:
    """The map of the cluster; `told`: the stories that move on it."""
    seen = views(report, picture)
    first = seen[0]
    resources = picture.resources
    places: dict[str, dict[str, list[Card]]] = {}
    for number, node in enumerate(picture.nodes):
        card = _card(number, node, first, resources)
        places.setdefault(node.place, {}).setdefault(node.pool, []).append(card)
    drawn = [
        Place(place, sum(map(len, pools.values())), [Pool(name, cards) for name, cards in sorted(pools.items())])
        for place, pools in sorted(places.items())
    ]
    counts = Counter(card.kind for place in drawn for pool in place.pools for card in pool.cards)
    return Map(
        places=drawn,
        legend=[(kind, LOOKS[kind], first.called(kind), counts[kind]) for kind in LOOKS if counts[kind]],
        keys=_keys(drawn),
        titles=[view.title for view in seen],
        place_label=picture.place_label,
        nodes=len(picture.nodes),
        is_dense=len(picture.nodes) > _MANY,
        is_answer=bool(first.marks) and report.command in _MAP_FIRST,
        data=data_of(picture, seen, told),
        new=counts["new"],
        coming=some(sorted(first.marks.keys() - {node.name for node in picture.nodes}), 6),
    )


def _keys(places: Sequence[Place]) -> Sequence[str]:
    bars = [bar for place in places for pool in place.pools for card in pool.cards for bar in card.bars]
    shown = {"need": any(bar.need for bar in bars), "over": any(bar.over for bar in bars)}
    return [key for key, is_there in {**shown, "after": any(bar.after is not None for bar in bars)}.items() if is_there]


def _card(number: int, node: PictureNode, view: View, resources: Sequence[str]) -> Card:
    mark = view.marks.get(node.name, Mark("none"))
    needs = view.needs(mark)
    amounts = [
        _bar(name, used, of, needs.get(name, 0), None if mark.after is None else mark.after[name])
        for name, used, of in zip(resources, node.used, node.allocatable, strict=True)
        if of or needs.get(name)
    ]
    return Card(
        number=number,
        name=node.name,
        kind=mark.kind,
        look=LOOKS[mark.kind],
        words=view.called(mark.kind),
        why=mark.why,
        state=", ".join(node.state),
        bars=amounts[:_BARS],
        pods=f"{len(node.pods)} of {node.most_pods} pods",
        landing=mark.landing,
    )


def _bar(resource: str, used: int, of: int, need: int, after: int | None) -> Bar:
    share = 100 / of if of else 0.0
    filled = min(used * share, 100.0)
    wanted = need * share if of else 100.0
    over = max(filled + wanted - 100.0, 0.0)
    text = f"{amount(resource, used)} of {amount(resource, of)} used"
    if need:
        text += f", {amount(resource, need)} needed"
    if after is not None:
        text += f", {amount(resource, after)} in the end"
    in_the_end = None if after is None else round(min(after * share, 100.0), 1)
    bounded = round(min(wanted, 100 - filled), 1), round(min(over, 20.0), 1)
    return Bar(resource, text, round(filled, 1), *bounded, in_the_end)


_WIDTH, _CELL, _HEIGHT = 60, 9, 15


def _cells(cards: Sequence[Card]) -> Markup:
    """Two rectangles for each node: how much of its first resource is used, and its verdict."""
    rows = -(-len(cards) // _WIDTH)
    columns = min(len(cards), _WIDTH)
    made = []
    for place, card in enumerate(cards):
        x, y = place % _WIDTH * _CELL, place // _WIDTH * _HEIGHT
        level = round(max((bar.used for bar in card.bars), default=0) * 0.12)
        made.append(
            f'<g class="cell {card.kind}" data-n="{card.number}"><rect x="{x}" y="{y}" width="8" height="13"/>'
            f'<path d="M{x + 1} {y + 12.5}h6v-{level}h-6z"/>{_glyph(card.kind, x, y)}</g>'
        )
    width, height = columns * _CELL, rows * _HEIGHT
    return Markup(  # noqa: S704 - numbers, and names of verdicts
        f'<svg class="cells" viewBox="0 0 {width} {height}" width="{width}" height="{height}" aria-hidden="true">'
        f"{''.join(made)}</svg>"
    )


def _glyph(kind: Kind, x: int, y: int) -> str:
    """A glyph that can be distinguished without its colour."""
    shapes: Mapping[Kind, str] = {
        "new": f"M{x + 1.5} {y + 6.5}h5M{x + 4} {y + 4}v5",
        "goes": f"M{x + 1.5} {y + 6.5}h5",
        "lands": f"M{x + 1.5} {y + 6}l2 3l3.5-6",
        "tie": f"M{x + 1.5} {y + 5}h5M{x + 1.5} {y + 8}h5",
        "loses": f"M{x + 1.5} {y + 6.5}h5",
        "swaps": f"M{x + 1.5} {y + 5}h5l-2-2M{x + 6.5} {y + 8}h-5l2 2",
        "evicts": f"M{x + 4} {y + 2}v6M{x + 4} {y + 9.5}v1.5",
        "candidate": f"M{x + 4} {y + 3}l3 6h-6z",
        "fits": f"M{x + 2} {y + 6.5}a2 2 0 1 0 4 0a2 2 0 1 0 -4 0",
    }
    return f'<path class="mark" d="{shapes[kind]}"/>' if kind in shapes else ""
