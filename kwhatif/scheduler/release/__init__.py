"""Releases of Kubernetes, as the scheduler's rules see them: plugins, extension points, weights, feature gates.

`catalog` and the plugins are those of one release (`kube.gates.BASE`). `newer` and `older` hold what differs in the
others, each from its neighbour. They are imported only if they are needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.kube.gates import BASE, BASE_GATES, default_gates, resize_rules
from kwhatif.scheduler.catalog import ENTRIES, Entry, default_profile
from kwhatif.scheduler.framework.profile import Profile

#: The minor versions that are modelled, the newest first.
MINORS = (37, 36, 35, 34, 33)
NEWEST = MINORS[0]


class Release(msgspec.Struct, frozen=True):
    """Kubernetes 1.`minor`."""

    minor: int
    #: All plugins, in the order of the default profile.
    entries: tuple[Entry, ...]
    #: The enabled feature gates.
    gates: frozenset[str]
    #: How pods count during a resize (`ResizeRules.sums_first`).
    sums_first: bool = False
    #: Whether nominations of gated pods count (`scheduling_queue.go`).
    nominates_gated: bool = False

    @property
    def version(self) -> str:
        """The version, such as `1.36`."""
        return f"1.{self.minor}"

    @property
    def facts(self) -> dict[str, Any]:
        """What this release decides among the facts of a cluster (`ClusterFacts`)."""
        return {
            "minor": self.minor,
            "gates": self.gates,
            "resizes": resize_rules(self.gates, sums_first=self.sums_first),
            "nominates_gated": self.nominates_gated,
        }

    def default_profile(self) -> Profile:
        """The profile of its kube-scheduler without a configuration."""
        return default_profile(self.entries, self.gates)

    def with_gates(self, settings: Mapping[str, bool]) -> Release:
        """The release with explicit settings of feature gates."""
        on = {name for name, value in settings.items() if value}
        return replace(self, gates=(self.gates - settings.keys()) | on)

    def neighbour(self, minor: int, *, replaced: Sequence[Entry] = (), removed: Sequence[str] = ()) -> Release:
        """The release next to this one, with some plugins replaced (by name) and some removed."""
        found = {entry.name: entry for entry in replaced}
        kept = [found.get(entry.name, entry) for entry in self.entries if entry.name not in removed]
        return Release(minor, tuple(kept), default_gates(minor))

    def entry(self, name: str) -> Entry:
        """The plugin with that name."""
        return next(entry for entry in self.entries if entry.name == name)


@cache
def find_release(minor: int) -> Release:
    """The release with this minor version, which must be in `MINORS`."""
    if minor == BASE:
        return Release(BASE, ENTRIES, BASE_GATES)
    module = import_module(f"kwhatif.scheduler.release.{'newer' if minor > BASE else 'older'}")
    release = module.RELEASES[minor]
    assert isinstance(release, Release)
    return release


def nearest_minor(minor: int) -> int:
    """The modelled minor version nearest to this one."""
    return min(max(minor, MINORS[-1]), NEWEST)
