"""Which release was asked, in a few words."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.report.inputs import SchedulerInfo, VersionSource

_SOURCES: Mapping[VersionSource, str] = {
    "asked": "as asked",
    "server": "as the API server",
    "snapshot": "as the API server was",
    "kubelets": "as the newest kubelet",
    "assumed": "assumed: nothing says the cluster's version",
}


def release_line(scheduler: SchedulerInfo) -> str:
    """`kube-scheduler 1.36 (as the newest kubelet)`, with the feature gates that were set by hand."""
    gates = "".join(f", {name}={str(on).lower()}" for name, on in scheduler.feature_gates.items())
    return f"kube-scheduler {scheduler.version} ({_SOURCES[scheduler.version_source]}{gates})"
