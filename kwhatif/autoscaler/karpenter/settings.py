"""Karpenter's own settings, as its Deployment sets them (`pkg/operator/options/options.go`)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.quantity import NANO, parse_duration
from kwhatif.kube.model.workload import Deployment

#: Gates of features that are not modelled.
_NOT_MODELLED = ("NodeOverlay", "StaticCapacity", "CapacityBuffer")
_RESERVED, _SPOT_TO_SPOT = "ReservedCapacity", "SpotToSpotConsolidation"
#: The values that Go's `strconv.ParseBool` accepts.
_TRUE, _FALSE = ("1", "t", "T", "true", "TRUE", "True"), ("0", "f", "F", "false", "FALSE", "False")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that affect Karpenter's decisions, with Karpenter's defaults."""

    #: The object with the settings, such as `Deployment kube-system/karpenter`; "": not known.
    source: str = ""
    #: `PREFERENCE_POLICY=Ignore`: preferences of pods are ignored.
    ignores_preferences: bool = False
    #: `MIN_VALUES_POLICY=BestEffort`: if `minValues` cannot be met, fewer values are enough.
    relaxes_min_values: bool = False
    #: Feature gates.
    reserved_capacity: bool = True
    spot_to_spot: bool = False
    #: `BATCH_IDLE_DURATION`, in seconds.
    idle: float = 1.0
    #: The names of the given settings that affect decisions.
    given: tuple[str, ...] = ()
    #: The settings that are not modelled or not valid.
    unmodelled: tuple[str, ...] = ()


DEFAULTS = Settings()


def settings_of(cluster: Cluster) -> Settings:
    """The settings of the first Deployment that runs Karpenter; the defaults if there is none."""
    for key, deployment in sorted(cluster.all(Deployment).items()):
        template = deployment.spec.template
        texts = None if template is None else template.metadata.annotations.karpenter_settings
        if texts is not None:
            return read_settings(f"Deployment {key}", texts)
    return DEFAULTS


def without_unknown(texts: Iterable[str]) -> tuple[str, ...]:
    """The settings without invalid values, which may contain anything."""
    pairs = (text.partition("=") for text in texts)
    return tuple(f"{name}={'' if _read(name, value) is None else value}" for name, _, value in pairs)


def read_settings(source: str, texts: Iterable[str]) -> Settings:
    """The settings in these `name=value` texts. A setting that Karpenter would refuse is listed, and has no effect."""
    found: dict[str, object] = {}
    given: set[str] = set()
    unmodelled: list[str] = []
    for text in texts:
        name, _, value = text.partition("=")
        read = _read(name, value)
        if read is None:
            unmodelled.append(text)
            continue
        gates_on = [each for each in _NOT_MODELLED if read.pop(each, False)]
        unmodelled += [f"{name}: {each}=true" for each in gates_on]
        if read:
            found |= read
            given.add(name)
    return Settings(source=source, given=tuple(sorted(given)), unmodelled=tuple(unmodelled), **found)  # type: ignore[arg-type]


def _read(name: str, value: str) -> dict[str, object] | None:
    """Fields of `Settings`, and gates that are not modelled; None: the setting is not valid, or not modelled."""
    match name, value:
        case "preference-policy", "Respect" | "Ignore":
            return {"ignores_preferences": value == "Ignore"}
        case "min-values-policy", "Strict" | "BestEffort":
            return {"relaxes_min_values": value == "BestEffort"}
        case "ignore-dra-requests", "true":
            return {}
        case "batch-idle-duration", _:
            try:
                return {"idle": parse_duration(value) / NANO}
            except ValueError:
                return None
        case "feature-gates", _:
            return _gates(value)
    return None


def _gates(text: str) -> dict[str, object] | None:
    """Feature gates, `Name=true` separated by commas; gates that Karpenter does not know are ignored."""
    gates: dict[str, bool] = {}
    for pair in filter(None, text.split(",")):
        name, equals, value = pair.partition("=")
        if not equals or value.strip() not in (*_TRUE, *_FALSE):
            return None
        gates[name.strip()] = value.strip() in _TRUE
    found: dict[str, object] = {name: gates[name] for name in _NOT_MODELLED if name in gates}
    for name, own in ((_RESERVED, "reserved_capacity"), (_SPOT_TO_SPOT, "spot_to_spot")):
        if name in gates:
            found[own] = gates[name]
    return found
