"""Builds profiles from a configuration, and collects all problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.errors import InputError, Problem
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.field_errors import Issue, duplicate, invalid
from kwhatif.scheduler.catalog import Entry, make_profile
from kwhatif.scheduler.configuration import validate
from kwhatif.scheduler.configuration.merge import (
    PluginSets,
    can_overflow,
    defaults,
    expand,
    merge_defaults,
    plugin_sets,
    repeated,
    replacements,
    weights,
    with_enabled,
    with_replaced,
)
from kwhatif.scheduler.configuration.plugin_args import argument_issues
from kwhatif.scheduler.configuration.schema import (
    API_VERSION,
    KIND,
    KubeSchedulerConfiguration,
    PluginConfig,
    PluginRef,
    ProfileConfig,
)
from kwhatif.scheduler.configuration.strict import problems, without_nulls
from kwhatif.scheduler.framework.plugin import Plugin
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, GROUP_POINTS, Point, Profile


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


#: Removed plugins, whose names kube-scheduler still knows and rejects.
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

    `data` is the parsed file, `where` its name; `entries` are all existing plugins, in default order; those in
    `enabled` run in every profile whose `multiPoint` does not mention them; `gates` are the enabled feature gates.

    Raises:
        InputError: with everything that kube-scheduler would reject, and its place.
    """
    config = decode(data, where, entries)
    by_name = {entry.name: entry.under(gates) for entry in entries}
    issues = list(validate.top_level(config))
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
        #: As written in the configuration.
        self._written = plugin_sets(profile.plugins)
        replaced = replacements(self._written, entries, enabled)
        sets = with_enabled(with_replaced(self._written, entries, replaced), entries, enabled)
        self._sets: PluginSets = sets
        self._multi_point = merge_defaults(defaults(entries, replaced), sets[None])
        self._points = {point: expand(point, sets[point], self._multi_point, entries) for point in Point}
        used = {ref.name for refs in self._points.values() for ref in refs}
        #: The plugins that run at any point, in default order.
        self._used = [entry for entry in entries.values() if entry.name in used]
        #: The extenders' `ignoredByScheduler` resources; if any, they replace the plugin's own list.
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
        """The first point at which a plugin that `multiPoint` names twice would run twice."""
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
                # QUIRK: (validation.go) the table of checks has the type instead of the plugin.
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
        # QUIRK: (validation.go) the arguments of this one are validated only by the plugin itself.
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
        """The profile; call it only if there are no issues."""
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
    """Checks by the argument type of a custom plugin, beyond those of `problems`."""
    assert entry.args is not None
    try:
        msgspec.convert(args, entry.args)
    except msgspec.ValidationError as wrong:
        yield path, str(wrong)


def _without_type(plugin: PluginConfig) -> dict[str, Any]:
    args = plugin.args if isinstance(plugin.args, dict) else {}
    return {name: value for name, value in args.items() if name not in ("apiVersion", "kind")}
