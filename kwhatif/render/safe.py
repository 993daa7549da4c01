"""Text from the cluster is data: nothing in it may act on a terminal, on Rich markup, or on writing direction."""

from __future__ import annotations

import unicodedata

#: Control characters, and format characters such as right-to-left marks; both can make a line read as what it is not.
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def safe(text: str) -> str:
    r"""The text with every character that could act replaced by its visible escape, such as `\x1b`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in _UNSAFE_CATEGORIES
        else character
        for character in text
    )
