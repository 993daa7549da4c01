"""Changing parts of frozen objects while keeping every part that does not change.

A cluster's pods are already as the API server stores them, so nearly always nothing changes, and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def each(change: Callable[[T], T], items: tuple[T, ...]) -> tuple[T, ...]:
    """`change` applied to every item; the same tuple when every item stays the same object."""
    for item in items:
        if change(item) is not item:
            return tuple(map(change, items))
    return items
