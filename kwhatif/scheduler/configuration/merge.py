"""The plugins of each extension point (`apis/config/v1/default_plugins.go`, `framework/runtime/framework.go`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.scheduler.catalog import Entry
from kwhatif.scheduler.configuration.schema import PluginRef, Plugins, PluginSet
from kwhatif.scheduler.framework.profile import Point

ALL = "*"

#: Plugin sets by extension point; None is `multiPoint`.
PluginSets = Mapping[Point | None, PluginSet]


def plugin_sets(plugins: Plugins) -> dict[Point | None, PluginSet]:
    """The sets in the configuration, by point."""
    return {None: plugins.multi_point, **{point: getattr(plugins, point.name.lower()) for point in Point}}


def with_enabled(
    sets: PluginSets, entries: Mapping[str, Entry], enabled: Sequence[str]
) -> dict[Point | None, PluginSet]:
    """The sets with `enabled` added at the end of `multiPoint.enabled`, unless `multiPoint` mentions them itself."""
    multi_point = sets[None]
    said = {ref.name for ref in (*multi_point.enabled, *multi_point.disabled)}
    added = [PluginRef(name=name, weight=entries[name].weight) for name in enabled if name not in said]
    return {**sets, None: replace(multi_point, enabled=(*multi_point.enabled, *added))}


def replacements(sets: PluginSets, entries: Mapping[str, Entry], enabled: Sequence[str]) -> dict[str, str]:
    """Built-in plugin -> its replacement in this profile."""
    used = {*enabled, *(ref.name for found in sets.values() for ref in found.enabled)}
    return {entry.replaces: name for name, entry in entries.items() if entry.replaces and name in used}


def with_replaced(
    sets: PluginSets, entries: Mapping[str, Entry], replaced: Mapping[str, str]
) -> dict[Point | None, PluginSet]:
    """The sets with plugins replaced, at the points that the replacements have."""

    def renamed(refs: Sequence[PluginRef], point: Point | None) -> tuple[PluginRef, ...]:
        return tuple(
            replace(ref, name=replaced.get(ref.name, ref.name))
            for ref in refs
            if ref.name not in replaced or point is None or point in entries[replaced[ref.name]].points
        )

    return {
        point: PluginSet(enabled=renamed(found.enabled, point), disabled=renamed(found.disabled, point))
        for point, found in sets.items()
    }


def defaults(entries: Mapping[str, Entry], replaced: Mapping[str, str]) -> list[PluginRef]:
    """The default plugins of `multiPoint`."""
    standing = (entries[replaced.get(entry.name, entry.name)] for entry in entries.values() if entry.default)
    return [PluginRef(name=entry.name, weight=entry.weight) for entry in standing]


def merge_defaults(standard: Sequence[PluginRef], custom: PluginSet) -> tuple[PluginRef, ...]:
    """The default set, with plugins dropped, replaced in place, or appended by the custom set (`mergePluginSet`)."""
    disabled = {ref.name for ref in custom.disabled}
    kept = [] if ALL in disabled else [ref for ref in standard if ref.name not in disabled]
    # If a plugin is named twice, the last one is replaced in place; the others are appended, and rejected later.
    last = {ref.name: index for index, ref in enumerate(custom.enabled)}
    in_place = {last[ref.name] for ref in kept if ref.name in last}
    return (
        *(custom.enabled[last[ref.name]] if ref.name in last else ref for ref in kept),
        *(ref for index, ref in enumerate(custom.enabled) if index not in in_place),
    )


def expand(
    point: Point, own: PluginSet, multi_point: Sequence[PluginRef], entries: Mapping[str, Entry]
) -> list[PluginRef]:
    """The plugins of one point in their final order (`expandMultiPointPlugins`)."""
    disabled = {ref.name for ref in own.disabled}
    if ALL in disabled:
        return list(own.enabled)
    listed = {ref.name for ref in own.enabled}
    everywhere = [
        ref
        for ref in multi_point
        if ref.name not in disabled and ref.name in entries and point in entries[ref.name].points
    ]
    names = {ref.name for ref in everywhere}
    return [
        *(ref for ref in own.enabled if ref.name in names),
        *(ref for ref in everywhere if ref.name not in listed),
        *(ref for ref in own.enabled if ref.name not in names),
    ]


def weights(score: Sequence[PluginRef], multi_point: Sequence[PluginRef]) -> dict[str, int]:
    """Score weights: the point's own entry counts before that of `multiPoint`; unset is 1."""
    found = {ref.name: ref.weight for ref in multi_point}
    found.update({ref.name: ref.weight for ref in score})
    return {name: weight or 1 for name, weight in found.items()}


def can_overflow(score: Sequence[PluginRef], multi_point: Sequence[PluginRef], entries: Mapping[str, Entry]) -> bool:
    """Whether the scheduler reports that the sum of all weighted scores may overflow (`getValidScoreWeights`).

    QUIRK: (framework.go) weights have 32 bits, so it cannot overflow. But the check itself overflows once the sum is
    negative, which rejects negative weights, except for the last one.
    """
    total = 0
    seen: set[str] = set()
    for ref in (*score, *multi_point):
        if ref.name in seen or ref.name not in entries or Point.SCORE not in entries[ref.name].points:
            continue
        seen.add(ref.name)
        if total < 0:
            return True
        total += ref.weight or 1
    return False


def repeated(refs: Sequence[PluginRef]) -> Iterator[tuple[int, str]]:
    """Plugins that a list names twice: (index, name)."""
    seen: set[str] = set()
    for index, ref in enumerate(refs):
        if ref.name in seen:
            yield index, ref.name
        seen.add(ref.name)
