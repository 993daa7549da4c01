"""How many steps a backtracking matcher takes for a pattern and a text: what `re` does, counted instead of timed."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from re import _constants as sre  # type: ignore[attr-defined] # isort: skip
from re import _parser as sre_parser  # type: ignore[attr-defined] # isort: skip

#: A repetition that may go on for longer is pumped; a shorter one costs a constant.
_UNBOUNDED = 200
#: More steps than any line takes here.
_MOST = 20_000
#: A text of one line with every kind of character that patterns are about.
_CHARACTERS = " a0-.:/\"'([,\\\n"
_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}


class TooManySteps(Exception):
    """The matcher was stopped."""


class Steps:
    """A matcher that counts: one step for each node of the pattern that is tried at a place of the text."""

    def __init__(self, pattern: re.Pattern[Any], text: str, most: int) -> None:
        self.count = 0
        self._text = text
        self._most = most
        self._flags = pattern.flags
        source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        self._tree = list(sre_parser.parse(source, pattern.flags & ~re.DEBUG))
        self._groups: dict[int, str] = {}

    def run(self, method: str) -> int:
        """Steps of this method of a pattern; those that go on behind a match are `finditer`."""
        at = 0
        while at <= len(self._text):
            ends = self._sequence(self._tree, 0, at)
            end = next((end for end in ends if method != "fullmatch" or end == len(self._text)), None)
            if method in ("match", "fullmatch") or (method == "search" and end is not None):
                break
            at = max(end or 0, at + 1)
        return self.count

    def _sequence(self, nodes: Sequence[Any], index: int, at: int) -> Iterator[int]:
        if index == len(nodes):
            yield at
            return
        for end in self._node(nodes[index], at):
            yield from self._sequence(nodes, index + 1, end)

    def _node(self, node: Any, at: int) -> Iterator[int]:  # noqa: PLR0912 - one arm per kind of node
        self.count += 1
        if self.count > self._most:
            raise TooManySteps
        kind, what = node
        if kind in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
            if at < len(self._text) and accepts(node, self._text[at], self._flags):
                yield at + 1
        elif kind is sre.BRANCH:
            for option in what[1]:
                yield from self._sequence(list(option), 0, at)
        elif kind is sre.SUBPATTERN:
            for end in self._sequence(list(what[3]), 0, at):
                self._groups[what[0]] = self._text[at:end]
                yield end
        elif kind is sre.ATOMIC_GROUP:
            yield from islice(self._sequence(list(what), 0, at), 1)
        elif kind is sre.POSSESSIVE_REPEAT:
            yield from islice(self._repeat(what, at, 0), 1)
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            yield from self._repeat(what, at, 0, lazy=kind is sre.MIN_REPEAT)
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            yield from self._assert(what, at, negated=kind is sre.ASSERT_NOT)
        elif kind is sre.GROUPREF:
            if self._text.startswith(self._groups.get(what, "\0"), at):
                yield at + len(self._groups[what])
        elif kind is sre.AT:
            if self._is_at(what, at):
                yield at
        else:
            raise NotImplementedError(kind)

    def _repeat(self, what: Any, at: int, done: int, *, lazy: bool = False) -> Iterator[int]:
        low, high, body = what
        if lazy and done >= low:
            yield at
        if high is sre.MAXREPEAT or done < high:
            for end in self._sequence(list(body), 0, at):
                if end > at or done < low:
                    yield from self._repeat(what, end, done + 1, lazy=lazy)
        if not lazy and done >= low:
            yield at

    def _assert(self, what: Any, at: int, *, negated: bool) -> Iterator[int]:
        direction, body = what
        if direction < 0:
            width = sre_parser.SubPattern(body.state, list(body)).getwidth()[1]
            at_start = at - width
            found = at_start >= 0 and any(end == at for end in self._sequence(list(body), 0, at_start))
        else:
            found = next(self._sequence(list(body), 0, at), None) is not None
        if found is not negated:
            yield at

    def _is_at(self, what: Any, at: int) -> bool:
        text = self._text
        if what in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
            return at == 0 or bool(what is sre.AT_BEGINNING and self._flags & re.MULTILINE and text[at - 1] == "\n")
        if what in (sre.AT_END, sre.AT_END_STRING):
            return at == len(text) or (what is sre.AT_END and text[at] == "\n")
        is_word = [0 <= place < len(text) and (text[place].isalnum() or text[place] == "_") for place in (at - 1, at)]
        return (is_word[0] != is_word[1]) is (what is sre.AT_BOUNDARY)


def accepts(node: Any, character: str, flags: int = 0) -> bool:
    """Whether a node for one character takes this one."""
    kind, what = node
    code = ord(character)
    if flags & re.IGNORECASE and character.swapcase() != character:
        other = accepts(node, character.swapcase(), flags & ~re.IGNORECASE)
        return other or accepts(node, character, flags & ~re.IGNORECASE)
    if kind is sre.LITERAL:
        return bool(code == what)
    if kind is sre.NOT_LITERAL:
        return bool(code != what)
    if kind is sre.ANY:
        return bool(flags & re.DOTALL) or character != "\n"
    negated = what[0][0] is sre.NEGATE
    return any(_in(item, character) for item in what[negated:]) is not negated


def _in(item: Any, character: str) -> bool:
    kind, what = item
    if kind is sre.RANGE:
        return bool(what[0] <= ord(character) <= what[1])
    if kind is sre.CATEGORY:
        return re.match(_CATEGORIES[what], character) is not None
    return bool(ord(character) == what)


def attacks(pattern: re.Pattern[Any], times: int) -> Iterator[str]:
    """Texts that each go round one of the pattern's repetitions many times, and then do not match."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    for before, bodies in _pumps(list(sre_parser.parse(source, pattern.flags)), pattern.flags):
        for body in bodies:
            yield before + body * times
            yield before + body * times + "\0"


def _pumps(nodes: Sequence[Any], flags: int, before: str = "") -> Iterator[tuple[str, list[str]]]:
    """Each repetition of the pattern: a text that leads to it, and what may be repeated there."""
    for node in nodes:
        kind, what = node
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            _, high, body = what
            if high is sre.MAXREPEAT or high >= _UNBOUNDED:
                yield before, _bodies(list(body), flags)
            yield from _pumps(list(body), flags, before)
        for inner in _inside(node):
            yield from _pumps(inner, flags, before)
        before += _sample([node], flags)


def _inside(node: Any) -> list[list[Any]]:
    kind, what = node
    if kind is sre.BRANCH:
        return [list(option) for option in what[1]]
    if kind is sre.SUBPATTERN:
        return [list(what[3])]
    if kind is sre.ATOMIC_GROUP:
        return [list(what)]
    return [list(what[1])] if kind in (sre.ASSERT, sre.ASSERT_NOT) and what[0] > 0 else []


def _bodies(body: list[Any], flags: int) -> list[str]:
    """Texts that the body of a repetition takes: single characters that it can begin with, and samples of all of it."""
    found = [character for character in _CHARACTERS if _begins(body, character, flags)]
    for first in found or [""]:
        found = [*found, first + _sample(body[1:], flags)]
    found += [_sample(body, flags), _sample(body, flags, 3)]
    for options in (inner for node in body for inner in _inside(node)):
        found.append(_sample(options, flags))
    return [text for text in dict.fromkeys(found) if text]


def _begins(nodes: Sequence[Any], character: str, flags: int) -> bool:
    for node in nodes:
        kind, what = node
        if kind in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
            return accepts(node, character, flags)
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            if _begins(list(what[2]), character, flags):
                return True
            if what[0] > 0:
                return False
            continue
        inside = _inside(node)
        if inside and kind not in (sre.ASSERT, sre.ASSERT_NOT):
            return any(_begins(inner, character, flags) for inner in inside)
    return False


def _sample(nodes: Sequence[Any], flags: int, times: int = 1) -> str:
    """A short text that the nodes take (assertions are not looked at); what may be repeated is, so many times."""
    text = ""
    for node in nodes:
        kind, what = node
        if kind is sre.LITERAL:
            text += chr(what)
        elif kind in (sre.NOT_LITERAL, sre.IN, sre.ANY):
            text += next((one for one in "a0 " + _CHARACTERS if accepts(node, one, flags)), "")
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            text += _sample(list(what[2]), flags, times) * max(
                what[0], min(times, what[1]) if what[0] or times > 1 else 0
            )
        elif kind is sre.BRANCH:
            text += _sample(list(what[1][0]), flags, times)
        elif kind in (sre.SUBPATTERN, sre.ATOMIC_GROUP):
            text += _sample(_inside(node)[0], flags, times)
    return text


def growth(pattern: re.Pattern[Any], method: str, sizes: tuple[int, int]) -> tuple[float, str]:
    """How many times as many steps the larger of two sizes takes, at worst, and the text that does it.

    Beyond all bounds: infinitely many.
    """
    worst, culprit = 0.0, ""
    small, large = (attacks(pattern, size) for size in sizes)
    for short, long in zip(small, large, strict=True):
        try:
            grown = Steps(pattern, long, _MOST).run(method) / Steps(pattern, short, _MOST).run(method)
        except TooManySteps:
            return float("inf"), long
        worst, culprit = max((worst, culprit), (grown, long))
    return worst, culprit
