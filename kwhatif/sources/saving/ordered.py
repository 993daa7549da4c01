"""`OrderedNames`: new names that sort as the old ones did, among themselves and among the texts that are kept.

Kubernetes makes names of others: `<deployment>-<hash>`, `<set>-<ordinal>`, `<pod>-<volume>`. So does kwhatif, where it
makes pods. A text that begins with another one and a dash is therefore made of the new names of its parts; as a dash
sorts before all that may stand in a name instead, that keeps the order, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise

#: What may follow in a new name to make it larger: a letter stands at the end, so that no new name is a number.
_NEXT = (*"abcdefghijklmnopqrstuvwxyz", *(f"{digit}x" for digit in range(10)))
_LAST = "~"
#: The longest name that the API server takes (`DNS1123SubdomainMaxLength`): a longer text is not made of names, and to
#: look for them at each of its dashes would take long.
_LONGEST = 253


class OrderedNames:
    """New names for the texts of a cluster."""

    def __init__(
        self,
        texts: Mapping[str, str],
        kept: Collection[str],
        fences: Collection[str],
        made: Mapping[str, tuple[str, str]],
        bases: Collection[str],
    ) -> None:
        """Find names.

        Args:
            texts: each text that is renamed, and what its new name ends in, such as `-node`; "" for nothing.
            kept: texts that stay.
            fences: texts that stay somewhere, and that the others sort among.
            made: texts that are known to be made of two others, with a dash between them.
            bases: names of which others are made by adding a dash and a suffix.
        """
        self._bases = bases
        self._parts = dict(made)
        ends: dict[str, str] = {}
        todo = [(text, end) for text, end in texts.items() if text not in kept]
        while todo:
            text, end = todo.pop()
            parts = self._parts_of(text)
            if parts is not None:
                todo += [(part, "") for part in parts if part not in kept and part not in ends]
            elif not ends.get(text):
                ends[text] = end
        self._names = {text: text for text in kept} | dict(_named(ends, sorted(fences)))

    def __contains__(self, text: str) -> bool:
        return text in self._names or text in self._parts

    def of(self, text: str) -> str:
        """The new name; a text that is not known stays as it is."""
        known = self._names.get(text)
        if known is not None:
            return known
        parts = self._parts.get(text)
        return text if parts is None else "-".join(map(self.of, parts))

    def __iter__(self) -> Iterator[str]:
        yield from self._names
        yield from self._parts

    def _parts_of(self, text: str) -> tuple[str, str] | None:
        """What the text is made of: the longest base that it begins with, and the rest."""
        found = self._parts.get(text)
        if found is None and len(text) <= _LONGEST:
            end = text.rfind("-", 0, len(text) - 1)
            while end > 0:
                if text[:end] in self._bases:
                    found = self._parts[text] = text[:end], text[end + 1 :]
                    break
                end = text.rfind("-", 0, end)
        return found


def _named(ends: Mapping[str, str], kept: list[str]) -> Iterator[tuple[str, str]]:
    """The new names of texts that are not made of others: numbered within each gap between two kept texts."""
    texts = sorted(ends)
    place = 0
    for low, high in pairwise(["", *kept, _LAST]):
        start = place
        while place < len(texts) and (high == _LAST or texts[place] < high):
            place += 1
        prefix, width = _between(low, high), len(str(place - start))
        for number, text in enumerate(texts[start:place], 1):
            yield text, f"{prefix}{number:0{width}}{ends[text]}"


def _between(low: str, high: str) -> str:
    """The beginning of names that sort after `low` and before `high`, as short as possible."""
    for length in range(len(low) + 1):
        after = low[length : length + 1]
        for more in _NEXT:
            found: str = low[:length] + more
            if more[0] > after and f"{found}9" < high:
                return found
    rest = high[len(low) :]
    if high.startswith(low) and len(rest) > 1:
        return f"{low}{rest[0]}" + _between("", rest[1:])
    return f"{low}-x"
