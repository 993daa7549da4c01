"""What a cluster is asked for: the API's lists of the kinds that scheduling reads."""

from __future__ import annotations

from collections.abc import Iterable

from kwhatif.model.kinds import RESOURCES as KNOWN
from kwhatif.model.kinds import Resource
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod

#: The largest lists come first.
RESOURCES: tuple[Resource, ...] = tuple(sorted(KNOWN.values(), key=lambda resource: resource.type not in (Node, Pod)))
BY_KIND = {resource.kind: resource for resource in RESOURCES}
BY_PLURAL = {resource.plural: resource for resource in RESOURCES}

#: Without these there is no answer at all.
ESSENTIAL = frozenset({"Node", "Pod"})

_CORE = "the core group"


def by_group(kinds: Iterable[str]) -> str:
    """The resources of these kinds in words, group by group: `limitranges in the core group, jobs in batch`."""
    groups: dict[str, list[str]] = {}
    for kind in kinds:
        groups.setdefault(BY_KIND[kind].group, []).append(BY_KIND[kind].plural)
    return ", ".join(f"{' and '.join(_pairs(plurals))} in {group or _CORE}" for group, plurals in groups.items())


def _pairs(words: list[str]) -> list[str]:
    return [", ".join(words[:-1]), words[-1]] if len(words) > 1 else words
