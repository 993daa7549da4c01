"""Slices and devices, prepared for the search (`ResourceSlice` in `k8s.io/api/resource/v1`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from kwhatif.cel import AttributeValue, CelRuntimeError, DeviceView, Semver
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.nodes import SelectedNode, any_matches, compile_terms
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.pod_spec import NodeSelector
from kwhatif.kube.model.quantity import parse_quantity
from kwhatif.kube.model.resource import (
    Counter,
    Device,
    DeviceAttribute,
    DeviceClass,
    DeviceTaint,
    DeviceTaintRule,
    ResourceSlice,
)

#: Every class has an implicit extended resource name: this prefix and the name of the class.
IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"


#: The classes of a cluster by extended resource name.
ClassesOf = Callable[[Cluster], Mapping[str, DeviceClass]]


def classes_under(gates: Gates) -> ClassesOf:
    """The function that finds the classes; without the gate `DRAExtendedResource` it finds no classes."""
    return device_classes_by_resource if "DRAExtendedResource" in gates else _no_classes


def _no_classes(_cluster: Cluster) -> Mapping[str, DeviceClass]:
    return {}


def device_classes_by_resource(cluster: Cluster) -> Mapping[str, DeviceClass]:
    """The classes of the cluster by extended resource name."""
    return cluster.derived(_by_resource, DeviceClass)


def _by_resource(cluster: Cluster) -> Mapping[str, DeviceClass]:
    """The classes by resource name, added in the order in which the scheduler's informer delivers them: by name."""
    found: dict[str, DeviceClass] = {}
    for device_class in cluster.all(DeviceClass).values():
        explicit = device_class.spec.extended_resource_name
        if explicit is not None:
            other = found.get(explicit)
            if other is not None and _created(device_class) <= _created(other):
                # QUIRK: (updateResourceName2class) if another class has the explicit name already, this class is
                # ignored, also for its implicit name.
                continue
            found[explicit] = device_class
        found[IMPLICIT_PREFIX + device_class.metadata.name] = device_class
    return found


def _created(device_class: DeviceClass) -> int:
    text = device_class.metadata.creation_timestamp
    return parse_time(text) if text else -1


#: The first minor release with a separate feature gate for rules; before, the gate of taints applies.
_OWN_GATE = 35


def rules_count(gates: Gates, minor: int) -> bool:
    """Whether the scheduler and the controllers of a release use DeviceTaintRules."""
    return "DRADeviceTaints" in gates and (minor < _OWN_GATE or "DRADeviceTaintRules" in gates)


def gate_of_rules(minor: int) -> str:
    """The feature gate that enables DeviceTaintRules."""
    return "DRADeviceTaints" if minor < _OWN_GATE else "DRADeviceTaintRules"


def taint_rules(cluster: Cluster, gates: Gates) -> Sequence[DeviceTaintRule]:
    """The rules that are in use, ordered by name; upstream's order is undefined."""
    return tuple(cluster.all(DeviceTaintRule).values()) if rules_count(gates, cluster.facts.minor) else ()


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

    The scheduler gets an event only if taints change: an update of the devices' slice.
    """
    if not rules_count(cluster.facts.gates, cluster.facts.minor):
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


#: Nano-units by counter set and counter.
CounterSets = Mapping[str, Mapping[str, int]]


#: The feature gates for devices that must be prepared before a pod is bound (binding conditions).
BINDING_GATES = frozenset({"DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"})


class DeviceId(NamedTuple):
    """Identifies a device in the cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        """`driver/pool/device`, as in the scheduler's messages."""
        return f"{self.driver}/{self.pool}/{self.device}"


class NodeMatch:
    """The nodes that can use a slice or a device (`NodeMatches`)."""

    __slots__ = ("_all", "_name", "_terms", "says_anything")

    def __init__(self, name: str, *, all_nodes: bool, selector: NodeSelector | None) -> None:
        self._name = name
        self._all = all_nodes
        self._terms = None if selector is None else compile_terms(selector.node_selector_terms)
        self.says_anything = bool(name) or all_nodes or selector is not None

    def matches(self, node: SelectedNode) -> bool:
        """Whether the node can use the slice or device; False if no field is set."""
        if self._name:
            return node.name == self._name
        return self._all or (self._terms is not None and any_matches(self._terms, node))


class PoolDevice:
    """A device in its slice."""

    __slots__ = ("_view", "counters", "id", "model", "nodes", "selectable", "shared", "slice", "taints", "takable")

    def __init__(self, model: Device, home: Slice, gates: Gates = BASE_GATES) -> None:
        self.model = model
        self.slice = home
        self.id = DeviceId(home.driver, home.pool, model.name)
        #: Whether several claims may use the device at the same time, each with a share of its capacity.
        self.shared = model.allow_multiple_allocations and "DRAConsumableCapacity" in gates
        self.counters = tuple((use.counter_set, _nanos(use.counters)) for use in model.consumes_counters)
        added = (rule.spec.taint for rule in home.rules if selects(rule, *self.id))
        self.taints = (*model.taints, *added) if "DRADeviceTaints" in gates else ()
        #: Whether requests may select the device: False if it has binding conditions and their gates are off.
        self.selectable = not model.binding_conditions or gates >= BINDING_GATES
        self.takable = not model.consumes_counters or "DRAPartitionableDevices" in gates
        if not self.takable:
            self.counters = ()
        #: The device's own nodes, if the slice selects nodes per device; None: the nodes of the slice.
        self.nodes: NodeMatch | None = None
        if home.per_device:
            self.nodes = NodeMatch(model.node_name, all_nodes=model.all_nodes, selector=model.node_selector)
        self._view: DeviceView | None = None

    @property
    def view(self) -> DeviceView:
        """The device, as selectors read it.

        Raises:
            CelRuntimeError: an attribute has no valid value; with the scheduler's message.
        """
        if self._view is None:
            self._view = device_view(self, shared=self.shared)
        return self._view


class Slice:
    """A slice; its devices are created on demand."""

    def __init__(self, model: ResourceSlice, gates: Gates = BASE_GATES, rules: Sequence[DeviceTaintRule] = ()) -> None:
        spec = model.spec
        self._gates = gates
        self.name = model.metadata.name
        self.driver = spec.driver
        self.pool = spec.pool.name
        self.generation = spec.pool.generation
        self.pool_size = spec.pool.resource_slice_count
        self.node_name = spec.node_name
        self.node_selector = spec.node_selector
        self.per_device = spec.per_device_node_selection
        self.nodes = NodeMatch(spec.node_name, all_nodes=spec.all_nodes, selector=spec.node_selector)
        #: Counters that the devices of the whole pool share.
        self.counter_sets = tuple((shared.name, _nanos(shared.counters)) for shared in spec.shared_counters)
        self._devices = spec.devices
        #: The DeviceTaintRules that may select devices of the slice.
        self.rules = tuple([rule for rule in rules if selects(rule, spec.driver, spec.pool.name)])

    @cached_property
    def devices(self) -> tuple[PoolDevice, ...]:
        """The devices, in the driver's order."""
        return tuple(PoolDevice(device, self, self._gates) for device in self._devices)

    def concerns(self, node: SelectedNode) -> bool:
        """Whether the node may use the slice."""
        if self.nodes.says_anything:
            return self.nodes.matches(node)
        return any(device.nodes is not None and device.nodes.matches(node) for device in self.devices)


def device_view(device: PoolDevice, *, shared: bool) -> DeviceView:
    """The device, as selectors read it.

    Raises:
        CelRuntimeError: an attribute has no valid value; with the scheduler's message.
    """
    model = device.model
    return DeviceView(
        driver=device.id.driver,
        allow_multiple_allocations=shared,
        attributes={name: _value(name, attribute) for name, attribute in model.attributes.items()},
        capacity={name: parse_quantity(capacity.value) for name, capacity in model.capacity.items()},
    )


def _value(name: str, attribute: DeviceAttribute) -> AttributeValue:
    if attribute.int_value is not None:
        return attribute.int_value
    if attribute.bool_value is not None:
        return attribute.bool_value
    if attribute.string_value is not None:
        return attribute.string_value
    if attribute.version_value is None:
        raise CelRuntimeError(f"attribute {name}: unsupported attribute value")
    try:
        return Semver.parse(attribute.version_value)
    except ValueError as problem:
        raise CelRuntimeError(f"attribute {name}: parse semantic version: {problem}") from None


def _nanos(counters: Mapping[str, Counter]) -> dict[str, int]:
    return {name: parse_quantity(counter.value) for name, counter in counters.items()}
