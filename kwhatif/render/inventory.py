"""Blocks: what a dump contains and lacks, and which texts stay readable in an anonymized snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kwhatif.questions.session.inventory import Inventory
from kwhatif.render.amounts import amount, plural, some
from kwhatif.render.blocks import (
    Block,
    Cell,
    Heading,
    Item,
    Listing,
    Row,
    Sentence,
    Table,
    Verdict,
    name,
    number,
    shown,
    words,
)
from kwhatif.sources.saving.anonymize import Kept
from kwhatif.sources.saving.words import AMOUNT, NUMBER, TIME

#: Kinds of texts without names: only a few of them are shown.
_MEASURES = (AMOUNT, NUMBER, TIME)


def kept_blocks(kept: Iterable[Kept]) -> Iterator[Block]:
    """The texts that stay in an anonymized snapshot, by reason and field, to read before it is handed on."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in kept:
        found.setdefault((each.why, each.where), []).append(each.text)
    rows = [
        (some(texts) if why in _MEASURES else ", ".join(texts), where, why)
        for (why, where), texts in sorted(found.items())
    ]
    yield Table((words("Kept"), words("First found in"), words("Why")), rows, most=None)
    yield Sentence("Everything else that is a text has another name in the snapshot, or is not in it.", "faint")


#: The maximum number of nodes with unique shapes, and of pending pods, that are listed; others are only counted.
_MAX_SHAPES = 15
_MAX_PENDING = 10


def inventory_blocks(inventory: Inventory) -> Iterator[Block]:
    """Everything that is printed, top to bottom."""
    yield Verdict(", ".join(inventory.sources), tone="strong")
    for saved in inventory.saved:
        version = f" of a cluster of version {saved.server_version}" if saved.server_version else ""
        when = f"saved {saved.taken_at}" if saved.taken_at else "saved from a dump that does not show when it was taken"
        yield Sentence(f"{when}{version}{', anonymized' if saved.anonymized else ''}", "faint")
    kinds = [f"{count:,} {kind}" for kind, count in sorted(inventory.kinds.items())]
    yield Sentence(", ".join(kinds) or "holds no object that scheduling depends on", "" if kinds else "warn")
    yield from shown(_shapes(inventory), _priorities(inventory))
    yield from _pending(inventory)
    if inventory.exhausted_budgets:
        count = plural(len(inventory.exhausted_budgets), "budget")
        yield Sentence(f"{count} with no disruption left: {some(inventory.exhausted_budgets, 5)}")
    yield from _missing(inventory)


def _shapes(inventory: Inventory) -> Table:
    rows: list[Row] = []
    for shape in inventory.shapes[:_MAX_SHAPES]:
        offer = ", ".join(f"{name} {amount(name, value)}" for name, value in shape.allocatable.items())
        rows.append((shape.nodes, shape.unschedulable or "", offer or "nothing"))
    others = inventory.shapes[_MAX_SHAPES:]
    if others:
        rows.append((sum(shape.nodes for shape in others), "", f"of {len(others)} more shapes"))
    return Table((number("Nodes"), number("Cordoned"), words("Allocatable")), rows, most=None)


def _priorities(inventory: Inventory) -> Table:
    rows = [
        (row.priority_class or Cell("none", "faint"), row.priority, row.running, row.pending or "")
        for row in inventory.priorities
    ]
    columns = (name("Priority class"), number("Priority"), number("Running"), number("Pending"))
    return Table(columns, rows, most=None)


def _pending(inventory: Inventory) -> Iterator[Block]:
    if not inventory.pending:
        return
    items = [Item("Pending pods, in queue order", tone="strong")]
    for row in inventory.pending[:_MAX_PENDING]:
        notes = [f"nominated to {row.nominated_node}"] if row.nominated_node else []
        notes += ["gated"] if row.gated else []
        said = f"{row.pod}, priority {row.priority}" + (f" ({', '.join(notes)})" if notes else "")
        items.append(Item(said, depth=1))
    more = len(inventory.pending) - _MAX_PENDING
    if more > 0:
        items.append(Item(f"… and {more:,} more", depth=1, tone="faint"))
    yield Listing(items, "lines")


def _missing(inventory: Inventory) -> Iterator[Block]:
    if not (inventory.missing or inventory.caveats):
        yield Verdict("Nothing is missing for a trustworthy answer.", tone="good")
        return
    yield Heading("Missing for a trustworthy answer" if inventory.missing else "Caveats")
    yield Listing(
        [
            *(Item(sentence, tone="bad") for sentence in inventory.missing),
            *(Item(sentence, tone="warn") for sentence in inventory.caveats),
        ]
    )
