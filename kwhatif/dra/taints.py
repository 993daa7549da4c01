"""Device taints of DeviceTaintRules (`staging/src/k8s.io/dynamic-resource-allocation/resourceslice/tracker`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.kube.gates import Gates
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.device_taint_rule import DeviceTaintRule
from kwhatif.kube.model.resource_slice import DeviceTaint, ResourceSlice

#: The first release with a separate feature gate for rules; before, they use the gate of taints.
_OWN_GATE = 35


def rules_count(gates: Gates, minor: int) -> bool:
    """Whether the scheduler and the controllers of a release use DeviceTaintRules."""
    return "DRADeviceTaints" in gates and (minor < _OWN_GATE or "DRADeviceTaintRules" in gates)


def gate_of_rules(minor: int) -> str:
    """The feature gate that enables DeviceTaintRules."""
    return "DRADeviceTaints" if minor < _OWN_GATE else "DRADeviceTaintRules"


def taint_rules(cluster: Cluster, gates: Gates) -> Sequence[DeviceTaintRule]:
    """The rules that are in use, ordered by name; upstream's order is undefined."""
    return tuple(cluster.all(DeviceTaintRule).values()) if rules_count(gates, cluster.minor) else ()


def selects(rule: DeviceTaintRule, driver: str, pool: str, device: str | None = None) -> bool:
    """Whether the rule selects the device; None: any device of the pool."""
    selector = rule.spec.device_selector
    if selector is None:
        return False
    return (
        selector.driver in (None, driver)
        and selector.pool in (None, pool)
        and (device is None or selector.device in (None, device))
    )


def changes_devices(old: DeviceTaintRule | None, new: DeviceTaintRule | None, cluster: Cluster) -> bool:
    """Whether adding, changing or deleting a rule changes taints of devices in the cluster.

    Only then does the scheduler get an event, as for an update of their slice.
    """
    if not rules_count(cluster.gates, cluster.minor):
        return False
    return any(
        _taint_of(old, found, name) != _taint_of(new, found, name)
        for found in cluster.all(ResourceSlice).values()
        for name in _names(found, old, new)
    )


def _names(found: ResourceSlice, *rules: DeviceTaintRule | None) -> Iterator[str]:
    """The devices of a slice that one of the rules may select."""
    if any(rule is not None and selects(rule, found.spec.driver, found.spec.pool.name) for rule in rules):
        yield from (device.name for device in found.spec.devices)


def _taint_of(rule: DeviceTaintRule | None, found: ResourceSlice, device: str) -> DeviceTaint | None:
    if rule is None or not selects(rule, found.spec.driver, found.spec.pool.name, device):
        return None
    return rule.spec.taint
