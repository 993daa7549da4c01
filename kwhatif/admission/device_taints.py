"""Times of device taints, as the API server sets them (`SetDefaults_DeviceTaint`, `devicetaintrule/strategy.go`)."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.admission.same import each, with_parts
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.device_taint_rule import DeviceTaintRule
from kwhatif.kube.model.resource_slice import Device, DeviceTaint, ResourceSlice


def with_times(obj: KubernetesObject, before: KubernetesObject | None, now: str) -> KubernetesObject:
    """The object with a time in every device taint; other objects do not change.

    If a rule's effect changes, but not its time, the time is set to now.
    """
    if isinstance(obj, DeviceTaintRule):
        taint = obj.spec.taint
        if isinstance(before, DeviceTaintRule):
            was = before.spec.taint
            kept = replace(taint, time_added=taint.time_added or was.time_added)
            is_new = kept.time_added == was.time_added and kept.effect != was.effect
            taint = replace(kept, time_added=now) if is_new else kept
        return with_parts(obj, spec=with_parts(obj.spec, taint=_timed(taint, now)))
    if isinstance(obj, ResourceSlice):
        return with_parts(obj, spec=with_parts(obj.spec, devices=each(lambda one: _device(one, now), obj.spec.devices)))
    return obj


def _device(device: Device, now: str) -> Device:
    return with_parts(device, taints=each(lambda taint: _timed(taint, now), device.taints))


def _timed(taint: DeviceTaint, now: str) -> DeviceTaint:
    return taint if taint.time_added is not None else replace(taint, time_added=now)
