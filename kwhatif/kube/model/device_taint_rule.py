"""`DeviceTaintRule`: a taint of devices that is not set by their driver (`resource.k8s.io/v1`, since 1.37)."""

from __future__ import annotations

from kwhatif.kube.model.meta import ApiObject, Model
from kwhatif.kube.model.resource import DeviceSelector
from kwhatif.kube.model.resource_slice import DeviceTaint


class DeviceTaintSelector(Model):
    """Which devices a rule is about: those for which all of this holds. What is None says nothing."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    #: Up to 1.34; later releases do not know these two any more.
    device_class_name: str | None = None
    selectors: tuple[DeviceSelector, ...] = ()


class DeviceTaintRuleSpec(Model):
    """`spec` of a rule; without a selector it is about no device."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(ApiObject):
    """`resource.k8s.io/v1 DeviceTaintRule`; its status says what the eviction has come to, no rule reads it."""

    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
