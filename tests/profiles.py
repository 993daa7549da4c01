"""Profiles that differ from the default one."""

from typing import Any

from msgspec.structs import replace

from kwhatif.scheduler.framework.profile import Profile

_POINTS = ("pre_filter", "filter", "pre_score", "score")


def replaced(profile: Profile, plugin: Any) -> Profile:
    """The profile with this plugin in place of the one of its name."""
    changed = {
        point: tuple([plugin if each.name == plugin.name else each for each in getattr(profile, point)])
        for point in _POINTS
    }
    return replace(profile, **changed)
