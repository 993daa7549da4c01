"""What a benchmark says: figures, each with what it is compared with and what it should be."""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """What a figure, or its ratio to the reference, should be."""

    limit: float
    of_ratio: bool = False
    at_least: bool = False

    def holds(self, value: float) -> bool:
        """Whether the value is good enough."""
        return value >= self.limit if self.at_least else value <= self.limit


def at_most(limit: float) -> Target:
    """A target of the figure itself."""
    return Target(limit)


def at_least(limit: float) -> Target:
    """A target of the figure itself, where more is better."""
    return Target(limit, at_least=True)


def times(limit: float) -> Target:
    """At most so many times the reference."""
    return Target(limit, of_ratio=True)


class Row(NamedTuple):
    """One figure; its unit also says how it is printed: "s", "ms", "GB" or something per second."""

    what: str
    figure: float
    unit: str
    #: What it is compared with, and the figure of that in the same unit, measured in the same run.
    against: str = ""
    reference: float | None = None
    target: Target | None = None

    @property
    def ratio(self) -> float | None:
        """The figure as a multiple of the reference."""
        return self.figure / self.reference if self.reference else None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.target is None:
            return None
        value = self.ratio if self.target.of_ratio else self.figure
        assert value is not None, f"{self.what}: a target of the ratio needs a reference"
        return self.target.holds(value)
