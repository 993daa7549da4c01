"""From the name of an extended resource to the DeviceClass behind it."""

from __future__ import annotations

import pytest

from kwhatif.dra.devices import device_classes_by_resource
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.resource import DeviceClass, DeviceClassSpec
from tests.builders import cluster

OLD, NEW = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
IMPLICIT = "deviceclass.resource.kubernetes.io/"


def device_class(name: str, resource: str | None = None, created: str | None = None) -> DeviceClass:
    meta = ObjectMeta(name=name, creation_timestamp=created)
    return DeviceClass(metadata=meta, spec=DeviceClassSpec(extended_resource_name=resource))


CASES = {
    "no class": ([], {}),
    "every class has an implicit name": ([device_class("a")], {IMPLICIT + "a": "a"}),
    "and perhaps an explicit one": ([device_class("a", "x.io/gpu")], {IMPLICIT + "a": "a", "x.io/gpu": "a"}),
    "the newer class gets the name": (
        [device_class("a", "x.io/gpu", OLD), device_class("b", "x.io/gpu", NEW)],
        {IMPLICIT + "a": "a", IMPLICIT + "b": "b", "x.io/gpu": "b"},
    ),
    "an older class that comes later is dropped altogether": (
        [device_class("a", "x.io/gpu", NEW), device_class("b", "x.io/gpu", OLD)],
        {IMPLICIT + "a": "a", "x.io/gpu": "a"},
    ),
    "of equal age, the smaller name": (
        [device_class("b", "x.io/gpu", OLD), device_class("a", "x.io/gpu", OLD)],
        {IMPLICIT + "a": "a", "x.io/gpu": "a"},
    ),
    "a class without a date is older than any": (
        [device_class("a", "x.io/gpu"), device_class("b", "x.io/gpu", OLD)],
        {IMPLICIT + "a": "a", IMPLICIT + "b": "b", "x.io/gpu": "b"},
    ),
}


@pytest.mark.parametrize(("classes", "expected"), CASES.values(), ids=CASES.keys())
def test_classes_by_resource(classes: list[DeviceClass], expected: dict[str, str]) -> None:
    found = device_classes_by_resource(cluster(*classes))
    assert {name: found[name].metadata.name for name in found} == expected


def test_a_class_that_is_added_is_found() -> None:
    made = cluster()
    assert not device_classes_by_resource(made)
    made.add(device_class("a"))
    assert list(device_classes_by_resource(made)) == [IMPLICIT + "a"]
