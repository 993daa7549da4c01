"""Which scheduler is asked: what the user says of it, read as far as it can be without the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from kwhatif.api.arguments import PathLike
from kwhatif.kube.model.originals import Originals, SessionOriginals
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER
from kwhatif.sources.scheduler.release import ReleaseOptions
from kwhatif.sources.text.files import standard_input

if TYPE_CHECKING:
    from kwhatif.scheduler.framework.profile import Profile
    from kwhatif.scheduler.release import Release
    from kwhatif.sources.scheduler.plugins import PluginSource
    from kwhatif.sources.scheduler.profiles import ConfiguredScheduler, SchedulerConfig


class SchedulerOptions(TypedDict, total=False):
    """Which scheduler is asked; without any of it, kube-scheduler with its defaults."""

    #: A KubeSchedulerConfiguration: a file, or "-".
    scheduler_config: PathLike | None
    #: Call the extenders of that configuration; otherwise the report carries a caveat for each.
    call_extenders: bool
    #: Plugins that run in every profile: classes, `module:Class`, or names of entry points (see `docs/plugins.md`).
    plugins: Sequence[PluginSource]
    #: The release of Kubernetes, such as "1.34"; else `$KWHATIF_KUBERNETES_VERSION`, else what the cluster says.
    kubernetes_version: str | None
    #: Feature gates set by hand: by name, or as kube-scheduler's option has them: "A=true,B=false".
    feature_gates: str | Mapping[str, bool] | None


class RequestedScheduler(NamedTuple):
    """What the user says of the scheduler, read as far as it can be without the cluster."""

    release: ReleaseOptions
    #: None: the default configuration.
    config: SchedulerConfig | None
    #: Where to keep what extenders are to be sent.
    originals: SessionOriginals | None

    def scheduler(self, release: Release) -> ConfiguredScheduler | None:
        """The scheduler of that release; None: the default one."""
        return None if self.config is None else self.config.scheduler(release, self.originals)

    def profiles(self, release: Release) -> Mapping[str, Profile]:
        """The profiles of the scheduler of that release, by name."""
        found = self.scheduler(release)
        return {DEFAULT_SCHEDULER: release.default_profile()} if found is None else found.profiles


def scheduler_source(options: SchedulerOptions) -> RequestedScheduler:
    """The configuration is read, and the release looked at.

    Raises:
        InputError: with everything that is wrong with them.
    """
    release = ReleaseOptions(options.get("kubernetes_version"), options.get("feature_gates"))
    release.check()
    originals = SessionOriginals(Originals(), Originals()) if options.get("call_extenders") else None
    config, plugins = options.get("scheduler_config"), options.get("plugins") or ()
    if config is None and not plugins:
        return RequestedScheduler(release, None, originals)
    from kwhatif.sources.scheduler.profiles import read_scheduler_config

    path = None if config is None else str(config)
    return RequestedScheduler(release, read_scheduler_config(path, plugins, stdin=standard_input()), originals)
