"""What differs from one Kubernetes release to the next: plugins, points and weights, feature gates, variants of rules.

`catalog` and the plugins are those of one release (`kube.gates.BASE`); a module each says how another one differs from
its neighbour. None is imported unless it is asked for.
"""

from kwhatif.scheduler.release.release import MINORS, NEWEST, Release, find_release, nearest_minor

__all__ = ["MINORS", "NEWEST", "Release", "find_release", "nearest_minor"]
