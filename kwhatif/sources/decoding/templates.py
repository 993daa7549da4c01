"""Pod templates as they were read: for comparing what a manifest changes in fields that the model does not have."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import field
from msgspec.structs import force_setattr, replace

from kwhatif.admission.pod_security.checks import PROFILES
from kwhatif.model.job import CronJob, Job
from kwhatif.model.meta import controller_of
from kwhatif.model.pod import PodMeta, TemplateText
from kwhatif.model.workload import WORKLOADS
from kwhatif.sources.decoding.examine import FAILURES
from kwhatif.sources.text.documents import Buffer
from kwhatif.workloads.applied_template import template_of

_NOTHING = msgspec.Raw(b"null")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class _Run(msgspec.Struct, frozen=True):
    template: msgspec.Raw = _NOTHING


class _JobTemplate(msgspec.Struct, frozen=True):
    spec: _Run = _Run()


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    template: msgspec.Raw = _NOTHING
    job_template: _JobTemplate = _JobTemplate()


class _Managed(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of `managedFields`."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    fields_v1: msgspec.Raw = field(name="fieldsV1", default=_NOTHING)


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    annotations: dict[str, str] | None = None
    managed_fields: list[_Managed] | None = None


class _Workload(msgspec.Struct, frozen=True):
    metadata: _Meta = field(default_factory=_Meta)
    spec: _Spec = field(default_factory=_Spec)


class _ManagedRun(msgspec.Struct, frozen=True):
    template: msgspec.Raw = field(name="f:template", default=_NOTHING)


class _ManagedJobTemplate(msgspec.Struct, frozen=True):
    spec: _ManagedRun = field(name="f:spec", default_factory=_ManagedRun)


class _ManagedSpec(msgspec.Struct, frozen=True):
    template: msgspec.Raw = field(name="f:template", default=_NOTHING)
    job_template: _ManagedJobTemplate = field(name="f:jobTemplate", default_factory=_ManagedJobTemplate)


class _ManagedTree(msgspec.Struct, frozen=True):
    spec: _ManagedSpec = field(name="f:spec", default_factory=_ManagedSpec)


class _Template(msgspec.Struct, frozen=True):
    metadata: _Meta = field(default_factory=_Meta)


_TEMPLATE = msgspec.json.Decoder(_Template)
_WORKLOAD = msgspec.json.Decoder(_Workload)
_WORKLOADS = msgspec.json.Decoder(tuple[_Workload, ...])
_MANAGED = msgspec.json.Decoder(_ManagedTree)


def keep_templates(objects: Sequence[Any], json: Buffer) -> None:
    """Keep the text of the templates of workloads among the objects of a JSON list."""
    if set(map(type, objects)).isdisjoint(WORKLOADS):
        return
    try:
        found = _WORKLOADS.decode(json)
    except FAILURES:
        return  # something among them has metadata as no object has it: nothing is known of fields beside the model
    for obj, read in zip(objects, found, strict=True):
        _keep(obj, read)


def keep_template(obj: Any, json: Buffer) -> None:
    """Keep the text of the template of an object, where that is a workload."""
    if isinstance(obj, WORKLOADS):
        with suppress(*FAILURES):
            _keep(obj, _WORKLOAD.decode(json))


def _keep(obj: Any, read: _Workload) -> None:
    """Keep the text; Jobs that a CronJob makes are nobody's to apply."""
    if not isinstance(obj, WORKLOADS) or (isinstance(obj, Job) and controller_of(obj.metadata)):
        return
    template = template_of(obj)
    if template is not None:
        nested = isinstance(obj, CronJob)
        json = _text(_template(read, nested=nested))
        keep_profiles(template.metadata, json)
        text = TemplateText(json=json, applied=_applied(read, nested=nested), managed=_managed(read, nested=nested))
        force_setattr(template, "text", text)


def keep_profiles(meta: PodMeta, json: str) -> None:
    """Keep the annotations that name AppArmor and seccomp profiles; `json` is the pod, or the template, that has them.

    Their names end with those of containers: no field of the model can have them.
    """
    if not any(prefix in json for prefix in PROFILES):
        return
    with suppress(*FAILURES):
        notes = _TEMPLATE.decode(json).metadata.annotations or {}
        profiles = {key: value for key, value in notes.items() if key.startswith(PROFILES)}
        if profiles:
            force_setattr(meta, "annotations", replace(meta.annotations, profiles=profiles))


def forget_templates(objects: Sequence[Any]) -> None:
    """Nothing is known of fields that the model does not have."""
    for obj in objects:
        template = template_of(obj) if isinstance(obj, WORKLOADS) else None
        if template is not None and template.text is not None:
            force_setattr(template, "text", None)


def _template(workload: _Workload | _ManagedTree, *, nested: bool) -> msgspec.Raw:
    spec = workload.spec
    return spec.job_template.spec.template if nested else spec.template


def _text(raw: msgspec.Raw) -> str:
    """The JSON without white space; "" where there is none."""
    json = bytes(raw)
    return "" if json == b"null" else msgspec.json.format(json, indent=-1).decode()


def _applied(workload: _Workload, *, nested: bool) -> str:
    """What `kubectl apply` noted of the manifest that was applied last."""
    before = (workload.metadata.annotations or {}).get(_LAST_APPLIED)
    with suppress(*FAILURES):
        return _text(_template(_WORKLOAD.decode(before), nested=nested)) if before else ""
    return ""


def _managed(workload: _Workload, *, nested: bool) -> str:
    """What `kubectl apply --server-side` owns."""
    for entry in workload.metadata.managed_fields or ():
        if (entry.manager, entry.operation, entry.subresource) == ("kubectl", "Apply", ""):
            with suppress(*FAILURES):
                return _text(_template(_MANAGED.decode(entry.fields_v1), nested=nested))
    return ""
