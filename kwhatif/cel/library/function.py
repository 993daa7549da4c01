"""`Function`: one function of a library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Function(NamedTuple):
    """One implementation, found at run time by name, style of call, and the kinds of its arguments.

    A `ValueError` that it raises becomes the error of the expression, with upstream's message.
    """

    name: str
    #: CEL names of the parameter types; a method's receiver comes first.
    parameters: tuple[str, ...]
    result: str
    implementation: Callable[..., Any]
    member: bool = False


def accepts(parse: Callable[..., Any]) -> Callable[..., bool]:
    """A function that returns whether `parse` accepts its arguments: `isURL` for `url`."""

    def accepted(*args: Any) -> bool:
        try:
            parse(*args)
        except ValueError:
            return False
        return True

    return accepted
