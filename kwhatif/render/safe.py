"""Text from the cluster is data: none of it may act on a terminal, on Rich markup, or on writing direction."""

from __future__ import annotations

import re
import unicodedata

#: Control characters, and format characters such as right-to-left marks: both can disguise a line.
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


#: The maximum number of characters of a text: names and the scheduler's messages are far shorter.
_MOST_SHOWN = 10_000


def shortened(text: str) -> str:
    """The text, without its middle if it is far too long: the important parts are at its ends."""
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN // 2]} … {text[-_MOST_SHOWN // 2 :]}"


def safe(text: str) -> str:
    r"""The text with each active character replaced by its visible escape, such as `\x1b`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character.encode("unicode_escape").decode() if _acts(character) else character for character in text)


def is_safe(text: str) -> bool:
    """Whether the text has no active characters."""
    return (text.isascii() and text.isprintable()) or not any(map(_acts, text))


def safe_json(text: str) -> str:
    r"""JSON with `\uXXXX` for each active character: the same data."""
    return text if _is_plain(text) else _NOT_PLAIN.sub(_json_escape, text)


def safe_yaml(text: str) -> str:
    r"""YAML with an escape, in double quotes, for each active character: the same data."""
    return text if _is_plain(text) else _NOT_PLAIN.sub(_yaml_escape, text)


#: Beyond printable ASCII and line breaks.
_NOT_PLAIN = re.compile("[^\x20-\x7e\n]")


def _is_plain(text: str) -> bool:
    return text.isascii() and "\x7f" not in text


def _acts(character: str) -> bool:
    return unicodedata.category(character) in _UNSAFE_CATEGORIES


def _json_escape(found: re.Match[str]) -> str:
    character = found.group()
    return json_escape(character) if _acts(character) else character


def json_escape(character: str) -> str:
    r"""The escape in JSON and YAML: `\u20ac`; two of these for characters beyond U+FFFF."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _yaml_escape(found: re.Match[str]) -> str:
    character = found.group()
    return f"\\U{ord(character):08x}" if _acts(character) else character
