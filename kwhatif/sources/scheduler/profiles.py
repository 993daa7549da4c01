"""The scheduler to ask: its profiles, with custom plugins and extenders; and what is left out of it.

Custom plugins are found by entry point or by `module:Class`, checked, and put behind a guard (`docs/plugins.md`).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import metadata
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
from msgspec.structs import replace

from kwhatif.errors import InputError, PluginFailed, Problem
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import ExtenderBinds, ExtenderNotAsked, PluginNotModelled
from kwhatif.kube.model.saved import SessionOriginals
from kwhatif.scheduler.catalog import Entry
from kwhatif.scheduler.configuration.build import build_profiles, plugin_sets
from kwhatif.scheduler.configuration.schema import API_VERSION, KIND, ExtenderConfig, KubeSchedulerConfiguration
from kwhatif.scheduler.framework.extender import Extender
from kwhatif.scheduler.framework.guard import PASSED_ON, GuardedPlugin, called, described
from kwhatif.scheduler.framework.plugin import Plugin
from kwhatif.scheduler.framework.profile import Point, Profile
from kwhatif.scheduler.preemption.guard import GuardedPreemption
from kwhatif.scheduler.preemption.policy import EvictsByPolicy
from kwhatif.scheduler.release import Release
from kwhatif.sources.decoding.config_file import ConfigFile, read_config
from kwhatif.sources.network import redacted

GROUP = "kwhatif.scheduler.plugins"

#: What `--plugin` takes, or the class itself.
PluginSource = str | type

#: Extension points follow from the methods.
_POINTS = {
    "pre_enqueue": (Point.PRE_ENQUEUE,),
    "pre_filter": (Point.PRE_FILTER, Point.FILTER),
    "pre_score": (Point.PRE_SCORE, Point.SCORE),
    "post_filter": (Point.POST_FILTER,),
}


class _UnusableError(Exception):
    """A plugin cannot be used; the message says why."""


def load_plugins(
    built_in: Sequence[Entry], sources: Sequence[PluginSource], config: Mapping[str, Any]
) -> tuple[list[Entry], list[str]]:
    """All plugins that there are, and the names of those from `sources`.

    Beside the built-in ones and `sources` these are the entry points that the configuration names; no other is
    imported.

    Raises:
        InputError: with every plugin that cannot be used.
    """
    table = _Table(built_in)
    for source in sources:
        place = f"--plugin {source}" if isinstance(source, str) else f"plugin {source.__qualname__}"
        table.add(place, partial(_find, source))
    enabled = list(table.own)
    unknown = set(_names(config.get("profiles"))) - table.entries.keys()
    if unknown:
        for entry_point in metadata.entry_points(group=GROUP):
            if entry_point.name in unknown:
                table.add(f"entry point {entry_point.name}", partial(_load, entry_point))
    if table.problems:
        raise InputError(table.problems)
    return [*built_in, *table.own.values()], enabled


def _names(value: object) -> Iterator[str]:
    """Every possible name of a plugin in a configuration that is not validated yet."""
    if isinstance(value, dict):
        name = value.get("name")
        if isinstance(name, str):
            yield name
        for item in value.values():
            yield from _names(item)
    elif isinstance(value, list):
        for item in value:
            yield from _names(item)


class _Table:
    def __init__(self, built_in: Sequence[Entry]) -> None:
        self._built_in = {entry.name: entry for entry in built_in}
        self.own: dict[str, Entry] = {}
        self.problems: list[Problem] = []

    @property
    def entries(self) -> dict[str, Entry]:
        return self._built_in | self.own

    def add(self, place: str, find: Callable[[], Any]) -> None:
        try:
            entry = self._entry(find())
        except _UnusableError as wrong:
            self.problems.append(Problem(place, str(wrong)))
        else:
            self.own[entry.name] = entry

    def _entry(self, plugin: Any) -> Entry:
        name, points = _name_and_points(plugin)
        if name in self._built_in:
            raise _UnusableError(
                f"{name} is the name of a built-in plugin: take another one, and `replaces` to stand in its place"
            )
        if name in self.own:
            raise _UnusableError(f"another plugin is named {name} as well")
        replaces = getattr(plugin, "replaces", "")
        if replaces and replaces not in self._built_in:
            raise _UnusableError(f"it replaces {replaces!r}, which is not a built-in plugin")
        if replaces and any(entry.replaces == replaces for entry in self.own.values()):
            raise _UnusableError(f"another plugin replaces {replaces} as well")
        weight = getattr(plugin, "weight", 1)
        if not isinstance(weight, int) or weight < 1:
            raise _UnusableError(f"its weight is {weight!r}, not a positive whole number")
        args = self._args(plugin, self._built_in.get(replaces))
        return Entry(name, points, partial(_make, plugin), args, weight, default=False, replaces=replaces)

    def _args(self, plugin: Any, replaced: Entry | None) -> type[msgspec.Struct] | None:
        args = getattr(plugin, "Args", None)
        if args is None:
            # What inherits from the plugin that it replaces takes the same arguments, unless it says otherwise.
            inherits = (
                replaced is not None and isinstance(replaced.factory, type) and issubclass(plugin, replaced.factory)
            )
            return replaced.args if replaced is not None and inherits else None
        if not (isinstance(args, type) and issubclass(args, msgspec.Struct)):
            raise _UnusableError("its Args is not a msgspec.Struct")
        return args


def _name_and_points(plugin: Any) -> tuple[str, tuple[Point, ...]]:
    if not isinstance(plugin, type):
        raise _UnusableError(f"it is not a class but {type(plugin).__name__}")
    name = getattr(plugin, "name", None)
    if not (isinstance(name, str) and name):
        raise _UnusableError("the class has no `name`, a string")
    points = tuple(
        point for method, found in _POINTS.items() if callable(getattr(plugin, method, None)) for point in found
    )
    if not points:
        raise _UnusableError(f"the class has none of the methods {', '.join(_POINTS)}")
    return name, points


def _make(plugin: Any, *arguments: object) -> Plugin:
    try:
        made = called(plugin, *arguments)
    except PASSED_ON:
        raise
    except BaseException as failure:
        raise PluginFailed(f"plugin {plugin.name} cannot be made: {described(failure)}") from failure
    return cast("Plugin", GuardedPreemption(made) if isinstance(made, EvictsByPolicy) else GuardedPlugin(made))


def _find(source: PluginSource) -> Any:
    if not isinstance(source, str):
        return source
    module, colon, path = source.partition(":")
    if module and path:
        return _imported(module, path)
    if colon:
        raise _UnusableError("expected module:Class")
    for entry_point in metadata.entry_points(group=GROUP, name=source):
        return _load(entry_point)
    raise _UnusableError(f"no entry point of group {GROUP} has this name; give module:Class, or install the plugin")


def _imported(module: str, path: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        return attrgetter(path)(called(importlib.import_module, module))
    except AttributeError as failure:
        raise _UnusableError(str(failure)) from failure
    except KeyboardInterrupt:
        raise
    except BaseException as failure:
        raise _UnusableError(f"{module} cannot be imported: {described(failure)}") from failure


def _load(entry_point: metadata.EntryPoint) -> Any:
    try:
        plugin = called(entry_point.load)
    except KeyboardInterrupt:
        raise
    except BaseException as failure:
        raise _UnusableError(f"{entry_point.value} cannot be imported: {described(failure)}") from failure
    if getattr(plugin, "name", None) != entry_point.name:
        raise _UnusableError(f"{entry_point.value} has another name: {getattr(plugin, 'name', None)!r}")
    return plugin


class ConfiguredScheduler(msgspec.Struct, frozen=True):
    """Profiles by scheduler name, and caveats about what they leave out."""

    profiles: Mapping[str, Profile]
    caveats: Sequence[Caveat] = ()


class SchedulerConfig(msgspec.Struct, frozen=True):
    """A configuration as it was read, and plugins to run in every profile; which release it is for comes later."""

    file: ConfigFile | None
    plugins: Sequence[PluginSource]

    def scheduler(self, release: Release, originals: SessionOriginals | None) -> ConfiguredScheduler:
        """The scheduler of that release. Extenders are called if there are `originals` to send them.

        Raises:
            InputError: the configuration, a plugin, or what an extender's connection needs is not usable.
        """
        data = {"apiVersion": API_VERSION, "kind": KIND} if self.file is None else self.file.data
        entries, enabled = load_plugins(release.entries, self.plugins, data)
        try:
            profiles, configuration = build_profiles(data, "the default configuration", entries, enabled, release.gates)
            return _with_extenders(profiles, configuration, release, originals)
        except InputError as failure:
            raise failure if self.file is None else self.file.located(failure) from failure


def read_scheduler_config(config: str | None, plugins: Sequence[PluginSource], *, stdin: BinaryIO) -> SchedulerConfig:
    """A configuration file, or the default one.

    Raises:
        InputError: the file cannot be read.
    """
    return SchedulerConfig(read_config(config, stdin=stdin) if config is not None else None, plugins)


def _with_extenders(
    profiles: Mapping[str, Profile],
    configuration: KubeSchedulerConfiguration,
    release: Release,
    originals: SessionOriginals | None,
) -> ConfiguredScheduler:
    caveats: list[Caveat] = list(_not_modelled(configuration, release))
    for extender in configuration.extenders:
        caveats.extend(_left_out(extender, called=originals is not None))
    if originals is None:
        return ConfiguredScheduler(profiles, caveats)
    extenders = tuple(_extenders(configuration.extenders, originals))
    return ConfiguredScheduler(
        {name: replace(profile, extenders=extenders) for name, profile in profiles.items()}, caveats
    )


def _extenders(configs: Sequence[ExtenderConfig], originals: SessionOriginals) -> Iterator[Extender]:
    # An HTTP client takes a while to import, and most do without.
    from kwhatif.sources.scheduler.extender_client import HTTPExtender
    from kwhatif.sources.scheduler.extender_objects import WholeObjects
    from kwhatif.sources.scheduler.extender_transport import TLSProblem

    objects = WholeObjects(originals)
    for index, config in enumerate(configs):
        try:
            yield HTTPExtender(config, objects)
        except TLSProblem as wrong:
            path = f"extenders[{index}].tlsConfig.{wrong.field}"
            raise InputError([Problem("", str(wrong), path, "without --call-extenders it is not needed")]) from wrong


def _not_modelled(configuration: KubeSchedulerConfiguration, release: Release) -> Iterator[Caveat]:
    """A plugin with a gate does nothing without it, and of a gate that is on and not modelled there is a caveat."""
    sets = [found for profile in configuration.profiles for found in plugin_sets(profile.plugins).values()]
    enabled = {ref.name for found in sets for ref in found.enabled}
    for entry in release.entries:
        if entry.factory is None and not entry.default and not entry.gate and entry.name in enabled:
            yield PluginNotModelled(plugin=entry.name)


def _left_out(extender: ExtenderConfig, *, called: bool) -> Iterator[Caveat]:
    name = redacted(extender.url_prefix)
    verbs = tuple(
        verb
        for verb, configured in (
            ("filter", extender.filter_verb),
            ("prioritize", extender.prioritize_verb),
            ("preempt", extender.preempt_verb),
        )
        if configured
    )
    if verbs and not called:
        managed = tuple(resource.name for resource in extender.managed_resources)
        yield ExtenderNotAsked(extender=name, verbs=verbs, managed=managed)
    if extender.bind_verb:
        yield ExtenderBinds(extender=name)
