"""`HTTPExtender`: calls an extender as kube-scheduler does (`pkg/scheduler/extender.go`).

JSON has the names of the Go fields. An extender that has a node cache is sent names and UIDs, any other whole objects.
Answers are read as Go reads them (`staging/src/k8s.io/kube-scheduler/extender/v1/types.go`): names of fields are
matched without regard to case, `null` counts as missing, and what follows the first JSON value is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from kwhatif.kube.matching.field_errors import quoted_path
from kwhatif.kube.model.meta import Int64
from kwhatif.kube.model.node import Node
from kwhatif.scheduler.configuration.schema import ExtenderConfig
from kwhatif.scheduler.framework.extender import ExtenderError, ExtenderVictims, FilterOutcome
from kwhatif.sources.network import redacted
from kwhatif.sources.scheduler.extender_objects import WholeObjects, read_object
from kwhatif.sources.scheduler.extender_transport import Transport
from kwhatif.sources.text.problems import FieldPath
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

T = TypeVar("T")

_DECODER = json.JSONDecoder()


class _Answer(msgspec.Struct, rename=lambda field: field.replace("_", "")):
    """Part of an answer, whose names are written small."""


class FilterResult(_Answer):
    """`ExtenderFilterResult`."""

    nodes: dict[str, Any] | None = None
    node_names: list[str | None] | None = None
    failed_nodes: dict[str, str | None] | None = None
    failed_and_unresolvable_nodes: dict[str, str | None] | None = None
    error: str | None = None


class HostPriority(_Answer):
    """`HostPriority`."""

    host: str | None = None
    score: Int64 | None = None


class MetaPod(_Answer):
    """`MetaPod`."""

    uid: str | None = None


class MetaVictims(_Answer):
    """`MetaVictims`."""

    pods: list[MetaPod] | None = None
    num_pdb_violations: Int64 | None = None


class PreemptionResult(_Answer):
    """`ExtenderPreemptionResult`."""

    node_name_to_meta_victims: dict[str, MetaVictims] | None = None


def read_filter_result(text: bytes) -> FilterResult:
    """The answer to `filter`.

    Raises:
        ExtenderError: it is none.
    """
    return _convert(_folded(_parse(text, {})), FilterResult)


def read_priorities(text: bytes) -> list[tuple[str, int]]:
    """The answer to `prioritize`: (host, score) pairs.

    Raises:
        ExtenderError: it is none.
    """
    value = _parse(text, [])
    rows = [{} if row is None else _folded(row) for row in value] if isinstance(value, list) else value
    return [(row.host or "", row.score or 0) for row in _convert(rows, list[HostPriority])]


def read_preemption_result(text: bytes) -> dict[str, MetaVictims]:
    """The answer to `preempt`: victims by node name.

    Raises:
        ExtenderError: it is none.
    """
    value = _folded(_parse(text, {}))
    nodes = value.get("nodenametometavictims") if isinstance(value, dict) else None
    if isinstance(nodes, Mapping):
        value["nodenametometavictims"] = {name: _folded_victims(victims) for name, victims in nodes.items()}
    return _convert(value, PreemptionResult).node_name_to_meta_victims or {}


def _folded_victims(victims: Any) -> Any:
    folded = _folded(victims)
    if isinstance(folded, dict) and isinstance(folded.get("pods"), list):
        folded["pods"] = [_folded(pod) for pod in folded["pods"]]
    return folded


def _folded(value: Any) -> Any:
    return {name.lower(): item for name, item in value.items()} if isinstance(value, dict) else value


def _convert(value: object, type_: type[T]) -> T:
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as wrong:
        raise ExtenderError(f"json: cannot unmarshal the answer: {wrong}") from wrong


def _parse(text: bytes, empty: object) -> Any:
    """The first JSON value, `empty` for null; what cannot be parsed is reported in Go's words."""
    answer = text.decode("utf-8", "replace").lstrip(" \t\r\n")
    if not answer:
        raise ExtenderError("EOF")
    try:
        value, _ = _DECODER.raw_decode(answer)
    except RecursionError as failure:
        raise ExtenderError("json: cannot unmarshal the answer: it is nested too deeply") from failure
    except json.JSONDecodeError as failure:
        if failure.pos >= len(answer) or failure.msg.startswith("Unterminated string"):
            raise ExtenderError("unexpected EOF") from failure
        where = "looking for beginning of value" if failure.msg == "Expecting value" else f"at offset {failure.pos}"
        raise ExtenderError(f"invalid character {answer[failure.pos]!r} {where}") from failure
    return empty if value is None else value


class HTTPExtender:
    """One extender; see `framework.extender.Extender` for what its methods promise."""

    def __init__(self, config: ExtenderConfig, objects: WholeObjects) -> None:
        """Prepare; nothing is sent yet.

        Raises:
            TLSProblem: the configuration cannot be used.
        """
        self.name = redacted(config.url_prefix)
        self.ignorable = config.ignorable
        self.weight = config.weight
        self.filters = bool(config.filter_verb)
        self.prioritizes = bool(config.prioritize_verb)
        self.preempts = bool(config.preempt_verb)
        self._config = config
        self._managed = frozenset(resource.name for resource in config.managed_resources)
        self._objects = objects
        self._transport = Transport(config)

    def __reduce__(self) -> tuple[object, ...]:
        """In another process, new connections are opened."""
        return type(self), (self._config, self._objects)

    def interested(self, pod: PodInfo) -> bool:
        """Whether a container or an init container asks for a resource that the extender manages."""
        if not self._managed:
            return True
        spec = pod.pod.spec
        return any(
            name in self._managed
            for container in (*spec.containers, *spec.init_containers)
            for name in (*container.resources.requests, *container.resources.limits)
        )

    def filter(self, pod: PodInfo, nodes: Sequence[NodeInfo], snapshot: State) -> FilterOutcome:
        """`ExtenderArgs` there, `ExtenderFilterResult` back."""
        result = read_filter_result(self._send(self._config.filter_verb, self._arguments(pod, nodes)))
        if result.error:
            raise ExtenderError(result.error)
        return FilterOutcome(
            tuple(self._passed(result, nodes, snapshot)),
            {name: message or "" for name, message in (result.failed_nodes or {}).items()},
            {name: message or "" for name, message in (result.failed_and_unresolvable_nodes or {}).items()},
        )

    def prioritize(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Sequence[tuple[str, int]]:
        """`ExtenderArgs` there, `HostPriorityList` back."""
        return read_priorities(self._send(self._config.prioritize_verb, self._arguments(pod, nodes)))

    def preempt(
        self, pod: PodInfo, victims: Mapping[str, ExtenderVictims], snapshot: State
    ) -> Mapping[str, ExtenderVictims]:
        """`ExtenderPreemptionArgs` there, `ExtenderPreemptionResult` back."""
        cached = self._config.node_cache_capable
        described = {
            name: {
                "Pods": [{"UID": each.uid} if cached else self._objects.victim(each) for each in proposal.pods],
                "NumPDBViolations": proposal.pdb_violations,
            }
            for name, proposal in victims.items()
        }
        arguments = {
            "Pod": self._objects.candidate(pod),
            "NodeNameToVictims": None if cached else described,
            "NodeNameToMetaVictims": described if cached else None,
        }
        answer = read_preemption_result(self._send(self._config.preempt_verb, arguments))
        return {name: self._victims(name, found, snapshot) for name, found in sorted(answer.items())}

    def _arguments(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> dict[str, Any]:
        cached = self._config.node_cache_capable
        whole = {"metadata": {}, "items": [self._objects.node(node.node) for node in nodes]} if not cached else None
        return {
            "Pod": self._objects.candidate(pod),
            "Nodes": whole,
            "NodeNames": [node.name for node in nodes] if cached else None,
        }

    def _send(self, verb: str, arguments: object) -> bytes:
        return self._transport.post(verb, msgspec.json.encode(arguments))

    def _passed(self, result: FilterResult, asked: Sequence[NodeInfo], snapshot: State) -> Sequence[NodeInfo]:
        """The nodes that the answer leaves; one that is sent back whole is a node without pods or images from now on.

        QUIRK: (extender.go) so later scores see it empty.
        """
        if self._config.node_cache_capable and result.node_names is not None:
            known = {node.name: node for node in asked}
            return [self._known(name or "", known) for name in result.node_names]
        if result.nodes is None:
            return ()
        items = {name.lower(): value for name, value in result.nodes.items()}.get("items")
        if items is None:
            return ()
        if not isinstance(items, list):
            raise ExtenderError("json: cannot unmarshal the answer: its nodes are not a list")
        return [self._fresh(item, snapshot) for item in items]

    def _known(self, name: str, nodes: Mapping[str, NodeInfo]) -> NodeInfo:
        if name not in nodes:
            raise ExtenderError(
                f'extender "{self.name}" claims a filtered node "{name}" which is not found in the input node list'
            )
        return nodes[name]

    def _fresh(self, whole: Any, snapshot: State) -> NodeInfo:
        def refuse(message: str, path: FieldPath, _hint: str) -> None:
            raise ExtenderError(f"json: cannot unmarshal the answer: node field {quoted_path(path) or '.'}: {message}")

        node: Node = read_object(Node, {} if whole is None else whole, refuse)
        if node.status.allocatable is None:  # what an extender sends has no defaults
            node = replace(node, status=replace(node.status, allocatable={}))
        self._objects.remember(node, whole)
        return NodeInfo(node, snapshot.shapes.number(node))

    def _victims(self, name: str, found: MetaVictims, snapshot: State) -> ExtenderVictims:
        node = snapshot.by_name.get(name)
        if node is None:
            raise ExtenderError(f'nodeinfo not found for node name "{name}"')
        pods = {pod.uid: pod for pod in node.pods}
        wanted = [pod.uid or "" for pod in found.pods or ()]
        for uid in wanted:
            if uid not in pods:
                raise ExtenderError(
                    f"extender: {self.name} claims to preempt pod (UID: &{{{uid}}}) on node: {name}, but the pod is"
                    " not found on that node"
                )
        return ExtenderVictims(tuple(pods[uid] for uid in wanted), found.num_pdb_violations or 0)
