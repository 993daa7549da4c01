"""How the autoscaler of nodes that a pod or template runs was started: kept of what the model leaves out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec
from msgspec import field
from msgspec.structs import force_setattr, replace

from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.sources.decoding.examine import FAILURES
from kwhatif.sources.text.documents import Buffer

_NOTHING = msgspec.Raw(b"null")
_AUTOSCALER = "cluster-autoscaler"
#: Its name, and not that of an annotation of its.
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
