"""Differences between Kubernetes releases: plugins, points and weights, feature gates, variants of rules.

`catalog` and the plugins are those of one release (`kube.gates.BASE`). Each other release has a module with the
differences from its neighbour, which is imported only if it is needed.
"""

from kwhatif.scheduler.release.release import MINORS, NEWEST, Release, find_release, nearest_minor

__all__ = ["MINORS", "NEWEST", "Release", "find_release", "nearest_minor"]
