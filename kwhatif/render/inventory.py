"""An inventory for people: what is there, then what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from kwhatif.questions.session.inventory import Inventory
from kwhatif.render.text import BAD, FAINT, GOOD, STRONG, WARN, indented, table, text
from kwhatif.words.amounts import amount, plural, some

#: Nodes of a shape of their own, and pending pods, beyond which only the number is shown.
_MAX_SHAPES = 15
_MAX_PENDING = 10


def inventory_tables(inventory: Inventory) -> Iterator[RenderableType]:
    """Everything that is printed, top to bottom."""
    yield text(", ".join(inventory.sources), STRONG)
    for saved in inventory.saved:
        version = f" of a cluster of version {saved.server_version}" if saved.server_version else ""
        when = f"saved {saved.taken_at}" if saved.taken_at else "saved from a dump that does not show when it was taken"
        yield text(f"{when}{version}{', anonymized' if saved.anonymized else ''}", FAINT)
    kinds = [f"{count:,} {kind}" for kind, count in sorted(inventory.kinds.items())]
    yield text(", ".join(kinds) or "holds no object that scheduling depends on", "" if kinds else WARN)
    if inventory.shapes:
        yield _shapes(inventory)
    if inventory.priorities:
        yield _priorities(inventory)
    yield from _pending(inventory)
    if inventory.exhausted_budgets:
        count = plural(len(inventory.exhausted_budgets), "budget")
        yield text(f"{count} with no disruption left: {some(inventory.exhausted_budgets, 5)}")
    yield from _missing(inventory)


def _shapes(inventory: Inventory) -> Table:
    made = table("NODES", "CORDONED", "ALLOCATABLE", right=("NODES", "CORDONED"))
    for shape in inventory.shapes[:_MAX_SHAPES]:
        offer = ", ".join(f"{name} {amount(name, value)}" for name, value in shape.allocatable.items())
        made.add_row(text(shape.nodes), text(shape.unschedulable or ""), text(offer or "nothing"))
    if len(inventory.shapes) > _MAX_SHAPES:
        rest = sum(shape.nodes for shape in inventory.shapes[_MAX_SHAPES:])
        made.add_row(text(rest), "", text(f"of {len(inventory.shapes) - _MAX_SHAPES} more shapes", FAINT))
    return made


def _priorities(inventory: Inventory) -> Table:
    made = table("PRIORITY CLASS", "PRIORITY", "RUNNING", "PENDING", right=("PRIORITY", "RUNNING", "PENDING"))
    for row in inventory.priorities:
        name = text(row.priority_class) if row.priority_class else text("none", FAINT)
        made.add_row(name, text(row.priority), text(row.running), text(row.pending or ""))
    return made


def _pending(inventory: Inventory) -> Iterator[RenderableType]:
    if not inventory.pending:
        return
    yield text("Pending pods, in queue order", STRONG)
    for row in inventory.pending[:_MAX_PENDING]:
        notes = [f"nominated to {row.nominated_node}"] if row.nominated_node else []
        notes += ["gated"] if row.gated else []
        yield indented(text(f"{row.pod}, priority {row.priority}" + (f" ({', '.join(notes)})" if notes else "")))
    if len(inventory.pending) > _MAX_PENDING:
        yield indented(text(f"… and {len(inventory.pending) - _MAX_PENDING:,} more", FAINT))


def _missing(inventory: Inventory) -> Iterator[RenderableType]:
    yield ""
    if not (inventory.missing or inventory.caveats):
        yield text("Nothing is missing for a trustworthy answer.", GOOD)
        return
    yield text("Missing for a trustworthy answer" if inventory.missing else "Caveats", STRONG)
    for sentence in inventory.missing:
        yield indented(text(f"• {sentence}", BAD))
    for sentence in inventory.caveats:
        yield indented(text(f"• {sentence}", WARN))
