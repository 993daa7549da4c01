"""String functions that fail in other cases than the engine's (cel-go's `ext/strings.go`, v0.26)."""

from __future__ import annotations

from kwhatif.cel.library.function import Function


def _index(number: int, last: int) -> int:
    if not 0 <= number <= last:
        raise ValueError(f"index out of range: {number}")
    return number


def index_of(text: str, wanted: str, start: int) -> int:
    """`string.indexOf(wanted, start)`: -1 if the start is beyond the end."""
    # QUIRK: an empty string is found at the start of the search, even outside of the text.
    return start if not wanted else text.find(wanted, _index(start, max(start, 0)))


def last_index_of(text: str, wanted: str, start: int) -> int:
    """`string.lastIndexOf(wanted, start)`: -1 if the start is beyond the end."""
    if not wanted:
        return start  # QUIRK: an empty string is found at the start of the search, even outside of the text.
    if _index(start, max(start, 0)) >= len(text):
        return -1
    return text.rfind(wanted, 0, start + len(wanted))


def char_at(text: str, index: int) -> str:
    """`string.charAt(index)`: the empty string right after the end."""
    _index(index, len(text))
    return text[index : index + 1]


def tail(text: str, start: int) -> str:
    """`string.substring(start)`."""
    return text[_index(start, len(text)) :]


def middle(text: str, start: int, end: int) -> str:
    """`string.substring(start, end)`."""
    if start > end:
        raise ValueError(f"invalid substring range. start: {start}, end: {end}")
    return text[_index(start, len(text)) : _index(end, len(text))]


#: Overload of the engine -> its replacement.
RENAMED = {
    "string_index_of_string_int": "@string.indexOf",
    "string_last_index_of_string_int": "@string.lastIndexOf",
    "string_char_at_int": "@string.charAt",
    "string_substring_int": "@string.substring",
    "string_substring_int_int": "@string.substring",
}
FUNCTIONS = (
    Function("@string.indexOf", ("string", "string", "int"), "int", index_of),
    Function("@string.lastIndexOf", ("string", "string", "int"), "int", last_index_of),
    Function("@string.charAt", ("string", "int"), "string", char_at),
    Function("@string.substring", ("string", "int"), "string", tail),
    Function("@string.substring", ("string", "int", "int"), "string", middle),
)
