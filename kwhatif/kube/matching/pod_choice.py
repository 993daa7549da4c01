"""Pods as kubectl chooses them: by namespace, labels (`-l`) and fields (`--field-selector`).

(`pkg/apis/core/v1/conversion.go`, `AddFieldLabelConversionsForPod`; `apimachinery/pkg/fields/selector.go`.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kwhatif.kube.matching.labels import EVERYTHING, Selector, SelectorError, parse_selector
from kwhatif.kube.matching.names import did_you_mean, nearest
from kwhatif.kube.model.pod import Pod

#: The fields by which the API server selects pods, as far as the model has them.
_FIELDS: Mapping[str, Callable[[Pod], str]] = {
    "metadata.name": lambda pod: pod.metadata.name,
    "metadata.namespace": lambda pod: pod.metadata.namespace,
    "spec.nodeName": lambda pod: pod.spec.node_name,
    "spec.restartPolicy": lambda pod: pod.spec.restart_policy or "Always",
    "spec.schedulerName": lambda pod: pod.spec.scheduler_name or "default-scheduler",
    "spec.hostNetwork": lambda pod: "true" if pod.spec.host_network else "false",
    "status.phase": lambda pod: pod.status.phase or "Pending",
    "status.nominatedNodeName": lambda pod: pod.status.nominated_node_name,
}
_TERM = re.compile(r"(?P<field>[^=!]+)(?P<operator>!=|==?)(?P<value>.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\,=])")


class FieldTerm(NamedTuple):
    """One requirement: the field has this value, or another one."""

    field: str
    value: str
    equals: bool = True

    def holds(self, pod: Pod) -> bool:
        """Whether it holds for the pod."""
        return (_FIELDS[self.field](pod) == self.value) is self.equals


class PodChoice(NamedTuple):
    """Which pods are meant."""

    #: "": those of all namespaces.
    namespace: str = ""
    labels: Selector = EVERYTHING
    fields: tuple[FieldTerm, ...] = ()

    def matches(self, pod: Pod) -> bool:
        """Whether the pod is one of them."""
        meta = pod.metadata
        if self.namespace not in ("", meta.namespace) or not self.labels.matches(meta.labels):
            return False
        return all(term.holds(pod) for term in self.fields)


ALL_PODS = PodChoice()


def pod_choice(namespace: str, selector: str, field_selector: str) -> PodChoice:
    """The pods of a namespace ("": of all) with these labels and fields, as kubectl's options say them.

    Raises:
        ValueError: a selector is not one.
    """
    return PodChoice(namespace, parse_labels(selector), parse_fields(field_selector))


def parse_labels(text: str) -> Selector:
    """A label selector as `-l` takes it; "" is everything.

    Raises:
        ValueError: it is not one.
    """
    try:
        return parse_selector(text) if text else EVERYTHING
    except SelectorError as wrong:
        raise ValueError(f"{text!r} is not a label selector: {wrong}") from wrong


def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """A field selector of pods, such as `spec.nodeName=a1,status.phase!=Running`.

    Raises:
        ValueError: it is not one, or the API server knows no such field of pods.
    """
    found: list[FieldTerm] = []
    for part in re.split(r"(?<!\\),", text):
        term = _TERM.fullmatch(part)
        if not part:
            continue
        if term is None:
            raise ValueError(f"{text!r} is not a field selector: can't understand {part!r}; write spec.nodeName=a1")
        name = term["field"].strip()
        if name not in _FIELDS:
            hint = did_you_mean(nearest(name, _FIELDS)) or f"there are {', '.join(_FIELDS)}"
            raise ValueError(f"field label not supported: {name} ({hint})")
        found.append(FieldTerm(name, _ESCAPED.sub(r"\1", term["value"]), term["operator"] != "!="))
    return tuple(found)
