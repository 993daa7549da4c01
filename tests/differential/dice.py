"""Random choices, repeatable by seed."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Dice(random.Random):
    """`random.Random` with the words that generators use."""

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self.random() < probability

    def pick(self, *options: T) -> T:
        """One of the arguments; name one twice to see it more often."""
        return options[self.randrange(len(options))]

    def one(self, options: Sequence[T]) -> T:
        """One of a sequence."""
        return options[self.randrange(len(options))]

    def some(self, options: Sequence[T], least: int = 0, most: int | None = None) -> list[T]:
        """Different ones of a sequence, in any order."""
        most = len(options) if most is None else min(most, len(options))
        return self.sample(list(options), self.randint(min(least, most), most))

    def weighted(self, options: Mapping[T, float]) -> T:
        """A key, as often as its value says."""
        return self.choices(list(options), list(options.values()))[0]

    def sometimes(self, fields: Mapping[str, Any], probability: float = 0.5) -> dict[str, Any]:
        """Each field with that probability; a function is called for its value only then."""
        return {
            name: value() if isinstance(value, Callable) else value  # type: ignore[arg-type]
            for name, value in fields.items()
            if self.chance(probability)
        }
