"""What stays in an anonymized snapshot, to read before it is handed to others: every text, where it stands, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kwhatif.render.blocks import Block, Sentence, Table, words
from kwhatif.sources.saving.anonymize import Kept
from kwhatif.sources.saving.words import AMOUNT, NUMBER, TIME
from kwhatif.words.amounts import some

#: Of these, which name nothing, only a few are shown.
_MEASURES = (AMOUNT, NUMBER, TIME)


def kept_blocks(kept: Iterable[Kept]) -> Iterator[Block]:
    """The table, by reason and field."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in kept:
        found.setdefault((each.why, each.where), []).append(each.text)
    rows = [
        (some(texts) if why in _MEASURES else ", ".join(texts), where, why)
        for (why, where), texts in sorted(found.items())
    ]
    yield Table((words("Kept"), words("First found in"), words("Why")), rows, most=None)
    yield Sentence("Everything else that is a text has another name in the snapshot, or is not in it.", "faint")
