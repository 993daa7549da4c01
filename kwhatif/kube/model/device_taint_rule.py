"""`DeviceTaintRule`: a taint of devices that is not set by their driver (`resource.k8s.io/v1`, since 1.37)."""

from __future__ import annotations

from kwhatif.kube.model.meta import ApiObject, Model
from kwhatif.kube.model.resource import DeviceSelector
from kwhatif.kube.model.resource_slice import DeviceTaint


class DeviceTaintSelector(Model):
    """Which devices a rule selects: those that match all fields that are not None."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    #: Up to 1.34; later releases do not have these two fields.
    device_class_name: str | None = None
    selectors: tuple[DeviceSelector, ...] = ()


class DeviceTaintRuleSpec(Model):
    """`spec` of a rule; without a selector it selects no device."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(ApiObject):
    """`resource.k8s.io/v1 DeviceTaintRule`, without its status (the progress of the eviction), which no rule reads."""

    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
