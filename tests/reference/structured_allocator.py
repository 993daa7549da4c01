"""The structured allocator, plainly: of all choices of devices the first one that is allowed.

For claims whose devices are taken as a whole and use no counters. A choice is one alternative for each request and a
combination of devices for each; choices are compared request by request, alternatives before devices, earlier devices
first. With that the answer of a depth-first search is known without searching.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

MAX_DEVICES = 32


class Item(NamedTuple):
    """A device: its name, the values of its attributes, whether it is free."""

    name: str
    values: dict[str, int]
    free: bool = True


class Want(NamedTuple):
    """One alternative of a request: how many devices (None: all) of those where `values[key]` is one of `of`."""

    path: str
    devices: int | None
    key: str = ""
    of: frozenset[int] = frozenset()

    def accepts(self, item: Item) -> bool:
        return not self.key or item.values.get(self.key) in self.of


class Rule(NamedTuple):
    """A constraint on an attribute: all values agree, over all devices of the claim."""

    key: str


class Claim(NamedTuple):
    requests: tuple[tuple[Want, ...], ...]
    rules: tuple[Rule, ...] = ()


Choice = tuple[tuple[str, ...], ...]


def allocate(items: Sequence[Item], claims: Sequence[Claim]) -> Choice | None:
    """`path=device` by claim."""
    return next(_choices(items, list(claims), frozenset()), None)


def _choices(items: Sequence[Item], claims: list[Claim], taken: frozenset[str]) -> Iterator[Choice]:
    if not claims:
        yield ()
        return
    first, *others = claims
    for chosen in _requests(items, list(first.requests), taken):
        if len(chosen) <= MAX_DEVICES and all(_holds(rule, [item for _, item in chosen]) for rule in first.rules):
            names = frozenset(item.name for _, item in chosen)
            for rest in _choices(items, others, taken | names):
                yield (tuple(f"{path}={item.name}" for path, item in chosen), *rest)


def _requests(
    items: Sequence[Item], requests: list[tuple[Want, ...]], taken: frozenset[str]
) -> Iterator[tuple[tuple[str, Item], ...]]:
    if not requests:
        yield ()
        return
    alternatives, *others = requests
    for want in alternatives:
        accepted = [item for item in items if want.accepts(item)]
        free = [item for item in accepted if item.free and item.name not in taken]
        if want.devices is None and (not accepted or len(free) < len(accepted)):
            continue
        for group in combinations(free, len(accepted) if want.devices is None else want.devices):
            for rest in _requests(items, others, taken | {item.name for item in group}):
                yield (*((want.path, item) for item in group), *rest)


def _holds(rule: Rule, items: Sequence[Item]) -> bool:
    values = [item.values.get(rule.key) for item in items]
    return None not in values and len(set(values)) <= 1
