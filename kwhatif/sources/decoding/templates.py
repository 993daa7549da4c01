"""What is kept of objects beside the model: what was applied before, pod templates as read, flags of an autoscaler.

How the autoscaler of nodes was started, the pod or template that runs it says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import field
from msgspec.structs import force_setattr, replace

from kwhatif.admission.pod_security_checks import PROFILES
from kwhatif.kube.model.meta import LastApplied, controller_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, PodMeta, PodTemplateSpec, TemplateText
from kwhatif.kube.model.workload import WORKLOADS, CronJob, Job
from kwhatif.sources.decoding.lenient import FAILURES
from kwhatif.sources.text.documents import Buffer
from kwhatif.workloads.applied_template import template_of

_NOTHING = msgspec.Raw(b"null")
_AUTOSCALER = "cluster-autoscaler"
#: Its name, and not the name of one of its annotations.
_AUTOSCALER_SIGN = re.compile(rb"cluster-autoscaler(?!\.kubernetes\.io)")
#: Karpenter's image, as its providers call it.
_KARPENTER = re.compile(rb"karpenter(?:/[a-z-]*controller|-controller)\b")


#: Flags of Karpenter that change its answers, by the variable of the environment that says the same.
_KARPENTER_FLAGS: Mapping[str, str] = {
    name.upper().replace("-", "_"): name
    for name in (
        "preference-policy",
        "min-values-policy",
        "feature-gates",
        "ignore-dra-requests",
        "batch-idle-duration",
    )
}
#: Flags that take no next argument.
_SWITCHES = ("ignore-dra-requests",)


class _Variable(msgspec.Struct, frozen=True):
    name: str = ""
    value: str = ""
    value_from: msgspec.Raw = field(name="valueFrom", default=_NOTHING)

    @property
    def pair(self) -> tuple[str, str | None]:
        """Its name and value; None: that stands elsewhere."""
        return self.name, self.value if self.value_from == _NOTHING else None


class _Container(msgspec.Struct, frozen=True):
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[_Variable, ...] = ()

    @property
    def is_autoscaler(self) -> bool:
        """Whether the command, or else the image, is called so."""
        program = self.command[0] if self.command else re.split("[:@]", self.image.rpartition("/")[2])[0]
        return program.rpartition("/")[2] == _AUTOSCALER

    @property
    def is_karpenter(self) -> bool:
        """Whether the image is called so."""
        return _KARPENTER.search(self.image.encode()) is not None


class _PodSpec(msgspec.Struct, frozen=True):
    containers: tuple[_Container, ...] = ()


class _Running(msgspec.Struct, frozen=True):
    """A pod, or a template."""

    spec: _PodSpec = _PodSpec()


_RUNNING = msgspec.json.Decoder(_Running)


def may_run_autoscaler(json: Buffer) -> bool:
    """Whether pods in this JSON may run the Cluster Autoscaler."""
    return _AUTOSCALER_SIGN.search(json) is not None


def keep_arguments(obj: Pod | PodTemplateSpec, json: Buffer) -> None:
    """Keep the arguments of the Cluster Autoscaler, if the pod or the template of this JSON runs it."""
    found = _running(json, lambda each: each.is_autoscaler) if may_run_autoscaler(json) else None
    if found is not None:
        _note(obj, autoscaler_arguments=(*found.command[1:], *found.args))


def keep_settings(template: PodTemplateSpec, json: Buffer) -> None:
    """Keep the settings of Karpenter, if the template runs it."""
    found = _running(json, lambda each: each.is_karpenter) if _KARPENTER.search(json) else None
    if found is not None:
        pairs = (each.pair for each in found.env)
        _note(template, karpenter_settings=kept_settings(pairs, (*found.command[1:], *found.args)))


def _running(json: Buffer, is_it: Callable[[_Container], bool]) -> _Container | None:
    """The first such container of the pod or template; None: there is none, or the JSON cannot be understood."""
    with suppress(*FAILURES):
        return next(filter(is_it, _RUNNING.decode(json).spec.containers), None)
    return None


def _note(obj: Pod | PodTemplateSpec, **notes: tuple[str, ...]) -> None:
    annotations = replace(obj.metadata.annotations, **notes)
    force_setattr(obj, "metadata", replace(obj.metadata, annotations=annotations))


def kept_settings(variables: Iterable[tuple[str, str | None]], arguments: Sequence[str]) -> tuple[str, ...]:
    """The settings that count, as `name=value`, of a container's environment and arguments; a flag is stronger.

    The value of a variable is None where it stands elsewhere. Nothing else is kept: it may hold anything.
    """
    found = {
        _KARPENTER_FLAGS[name]: f"${name}" if value is None else value
        for name, value in variables
        if name in _KARPENTER_FLAGS
    }
    found |= dict(_flags(arguments))
    return tuple(f"{name}={value}" for name, value in sorted(found.items()))


def _flags(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name and value of each flag that counts, as Go's package `flag` splits them."""
    left = list(arguments)
    while left:
        text = left.pop(0)
        name, equals, value = text.lstrip("-").partition("=")
        if not text.startswith("-") or name not in _KARPENTER_FLAGS.values():
            continue
        if not equals:
            value = "true" if name in _SWITCHES or not left else left.pop(0)
        yield name, value


_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class _Managed(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of `managedFields`."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    fields_v1: msgspec.Raw = field(name="fieldsV1", default=_NOTHING)


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    annotations: dict[str, str] | None = None
    managed_fields: list[_Managed] | None = None


class _Run(msgspec.Struct, frozen=True):
    template: msgspec.Raw = _NOTHING


class _JobTemplate(msgspec.Struct, frozen=True):
    spec: _Run = _Run()


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    template: msgspec.Raw = _NOTHING
    job_template: _JobTemplate = _JobTemplate()


class _Workload(msgspec.Struct, frozen=True):
    metadata: _Meta = field(default_factory=_Meta)
    spec: _Spec = field(default_factory=_Spec)


class _Noted(msgspec.Struct, frozen=True):
    """Any other object."""

    metadata: _Meta = field(default_factory=_Meta)


_RAW = msgspec.json.Decoder(tuple[msgspec.Raw, ...])
_WORKLOAD = msgspec.json.Decoder(_Workload)
_WORKLOADS = msgspec.json.Decoder(tuple[_Workload, ...])
_NOTED = msgspec.json.Decoder(_Noted)
_ALL_NOTED = msgspec.json.Decoder(tuple[_Noted, ...])
_LEVEL = msgspec.json.Decoder(dict[str, msgspec.Raw])
#: Where the template stands in a workload; in a CronJob; and in their `managedFields`.
_TEMPLATE, _NESTED = ("spec", "template"), ("spec", "jobTemplate", "spec", "template")
#: What a list of pods holds if any of them was applied: few were, and there are many.
_SIGNS = (_LAST_APPLIED.encode(), b'"Apply"')


def keep_templates(objects: Sequence[Any], json: Buffer) -> None:
    """Keep what was applied of the objects of a JSON list, and the text of the templates of workloads among them."""
    kinds = set(map(type, objects))
    if Pod in kinds and may_run_autoscaler(json):
        with suppress(*FAILURES):
            for obj, raw in zip(objects, _RAW.decode(json), strict=True):
                if isinstance(obj, Pod):
                    keep_arguments(obj, raw)
    if not may_be_applied(kinds, json):
        return
    decoder = _ALL_NOTED if kinds.isdisjoint(WORKLOADS) else _WORKLOADS
    try:
        found: tuple[_Workload | _Noted, ...] = decoder.decode(json)
    except FAILURES:
        return  # something among them has metadata as no object has it: nothing is known of fields beside the model
    for obj, read in zip(objects, found, strict=True):
        _keep(obj, read)


def keep_template(obj: Any, json: Buffer) -> None:
    """Keep what was applied of an object, and the text of its template, where it is a workload."""
    if isinstance(obj, Pod):
        keep_arguments(obj, json)
    if may_be_applied({type(obj)}, json):
        with suppress(*FAILURES):
            _keep(obj, (_WORKLOAD if isinstance(obj, WORKLOADS) else _NOTED).decode(json))


def may_be_applied(kinds: Collection[type], json: Buffer) -> bool:
    """Whether any of the objects in this JSON may have been applied; of nodes that is not asked."""
    others = {*kinds} - {Node}
    if others != {Pod}:
        return bool(others)
    text = bytes(json)
    return any(sign in text for sign in _SIGNS)


def _keep(obj: Any, read: _Workload | _Noted) -> None:
    """Keep what was applied, except for objects that controllers create: these are not applied."""
    if isinstance(obj, Node) or (isinstance(obj, Job | Pod) and controller_of(obj.metadata)):
        return
    steps = _NESTED if isinstance(obj, CronJob) else _TEMPLATE
    applied, template_applied = _without_template((read.metadata.annotations or {}).get(_LAST_APPLIED, ""), steps)
    managed, template_managed = _without_template(_managed(read), [f"f:{step}" for step in steps])
    if applied or managed:
        force_setattr(obj.metadata, "applied", LastApplied(configuration=applied, managed=managed))
    template = template_of(obj) if isinstance(obj, WORKLOADS) else None
    if template is not None and isinstance(read, _Workload):
        spec = read.spec
        json = _text(spec.job_template.spec.template if isinstance(obj, CronJob) else spec.template)
        keep_profiles(template.metadata, json)
        encoded = json.encode()
        keep_arguments(template, encoded)
        keep_settings(template, encoded)
        force_setattr(template, "text", TemplateText(json=json, applied=template_applied, managed=template_managed))


def as_given(data: Mapping[str, Any], kind: type) -> LastApplied:
    """What `kubectl apply` will note of a manifest."""
    steps = _NESTED if kind is CronJob else _TEMPLATE
    return LastApplied(given=_without_template(msgspec.json.encode(data), steps)[0])


def _without_template(json: str | bytes, steps: Sequence[str]) -> tuple[str, str]:
    """The JSON of an object without the template that stands at these steps; and that. "" where there is none."""
    with suppress(*FAILURES):
        rest, template = _taken_out(json, steps) if json else (b"", _NOTHING)
        return rest.decode(), _text(template)
    return "", ""


def _taken_out(json: str | bytes | msgspec.Raw, steps: Sequence[str]) -> tuple[bytes, msgspec.Raw]:
    level = _LEVEL.decode(json)
    first, *rest = steps
    taken = level.pop(first, _NOTHING)
    if rest and taken != _NOTHING:
        without, taken = _taken_out(taken, rest)
        level[first] = msgspec.Raw(without)
    return msgspec.json.encode(level), taken


def keep_profiles(meta: PodMeta, json: str) -> None:
    """Keep the annotations that name AppArmor and seccomp profiles; `json` is the pod, or the template, that has them.

    Their names end with those of containers: no field of the model can have them.
    """
    if not any(prefix in json for prefix in PROFILES):
        return
    with suppress(*FAILURES):
        notes = _NOTED.decode(json).metadata.annotations or {}
        profiles = {key: value for key, value in notes.items() if key.startswith(PROFILES)}
        if profiles:
            force_setattr(meta, "annotations", replace(meta.annotations, profiles=profiles))


def forget_templates(objects: Sequence[Any]) -> None:
    """Forget what was kept: nothing is known of fields that the model does not have."""
    for obj in objects:
        template = template_of(obj) if isinstance(obj, WORKLOADS) else None
        if template is not None and template.text is not None:
            force_setattr(template, "text", None)


def _text(raw: msgspec.Raw) -> str:
    """The JSON without white space; "" where there is none."""
    json = bytes(raw)
    return "" if json == b"null" else msgspec.json.format(json, indent=-1).decode()


def _managed(read: _Workload | _Noted) -> bytes:
    """What `kubectl apply --server-side` owns, as JSON."""
    for entry in read.metadata.managed_fields or ():
        if (entry.manager, entry.operation, entry.subresource) == ("kubectl", "Apply", ""):
            return bytes(entry.fields_v1)
    return b""
