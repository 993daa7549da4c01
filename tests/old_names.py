"""What is said about an anonymized snapshot, with the names that things have in its source."""

import re
from collections.abc import Mapping
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


class OldNames:
    """Gives things their old names back; new names are like no other word."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names`: of each text the new one."""
        self._old = {new: old for old, new in names.items()}
        assert len(self._old) == len(names), "two texts have one name"

    def in_text(self, text: str) -> str:
        """The text with old names."""
        return _NAME.sub(lambda found: self._name(found[0]), text)

    def within(self, value: Any) -> Any:
        """A JSON value with old names in all its texts."""
        match value:
            case str():
                return self.in_text(value)
            case dict():
                return {self.in_text(key): self.within(inner) for key, inner in value.items()}
            case list():
                return [self.within(inner) for inner in value]
        return value

    def _name(self, word: str) -> str:
        """A name, or one that was made of it: by a controller, by a dash and something else."""
        known = self._old.get(word)
        if known is not None:
            return known
        for separator in ("-", "."):
            head, mark, tail = word.partition(separator)
            parts = [head]
            while mark:
                if separator.join(parts) in self._old and not any(
                    separator.join([*parts, *tail.split(separator)[:more]]) in self._old
                    for more in range(1, tail.count(separator) + 2)
                ):
                    return self._old[separator.join(parts)] + mark + self._name(tail)
                head, mark, tail = tail.partition(separator)
                parts.append(head)
        return word


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A text that names objects of a cluster, with the names that these have in its anonymized snapshot."""
    return _NAME.sub(lambda found: names.get(found[0], found[0]), text)
