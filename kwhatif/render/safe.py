"""Text from the cluster is data: nothing in it may act on a terminal, on Rich markup, or on writing direction."""

from __future__ import annotations

import re
import unicodedata

#: Control characters, and format characters such as right-to-left marks; both can make a line read as what it is not.
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


#: Characters of one text that are shown: no name, and no message of the scheduler, comes near it.
_MOST_SHOWN = 10_000


def shortened(text: str) -> str:
    """The text without its middle, where it holds a megabyte of the input: what matters stands at its ends."""
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN // 2]} … {text[-_MOST_SHOWN // 2 :]}"


def safe(text: str) -> str:
    r"""The text with every character that could act replaced by its visible escape, such as `\x1b`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character.encode("unicode_escape").decode() if _acts(character) else character for character in text)


def is_safe(text: str) -> bool:
    """Whether no character of the text could act."""
    return (text.isascii() and text.isprintable()) or not any(map(_acts, text))


def safe_json(text: str) -> str:
    r"""JSON with `\uXXXX` for every character that could act: the same data."""
    return text if _is_plain(text) else _NOT_PLAIN.sub(_json_escape, text)


def safe_yaml(text: str) -> str:
    r"""YAML with an escape for every character that could act: these must stand in double quotes, the same data."""
    return text if _is_plain(text) else _NOT_PLAIN.sub(_yaml_escape, text)


#: Beyond printable ASCII and the ends of lines.
_NOT_PLAIN = re.compile("[^\x20-\x7e\n]")


def _is_plain(text: str) -> bool:
    return text.isascii() and "\x7f" not in text


def _acts(character: str) -> bool:
    return unicodedata.category(character) in _UNSAFE_CATEGORIES


def _json_escape(found: re.Match[str]) -> str:
    character = found.group()
    return json_escape(character) if _acts(character) else character


def json_escape(character: str) -> str:
    r"""As JSON and YAML write it: `\u20ac`, and two of these beyond the first 65,536 characters."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _yaml_escape(found: re.Match[str]) -> str:
    character = found.group()
    return f"\\U{ord(character):08x}" if _acts(character) else character
