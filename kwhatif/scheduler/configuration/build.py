"""Builds profiles from a KubeSchedulerConfiguration, with upstream's defaults, merge rules and validation.

Follows `apis/config/v1/default_plugins.go` and `framework/runtime/framework.go`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.errors import InputError, Problem
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.field_errors import Issue, duplicate, invalid, problems, without_nulls
from kwhatif.scheduler.catalog import Entry, make_profile
from kwhatif.scheduler.configuration.schema import (
    API_VERSION,
    KIND,
    KubeSchedulerConfiguration,
    PluginConfig,
    PluginRef,
    Plugins,
    PluginSet,
    ProfileConfig,
)
from kwhatif.scheduler.configuration.validate import argument_issues, top_level
from kwhatif.scheduler.framework.plugin import Plugin
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, GROUP_POINTS, Point, Profile

ALL = "*"

#: Plugin sets by extension point; the key None is `multiPoint`.
PluginSets = Mapping[Point | None, PluginSet]


def plugin_sets(plugins: Plugins) -> dict[Point | None, PluginSet]:
    """The sets in the configuration, by point."""
    return {None: plugins.multi_point, **{point: getattr(plugins, point.name.lower()) for point in Point}}


def with_enabled(
    sets: PluginSets, entries: Mapping[str, Entry], enabled: Sequence[str]
) -> dict[Point | None, PluginSet]:
    """The sets with `enabled` added to `multiPoint.enabled`, except plugins that `multiPoint` enables or disables."""
    multi_point = sets[None]
    listed = {ref.name for ref in (*multi_point.enabled, *multi_point.disabled)}
    added = [PluginRef(name=name, weight=entries[name].weight) for name in enabled if name not in listed]
    return {**sets, None: replace(multi_point, enabled=(*multi_point.enabled, *added))}


def replacements(sets: PluginSets, entries: Mapping[str, Entry], enabled: Sequence[str]) -> dict[str, str]:
    """Built-in plugin -> its replacement in this profile."""
    used = {*enabled, *(ref.name for found in sets.values() for ref in found.enabled)}
    return {entry.replaces: name for name, entry in entries.items() if entry.replaces and name in used}


def with_replaced(
    sets: PluginSets, entries: Mapping[str, Entry], replaced: Mapping[str, str]
) -> dict[Point | None, PluginSet]:
    """The sets with plugins replaced, at the extension points that the replacements implement."""

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
    # If a plugin is listed twice, its last entry replaces the default; the others are appended, and rejected later.
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
    """Score weights: the entry of `score` takes precedence over the entry of `multiPoint`; an unset weight is 1."""
    found = {ref.name: ref.weight for ref in multi_point}
    found.update({ref.name: ref.weight for ref in score})
    return {name: weight or 1 for name, weight in found.items()}


def can_overflow(score: Sequence[PluginRef], multi_point: Sequence[PluginRef], entries: Mapping[str, Entry]) -> bool:
    """Whether the scheduler reports that the sum of all weighted scores may overflow (`getValidScoreWeights`).

    QUIRK: (framework.go) weights have 32 bits, so the sum cannot overflow. But the check itself overflows as soon as
    the sum is negative. So it rejects negative weights, except the weight of the last plugin.
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
    """(index, name) of each plugin that is already in the list before."""
    seen: set[str] = set()
    for index, ref in enumerate(refs):
        if ref.name in seen:
            yield index, ref.name
        seen.add(ref.name)


def decode(data: Mapping[str, Any], where: str, entries: Sequence[Entry]) -> KubeSchedulerConfiguration:
    """The configuration, with strict types.

    Raises:
        InputError: unknown fields, or values of wrong types.
    """
    if (data.get("apiVersion"), data.get("kind")) != (API_VERSION, KIND):
        found = f"{data.get('apiVersion') or ''} {data.get('kind') or ''}".strip() or "neither"
        raise InputError([Problem(where, f"expected apiVersion {API_VERSION} and kind {KIND}, got {found}")])
    data = without_nulls(data)
    issues = list(problems(data, KubeSchedulerConfiguration)) or list(_unknown_points(data, entries))
    if issues:
        raise InputError([Problem(where, message, path) for path, message in issues])
    return msgspec.convert(data, KubeSchedulerConfiguration)


def _unknown_points(data: Mapping[str, Any], entries: Sequence[Entry]) -> Iterator[Issue]:
    """Extension points for pod groups that the release does not have yet."""
    unknown = GROUP_POINTS.difference(*(entry.points for entry in entries))
    for index, profile in enumerate(data.get("profiles", ())):
        for name in sorted({point.value for point in unknown} & profile.get("plugins", {}).keys()):
            yield f"profiles[{index}].plugins.{name}", "unknown field"


#: Removed plugins: kube-scheduler still knows their names, and rejects them.
REMOVED_PLUGINS = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
#: QUIRK: (validation.go) the message names the version of the core API.
_REMOVED = f'was invalid in version "v1" ({KIND} is version "{API_VERSION}")'
#: Go's names of the interfaces, for error messages. `multiPoint` expands from PreFilter on.
_INTERFACES = {point: f"{point.value[0].upper()}{point.value[1:]}Plugin" for point in Point}
_UNFOLDED = sorted(Point, key=lambda point: point in (Point.PRE_ENQUEUE, Point.QUEUE_SORT))
_FIT = "NodeResourcesFit"


def build_profiles(
    data: Mapping[str, Any],
    where: str,
    entries: Sequence[Entry],
    enabled: Sequence[str] = (),
    gates: Gates = BASE_GATES,
) -> tuple[dict[str, Profile], KubeSchedulerConfiguration]:
    """Profiles by scheduler name, and the configuration they come from.

    `data` is the parsed file, `where` its name; `entries` are all existing plugins, in default order. Plugins in
    `enabled` run in every profile whose `multiPoint` does not list them. `gates` are the enabled feature gates.

    Raises:
        InputError: lists every problem that kube-scheduler would reject, with its path.
    """
    config = decode(data, where, entries)
    by_name = {entry.name: entry.under(gates) for entry in entries}
    issues = list(top_level(config))
    builders = [
        _Builder(profile, f"profiles[{index}]", by_name, enabled, config, gates)
        for index, profile in enumerate(config.profiles or (ProfileConfig(),))
    ]
    for builder in builders:
        issues.extend(builder.issues())
    if issues:
        raise InputError([Problem(where, message, path) for path, message in issues])
    profiles = [builder.build() for builder in builders]
    return {profile.scheduler_name: profile for profile in profiles}, config


class _Builder:
    """One profile: its plugin lists, its plugins' arguments, its problems."""

    def __init__(
        self,
        profile: ProfileConfig,
        path: str,
        entries: Mapping[str, Entry],
        enabled: Sequence[str],
        config: KubeSchedulerConfiguration,
        gates: Gates,
    ) -> None:
        self._profile = profile
        self._name = profile.scheduler_name or DEFAULT_SCHEDULER
        self._path = path
        self._entries = entries
        self._config = config
        self._gates = gates
        #: The plugin sets as written in the configuration.
        self._written = plugin_sets(profile.plugins)
        replaced = replacements(self._written, entries, enabled)
        sets = with_enabled(with_replaced(self._written, entries, replaced), entries, enabled)
        self._sets: PluginSets = sets
        self._multi_point = merge_defaults(defaults(entries, replaced), sets[None])
        self._points = {point: expand(point, sets[point], self._multi_point, entries) for point in Point}
        used = {ref.name for refs in self._points.values() for ref in refs}
        #: The plugins that run at any point, in default order.
        self._used = [entry for entry in entries.values() if entry.name in used]
        #: The extenders' `ignoredByScheduler` resources; if there are any, they replace the plugin's own list.
        self._ignored = [
            resource.name
            for extender in config.extenders
            for resource in extender.managed_resources
            if resource.ignored_by_scheduler
        ]

    def issues(self) -> Iterator[Issue]:
        """All problems of the profile."""
        yield from self._plugin_issues()
        yield from self._config_issues()

    # --- plugin lists --------------------------------------------------------------------------------

    def _plugin_issues(self) -> Iterator[Issue]:
        path = f"{self._path}.plugins"
        for point, plugins in self._written.items():
            here = f"{path}.{point.value if point else 'multiPoint'}.enabled"
            for index, name in repeated(self._sets[point].enabled):
                found = point or self._twice_at(name)
                if found is not None:
                    yield f"{here}[{index}]", f'plugin "{name}" already registered as "{_INTERFACES[found]}"'
            for index, ref in enumerate(plugins.enabled):
                yield from self._ref_issues(f"{here}[{index}]", ref, point)
        sorters = len(self._points[Point.QUEUE_SORT])
        profile = f'profile with scheduler name "{self._name}"'
        if sorters != 1:
            yield f"{path}.queueSort", f"only one queue sort plugin required for {profile}, but got {sorters}"
        if not self._points[Point.BIND]:
            yield f"{path}.bind", f"at least one bind plugin is needed for {profile}"
        if can_overflow(self._sets[Point.SCORE].enabled, self._multi_point, self._entries):
            yield f"{path}.score", "score plugins: total score of Score plugins could overflow"

    def _twice_at(self, name: str) -> Point | None:
        """The first extension point at which a plugin would run twice, because `multiPoint` lists it twice."""
        for point in _UNFOLDED:
            if sum(ref.name == name for ref in self._points[point]) > 1:
                return point
        return None

    def _ref_issues(self, path: str, ref: PluginRef, point: Point | None) -> Iterator[Issue]:
        entry = self._entries.get(ref.name)
        if ref.name in REMOVED_PLUGINS and point is not None:
            yield invalid(path, ref.name, _REMOVED)
        elif entry is None:
            yield path, f'{_INTERFACES[point or _UNFOLDED[0]]} "{ref.name}" does not exist'
        elif point is not None and point not in entry.points:
            yield path, f'plugin "{ref.name}" does not extend {_INTERFACES[point]} plugin'

    # --- arguments -----------------------------------------------------------------------------------

    def _config_issues(self) -> Iterator[Issue]:
        seen: set[str] = set()
        for index, plugin in enumerate(self._profile.plugin_config):
            path = f"{self._path}.pluginConfig[{index}]"
            if plugin.name in seen:
                yield duplicate(path, plugin.name)
            seen.add(plugin.name)
            if plugin.name in REMOVED_PLUGINS:
                yield invalid(path, plugin.name, _REMOVED)
            elif plugin.name == f"{_FIT}Args":
                # QUIRK: (validation.go) upstream's table of checks has the name of the type instead of the plugin.
                yield f"{path}.args", "Invalid value: has to match plugin args"
            elif plugin.name in self._entries:
                yield from self._args_issues(f"{path}.args", self._entries[plugin.name], plugin)
        for entry in self._used:
            if entry.args is not None and entry.name not in seen and not self._arguments(entry):
                for path, message in problems({}, entry.args):
                    yield f"{self._path}.pluginConfig", f"plugin {entry.name} needs its argument {path}: {message}"
        if self._ignored and _FIT not in seen and all(entry.name != _FIT for entry in self._used):
            # QUIRK: (scheduler.go, buildExtenders) a profile without the plugin cannot have the list.
            yield f"{self._path}.pluginConfig", f"can't find {_FIT}Args in plugin config"

    def _args_issues(self, path: str, entry: Entry, plugin: PluginConfig) -> Iterator[Issue]:
        if entry.args is None:
            return
        if not isinstance(plugin.args, dict | None):
            yield from problems(plugin.args, entry.args, path)
            return
        written = plugin.args or {}
        api_version, kind = written.get("apiVersion", API_VERSION), written.get("kind", f"{entry.name}Args")
        if (api_version, kind) != (API_VERSION, f"{entry.name}Args"):
            wanted = f"{entry.name}Args of {API_VERSION}"
            yield path, f"args for plugin {entry.name} were not of type {wanted}, got {kind} of {api_version}"
            return
        args = _without_type(plugin)
        found = list(problems(args, entry.args, path)) or list(_beyond_problems(args, entry, path))
        yield from found
        # QUIRK: (validation.go) the arguments of NodeResourcesFit are validated only by the plugin itself.
        if not found and (entry.name != _FIT or entry in self._used):
            yield from argument_issues(entry.checks or entry.name, path, args, self._gates)

    def _arguments(self, entry: Entry) -> dict[str, Any]:
        """The plugin's arguments; a replacement with the same type of arguments uses those of the replaced plugin."""
        configured = {plugin.name: _without_type(plugin) for plugin in self._profile.plugin_config}
        args = configured.get(entry.name)
        if args is None and entry.replaces and self._entries[entry.replaces].args is entry.args:
            args = configured.get(entry.replaces)
        args = args or {}
        return {**args, "ignoredResources": self._ignored} if self._ignored and entry.name == _FIT else args

    # --- the profile ---------------------------------------------------------------------------------

    def build(self) -> Profile:
        """The profile; call this only if there are no issues."""
        percentage = self._profile.percentage_of_nodes_to_score
        if percentage is None:
            percentage = self._config.percentage_of_nodes_to_score
        made: dict[str, Plugin] = {}
        for entry in self._used:
            args = (msgspec.convert(self._arguments(entry), entry.args),) if entry.args else ()
            plugin = entry.make(self._gates, *args)
            if plugin is not None:
                made[entry.name] = plugin
        profile = make_profile(
            {point: [ref.name for ref in refs] for point, refs in self._points.items()},
            made,
            weights(self._sets[Point.SCORE].enabled, self._multi_point),
            scheduler_name=self._name,
            gates=self._gates,
        )
        config = self._config
        backoff = (config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds)
        return replace(profile, percentage_of_nodes_to_score=percentage or 0, backoff_seconds=backoff)


def _beyond_problems(args: Mapping[str, Any], entry: Entry, path: str) -> Iterator[Issue]:
    """Problems that only the argument type of a custom plugin reports, in addition to `problems`."""
    assert entry.args is not None
    try:
        msgspec.convert(args, entry.args)
    except msgspec.ValidationError as wrong:
        yield path, str(wrong)


def _without_type(plugin: PluginConfig) -> dict[str, Any]:
    args = plugin.args if isinstance(plugin.args, dict) else {}
    return {name: value for name, value in args.items() if name not in ("apiVersion", "kind")}
