"""Checks of what callers of the library give: a TypeError says which argument is wrong, and what it can be."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from difflib import get_close_matches

from kwhatif.questions.session.session import Session


def require_session(given: object, function: str) -> None:
    """Check that the first argument is a cluster.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(given, Session):
        kind = type(given).__name__
        raise TypeError(f"{function}() takes a cluster first, as kwhatif.load(...) returns it; this is of type {kind}")


def require_no_autoscaler(session: Session, function: str) -> None:
    """Check that the cluster has no autoscaler: the question cannot go on with new nodes.

    Raises:
        ValueError: the cluster has an autoscaler (`with_autoscaler`).
    """
    if session.scaling is not None:
        raise ValueError(f"{function}() does not reckon with an autoscaler: ask it about the cluster without one")


def require_known(options: Mapping[str, object], known: type, function: str) -> None:
    """Check that all options exist: `known` is the TypedDict of them.

    Raises:
        TypeError: one is not, as Python says of a function that names all of them.
    """
    names: frozenset[str] = getattr(known, "__optional_keys__", frozenset())
    for name in options:
        if name not in names:
            near = get_close_matches(name, names, 1)
            hint = f". Did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


def require_names(given: object, argument: str) -> None:
    """Check that it is a tuple or list of strings.

    Raises:
        TypeError: it is not, or one of these is of another type.
    """
    _require(given, argument, "a string", (str,))


def require_edits(given: object, argument: str) -> None:
    """Check that it is a tuple or list of edits.

    Raises:
        TypeError: it is not, or one of these is of another type.
    """
    _require(given, argument, "a string such as 'cordon a1', or a dict with one verb", (str, Mapping))


def _require(given: object, argument: str, meant: str, types: tuple[type, ...]) -> None:
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"{argument} is of type {type(given).__name__}; it is a list, and each of it {meant}")
    for number, each in enumerate(given, 1):
        if not isinstance(each, types):
            kind = "None" if each is None else f"of type {type(each).__name__}"
            raise TypeError(f"{argument} {number} is {kind}; it is {meant}")


def moment_of(at: datetime | None) -> str | None:
    """The moment in UTC and whole seconds, as recordings have it.

    Raises:
        ValueError: it has no time zone.
    """
    if at is None:
        return None
    if at.tzinfo is None:
        raise ValueError("at: it has no time zone")
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
