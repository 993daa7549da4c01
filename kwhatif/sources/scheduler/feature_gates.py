"""The option `--feature-gates`: what kube-scheduler of a release makes of it (`component-base/featuregate`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from kwhatif.errors import InputError, Problem
from kwhatif.kube.gates import known_gates
from kwhatif.kube.matching.names import did_you_mean, nearest
from kwhatif.scheduler.release import Release

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
    """The gates that are set by hand, as kube-scheduler takes them.

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
