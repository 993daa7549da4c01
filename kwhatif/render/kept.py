"""What stays in an anonymized snapshot, for who hands it to others: every text, where it stands, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType

from kwhatif.render.text import FAINT, table, text
from kwhatif.sources.saving.anonymize import Kept
from kwhatif.sources.saving.words import AMOUNT, NUMBER, TIME
from kwhatif.words.amounts import some

#: Of these, which name nothing, only a few are shown.
_MEASURES = (AMOUNT, NUMBER, TIME)


def kept_table(kept: Iterable[Kept]) -> Iterator[RenderableType]:
    """The table, by reason and field."""
    rows: dict[tuple[str, str], list[str]] = {}
    for each in kept:
        rows.setdefault((each.why, each.where), []).append(each.text)
    made = table("KEPT", "FIRST FOUND IN", "WHY")
    for (why, where), texts in sorted(rows.items()):
        made.add_row(text(some(texts) if why in _MEASURES else ", ".join(texts)), text(where), text(why))
    yield made
    yield text("Everything else that is a text has another name in the snapshot, or is not in it.", FAINT)
