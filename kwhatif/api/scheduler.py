"""Which scheduler is asked: what the user says of it, read as far as it can be without the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kwhatif.api.options import PathLike, SchedulerOptions
from kwhatif.errors import InputError, Problem
from kwhatif.kube.gates import GROUPS_GATE
from kwhatif.kube.matching.groups import GROUPS_SINCE
from kwhatif.kube.model.originals import Originals, SessionOriginals
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER
from kwhatif.sources.decoding.workload_kinds import KnownKinds, read_workload_kinds
from kwhatif.sources.scheduler.release import ReleaseOptions, parse_version
from kwhatif.sources.text.files import standard_input

if TYPE_CHECKING:
    from kwhatif.scheduler.framework.profile import Profile
    from kwhatif.scheduler.release import Release
    from kwhatif.sources.scheduler.profiles import ConfiguredScheduler, SchedulerConfig


class RequestedScheduler(NamedTuple):
    """What the user says of the scheduler, read as far as it can be without the cluster."""

    release: ReleaseOptions
    #: None: the default configuration.
    config: SchedulerConfig | None
    #: Where to keep what extenders are to be sent.
    originals: SessionOriginals | None
    #: Whether groups of pods of other schedulers are judged as gangs.
    treats_as_gangs: bool = False
    #: Custom kinds of which pods are made.
    kinds: KnownKinds = KnownKinds()

    def scheduler(self, release: Release) -> ConfiguredScheduler | None:
        """The scheduler of that release; None: the default one."""
        return None if self.config is None else self.config.scheduler(release, self.originals)

    def profiles(self, release: Release) -> Mapping[str, Profile]:
        """The profiles of the scheduler of that release, by name."""
        found = self.scheduler(release)
        return {DEFAULT_SCHEDULER: release.default_profile()} if found is None else found.profiles


def _release_asked(options: SchedulerOptions) -> ReleaseOptions:
    """With foreign groups as gangs that is a release that knows gangs, with its gate on."""
    version, gates = options.get("kubernetes_version"), options.get("feature_gates")
    if not options.get("treat_as_gang"):
        return ReleaseOptions(version, gates)
    if version and parse_version(version) < GROUPS_SINCE:
        why = f"gangs are judged by the rule of 1.{GROUPS_SINCE}, and {version} was asked for"
        raise InputError([Problem("--treat-as-gang", why, hint="leave out --kubernetes-version")])
    if isinstance(gates, Mapping):
        return ReleaseOptions(version or f"1.{GROUPS_SINCE}", {GROUPS_GATE: True, **gates})
    given = f",{gates}" if gates else ""
    return ReleaseOptions(version or f"1.{GROUPS_SINCE}", f"{GROUPS_GATE}=true{given}")


def known_kinds(file: PathLike | None) -> KnownKinds:
    """The custom kinds of which pods are made: those of a file, and the built-in ones.

    Raises:
        InputError: with everything that is wrong with it.
    """
    return KnownKinds(None if file is None else read_workload_kinds(str(file), stdin=standard_input()))


def scheduler_source(options: SchedulerOptions) -> RequestedScheduler:
    """The configuration is read, and the release looked at.

    Raises:
        InputError: with everything that is wrong with them.
    """
    release, treats = _release_asked(options), options.get("treat_as_gang", False)
    release.check()
    originals = SessionOriginals(Originals(), Originals()) if options.get("call_extenders") else None
    kinds = known_kinds(options.get("workload_kinds"))
    config, plugins = options.get("scheduler_config"), options.get("plugins") or ()
    if config is None and not plugins:
        return RequestedScheduler(release, None, originals, treats, kinds)
    from kwhatif.sources.scheduler.profiles import read_scheduler_config

    path = None if config is None else str(config)
    read = read_scheduler_config(path, plugins, stdin=standard_input())
    return RequestedScheduler(release, read, originals, treats, kinds)
