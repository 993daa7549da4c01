"""Which release of kube-scheduler is asked: what the user says, else what the input says, else the newest."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from kwhatif.errors import InputError, Problem
from kwhatif.kube.gates import GROUP_POLICY_GATE, GROUPS_GATE, TOPOLOGY_GATE, known_gates
from kwhatif.kube.matching.field_errors import did_you_mean, nearest
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import AssumedVersion, GateNotModelled, OtherVersion
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod_group import GROUPS_SINCE, PodGroup
from kwhatif.report.inputs import SchedulerInfo, VersionSource
from kwhatif.scheduler.release import MINORS, NEWEST, Release, find_release, nearest_minor

_OPTION = "--feature-gates"
_TABLE = Path(__file__).parents[2] / "schema" / "feature-gates.json"
#: What `strconv.ParseBool` knows.
_TRUE = ("1", "t", "T", "true", "TRUE", "True")
_FALSE = ("0", "f", "F", "false", "FALSE", "False")
#: What these gates change is how fast the answer is there, or what becomes of caches that are behind: here none is.
_SAME_ANSWER = frozenset(
    {
        "InterPodAffinityHostnameFastPath",
        "SchedulerAsyncAPICalls",
        "SeparateTaintEvictionController",
        "StaleControllerConsistencyDaemonSet",
        "StaleControllerConsistencyJob",
        "StaleControllerConsistencyReplicaSet",
        "StaleControllerConsistencyStatefulSet",
    }
)
#: Gates that stand for all others of a stage.
_STAGES = {"AllAlpha": "a", "AllBeta": "b"}


class Gate(NamedTuple):
    """A feature gate of a release."""

    default: bool
    locked: bool
    #: `a`, `b`, `g` or `d`: alpha, beta, GA or deprecated.
    stage: str
    #: Gates that must be on where it is.
    needs: tuple[str, ...]
    #: Whether the scheduler, a controller or admission asks about it where that may change an answer.
    decides: bool


def gates_of(version: str) -> Mapping[str, Gate]:
    """All gates that kube-scheduler of a release knows."""
    table = msgspec.json.decode(_TABLE.read_bytes(), type=dict[str, dict[str, str]])
    return {name: _gate(*code.split(" ")) for name, code in table[version].items()}


def _gate(code: str, *needs: str) -> Gate:
    stage = code.rstrip("!")
    return Gate(stage[0] == "+", stage[0] == stage[1], stage[-1], needs, decides=stage != code)


def read_settings(given: str | Mapping[str, bool] | None, release: Release) -> dict[str, bool]:
    """The gates that `--feature-gates` sets, as kube-scheduler takes them (`component-base/featuregate`).

    Raises:
        InputError: with everything that it refuses, in its words.
    """
    if not given:
        return {}
    problems: list[Problem] = []
    parsed = _parse(given, problems) if isinstance(given, str) else dict(given)
    known = gates_of(release.version)
    problems.extend(_refusals(parsed, known))
    settings = _by_stage(parsed, known)
    if not problems:
        problems.extend(Problem(_OPTION, text) for text in _missing(settings, known))
    if problems:
        raise InputError(problems)
    return settings


def _by_stage(settings: Mapping[str, bool], known: Mapping[str, Gate]) -> dict[str, bool]:
    """The settings with gates in the place of `AllAlpha` and `AllBeta`; what is set by its own name stays so."""
    found = {name: value for name, value in settings.items() if name not in _STAGES}
    for special, stage in _STAGES.items():
        if special in settings:
            of_stage = (name for name, gate in known.items() if gate.stage == stage and not gate.locked)
            found |= {name: settings[special] for name in of_stage if name not in settings}
    return found


def _parse(text: str, problems: list[Problem]) -> dict[str, bool]:
    """`A=true,B=false`, as `featureGate.Set` and `SetFromMap` read it (`component-base/featuregate`)."""
    found: dict[str, bool] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            problems.append(Problem(_OPTION, f"missing bool value for {name}"))
        elif value not in (*_TRUE, *_FALSE):
            why = f'strconv.ParseBool: parsing "{value}": invalid syntax'
            problems.append(Problem(_OPTION, f"invalid value of {name}={value}, err: {why}"))
        else:
            found[name.removeprefix("kube:")] = value in _TRUE
    return found


def _refusals(settings: Mapping[str, bool], known: Mapping[str, Gate]) -> Iterable[Problem]:
    for name, value in settings.items():
        gate = known.get(name)
        if name in _STAGES:
            continue
        if gate is None:
            hint = did_you_mean(nearest(name, known)[:1])
            yield Problem(_OPTION, f"unrecognized feature gate: {name}", hint=hint)
        elif gate.locked and value != gate.default:
            wanted, locked = str(value).lower(), str(gate.default).lower()
            yield Problem(_OPTION, f"cannot set feature gate {name} to {wanted}, feature is locked to {locked}")


def _missing(settings: Mapping[str, bool], known: Mapping[str, Gate]) -> Iterable[str]:
    on = {name for name, gate in known.items() if settings.get(name, gate.default)}
    for name in sorted(on):
        lacking = [need for need in known[name].needs if need not in on]
        if lacking:
            yield f"{name} is enabled, but depends on features that are disabled: [{' '.join(lacking)}]"


def not_modelled(settings: Mapping[str, bool], release: Release) -> Iterable[str]:
    """The gates that are set to what they are not by default, may change an answer, and are not modelled."""
    known = gates_of(release.version) if settings else {}
    modelled = known_gates(release.minor)
    for name, value in settings.items():
        gate = known[name]
        if gate.decides and gate.default != value and name not in modelled and name not in _SAME_ANSWER:
            yield name


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
    """The release that is asked, how its version is known, and caveats about that."""

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

    PodGroups in the cluster prove that these gates are on, even where nothing says so.

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
