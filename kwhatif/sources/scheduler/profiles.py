"""The scheduler to ask: its profiles, with plugins of your own and with extenders; and what is left out of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

import msgspec
from msgspec.structs import replace

from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import ExtenderBinds, ExtenderNotAsked, PluginNotModelled
from kwhatif.kube.model.originals import SessionOriginals
from kwhatif.scheduler.configuration import KubeSchedulerConfiguration, build_profiles
from kwhatif.scheduler.configuration.merge import plugin_sets
from kwhatif.scheduler.configuration.schema import API_VERSION, KIND, ExtenderConfig
from kwhatif.scheduler.framework.extender import Extender
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.release import Release
from kwhatif.sources.address import redacted
from kwhatif.sources.decoding.config_file import ConfigFile, read_config
from kwhatif.sources.scheduler.plugins import PluginSource, load_plugins


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
    from kwhatif.sources.extenders.http import HTTPExtender
    from kwhatif.sources.extenders.objects import WholeObjects
    from kwhatif.sources.extenders.tls import TLSProblem

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
