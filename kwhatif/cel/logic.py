r"""Operands of `&&` and `||` that are no bools, in cel-go's words: each where it stands.

The engine tells where the operator is, and two types at a time. So the expression is compiled once more, for the
message: with every operand in a function that takes anything, the types are known, and where they are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

from kwhatif.cel.checked import Checked, Node, walk
from kwhatif.cel.messages import located

#: The function; no expression of anybody's has it.
OPERAND = "kwhatif_operand_of_logic"

_TOKEN = re.compile(
    r"//[^\n]*"
    r'|[bB]?[rR][bB]?(?:"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"[^"\n]*"|\'[^\'\n]*\')'
    r'|"""(?:\\[\s\S]|[^\\])*?"""|\'\'\'(?:\\[\s\S]|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    r"|\.\?|[\[{]\?|&&|\|\||[?:,()\[\]{}]"
)
#: What holds for a bool: it is one, or may turn out to be one.
_BOOLS = frozenset({"bool", "dyn", "any", "wrapper(bool)"})

Span = tuple[int, int]


def is_about_logic(message: str) -> bool:
    """Whether the type checker minds the operand of `&&` or `||`."""
    return "'_&&_'" in message or "'_||_'" in message


def in_functions(expression: str) -> str:
    """The expression with every operand of `&&` and `||` in the function."""
    starts, ends = _edges(expression)
    pieces = []
    for offset in range(len(expression) + 1):
        pieces += [")"] * ends[offset] + [f"{OPERAND}("] * starts[offset] + [expression[offset : offset + 1]]
    return "".join(pieces)


def complaints(expression: str, checked: Checked) -> str:
    """What cel-go says of the operands; `checked` is the compiled `in_functions(expression)`."""
    shifts = _shifts(expression)
    told = []
    for node in _operands(checked):
        found = checked.type_of(node)
        if found not in _BOOLS:
            at = checked.offset(node)
            at -= shifts[bisect_right(shifts, (at, len(expression) * len(OPERAND))) - 1][1]
            line = expression.count("\n", 0, at) + 1
            column = at - expression.rfind("\n", 0, at)
            told.append((line, column, f"expected type 'bool' but found '{found}'"))
    return "\n".join(located(expression, *place) for place in sorted(told))


def _shifts(expression: str) -> list[tuple[int, int]]:
    """From which offset on in `in_functions(expression)` everything is by how much further right than before."""
    starts, ends = _edges(expression)
    shifts, moved = [(0, 0)], 0
    for offset in sorted({*starts, *ends}):
        moved += ends[offset] + starts[offset] * len(f"{OPERAND}(")
        shifts.append((offset + moved, moved))
    return shifts


def _operands(checked: Checked) -> Iterator[Node]:
    for node in walk(checked.root):
        if node.call_expr.function == OPERAND:
            yield node.call_expr.args[0]


def _edges(expression: str) -> tuple[Counter[int], Counter[int]]:
    """At which offsets operands start and end, and how many of them."""
    spans = list(_spans(expression))
    return Counter(start for start, _ in spans), Counter(end for _, end in spans)


def _spans(expression: str) -> Iterator[Span]:
    """The operands of all `&&` and `||`. Brackets, commas and the conditional operator bound them."""
    open_: list[tuple[int, list[tuple[str, Span]]]] = [(0, [])]
    for token in _TOKEN.finditer(expression):
        text, place = token[0], token.span()
        if text in ("&&", "||"):
            open_[-1][1].append((text, place))
        elif text[0] in "([{":
            open_.append((place[1], []))
        elif text in ("?", ":", ","):
            yield from _split(expression, *open_.pop(), place[0])
            open_.append((place[1], []))
        elif text in (")", "]", "}") and len(open_) > 1:
            yield from _split(expression, *open_.pop(), place[0])
    yield from _split(expression, *open_[-1], len(expression))


def _split(expression: str, start: int, operators: list[tuple[str, Span]], end: int) -> Iterator[Span]:
    """The operands between two bounds: those of `||`, and within them those of `&&`, which binds tighter.

    And all of it, if there are any: cel-go does not mind what is done with something that is wrong in itself.
    """
    if operators:
        yield _trimmed(expression, start, end)
    alternatives = list(_between(start, [place for text, place in operators if text == "||"], end))
    for alternative in alternatives:
        first, last = alternative
        inside = [place for text, place in operators if text == "&&" and first <= place[0] < last]
        parts = list(_between(first, inside, last))
        for part in [alternative] * (len(alternatives) > 1) + parts * (len(parts) > 1):
            yield _trimmed(expression, *part)


def _between(start: int, bounds: list[Span], end: int) -> Iterator[Span]:
    for first, last in bounds:
        yield start, first
        start = last
    yield start, end


def _trimmed(expression: str, start: int, end: int) -> Span:
    text = expression[start:end]
    return start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())
