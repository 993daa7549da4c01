"""The DeviceClass of an extended resource.

(`staging/src/k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache/extendedresourcecache.go`.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kwhatif.kube.gates import Gates
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.resource import DeviceClass

#: Every class can be requested implicitly, by this prefix and its name.
IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"


#: The classes of a cluster by extended resource name.
ClassesOf = Callable[[Cluster], Mapping[str, DeviceClass]]


def classes_under(gates: Gates) -> ClassesOf:
    """The lookup under these gates: without `DRAExtendedResource` no resource name has a class."""
    return device_classes_by_resource if "DRAExtendedResource" in gates else _no_classes


def _no_classes(_cluster: Cluster) -> Mapping[str, DeviceClass]:
    return {}


def device_classes_by_resource(cluster: Cluster) -> Mapping[str, DeviceClass]:
    """The classes of the cluster by extended resource name."""
    return cluster.derived(_by_resource, DeviceClass)


def _by_resource(cluster: Cluster) -> Mapping[str, DeviceClass]:
    """Built in the order in which the scheduler's informer delivers the classes: by name."""
    found: dict[str, DeviceClass] = {}
    for device_class in cluster.all(DeviceClass).values():
        explicit = device_class.spec.extended_resource_name
        if explicit is not None:
            other = found.get(explicit)
            if other is not None and _created(device_class) <= _created(other):
                # QUIRK: (updateResourceName2class) a class whose explicit name is already taken is dropped
                # altogether, with its implicit name.
                continue
            found[explicit] = device_class
        found[IMPLICIT_PREFIX + device_class.metadata.name] = device_class
    return found


def _created(device_class: DeviceClass) -> int:
    text = device_class.metadata.creation_timestamp
    return parse_time(text) if text else -1
