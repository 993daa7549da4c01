"""Which release of kube-scheduler is asked: what the user says, else what the input says, else the newest."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kwhatif.errors import InputError, Problem
from kwhatif.kube.gates import GROUP_POLICY_GATE, GROUPS_GATE, TOPOLOGY_GATE
from kwhatif.kube.matching.groups import GROUPS_SINCE
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import AssumedVersion, GateNotModelled, OtherVersion
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.report.inputs import SchedulerInfo, VersionSource
from kwhatif.scheduler.release import MINORS, NEWEST, Release, find_release, nearest_minor
from kwhatif.sources.scheduler.feature_gates import gates_of, not_modelled, read_settings

#: Says the version where no option does.
VARIABLE = "KWHATIF_KUBERNETES_VERSION"
_VERSION = re.compile(r"v?1\.(\d{1,3})(?:\D.*)?", re.DOTALL)


class ReleaseOptions(NamedTuple):
    """What the user says."""

    #: Such as "1.34" or "v1.34.2".
    version: str | None = None
    #: Gates set by hand, as `A=true,B=false` or by name.
    feature_gates: str | Mapping[str, bool] | None = None

    def check(self) -> None:
        """Before a cluster is read.

        Raises:
            InputError: it is not a version of Kubernetes.
        """
        _said(self.version)


class AskedRelease(NamedTuple):
    """The release that is asked, how its version is known, and what is to be said about that."""

    release: Release
    source: VersionSource
    feature_gates: Mapping[str, bool]
    caveats: tuple[Caveat, ...]

    def info(self) -> SchedulerInfo:
        """What a report says of it."""
        return SchedulerInfo(
            version=self.release.version, version_source=self.source, feature_gates=dict(self.feature_gates)
        )


class _Version(NamedTuple):
    minor: int
    source: VersionSource


def parse_version(text: str) -> int:
    """The minor version of `1.34`, `v1.34.2` or `v1.34.2-gke.100`.

    Raises:
        ValueError: it is not a version of Kubernetes; the message is for the user.
    """
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a version of Kubernetes: write it as 1.{NEWEST}")
    return int(match[1])


def known_version(text: str) -> int:
    """The minor version of a release that is modelled.

    Raises:
        ValueError: it is not one; the message is for the user.
    """
    minor = parse_version(text)
    if minor not in MINORS:
        raise ValueError(f"1.{minor} is not a release that kwhatif knows: it knows 1.{MINORS[-1]} to 1.{NEWEST}")
    return minor


def ask_release(
    options: ReleaseOptions,
    server_version: str,
    nodes: Iterable[Node],
    groups: Iterable[PodGroup] = (),
    *,
    live: bool,
) -> AskedRelease:
    """The release; `server_version` is that of the API server, "" where it is not known.

    That there are PodGroups proves gates on that nobody speaks of.

    Raises:
        InputError: the version or a feature gate cannot be meant.
    """
    found = _said(options.version) or _read(server_version, nodes, live=live) or _Version(NEWEST, "assumed")
    caveats: list[Caveat] = []
    minor = nearest_minor(found.minor)
    release = find_release(minor)
    if found.source == "assumed":
        caveats.append(AssumedVersion(rules=release.version))
    elif minor != found.minor:
        caveats.append(OtherVersion(version=f"1.{found.minor}", rules=release.version))
    settings = _proven(groups, minor) | read_settings(options.feature_gates, release)
    unknown = tuple(sorted(not_modelled(settings, release)))
    if unknown:
        caveats.append(GateNotModelled(gates=unknown))
    return AskedRelease(release.with_gates(settings), found.source, settings, tuple(caveats))


def _proven(groups: Iterable[PodGroup], minor: int) -> dict[str, bool]:
    """The gates without which the API server would have none of these groups, or of their fields."""
    found: dict[str, bool] = {}
    for group in groups if minor >= GROUPS_SINCE else ():
        found[GROUPS_GATE] = True
        if group.spec.scheduling_constraints is not None:
            found[TOPOLOGY_GATE] = True
        if group.spec.preemption_policy:
            found[GROUP_POLICY_GATE] = True
    return found


def _said(option: str | None) -> _Version | None:
    where, text = ("--kubernetes-version", option) if option is not None else (VARIABLE, os.environ.get(VARIABLE))
    if not text:
        return None
    try:
        return _Version(parse_version(text), "asked")
    except ValueError as wrong:
        raise InputError([Problem(where, str(wrong))]) from wrong


def _read(server_version: str, nodes: Iterable[Node], *, live: bool) -> _Version | None:
    if server_version and (match := _VERSION.fullmatch(server_version)):
        return _Version(int(match[1]), "server" if live else "snapshot")
    # Kubelets are never newer than the API server: the newest of them comes nearest to it.
    written = {node.status.node_info.kubelet_version for node in nodes}
    minors = [int(match[1]) for text in written if (match := _VERSION.fullmatch(text))]
    return _Version(max(minors), "kubelets") if minors else None


def completed_gates(version: str | None, incomplete: str) -> list[str]:
    """How `--feature-gates` may go on: gates that are not locked, with the value that is not their default."""
    try:
        said = _said(version)
    except InputError:
        return []
    known = gates_of(f"1.{nearest_minor(said.minor if said else NEWEST)}")
    done, comma, part = incomplete.rpartition(",")
    free = ((name, str(not gate.default).lower()) for name, gate in known.items() if not gate.locked)
    return [f"{done}{comma}{name}={value}" for name, value in free if f"{name}={value}".startswith(part)]
