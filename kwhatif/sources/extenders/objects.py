"""Pods and nodes as an extender is sent them: whole, as the API server stores them."""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.originals import SessionOriginals
from kwhatif.sources.decoding.lenient import AddProblemWithHint, reader
from kwhatif.sources.extenders.completion import as_informed, complete_node, complete_pod
from kwhatif.sources.extenders.overlay import overlay
from kwhatif.state.pod_info import PodInfo


class WholeObjects:
    """Makes the JSON of pods and nodes from their originals, with what admission has changed since."""

    def __init__(self, originals: SessionOriginals) -> None:
        self._originals = originals
        #: Nodes by name: they stay the same from pod to pod, and are large.
        self._nodes: dict[str, tuple[Node, msgspec.Raw]] = {}

    def candidate(self, pod: PodInfo) -> dict[str, Any]:
        """The pod that looks for a node."""
        stored, candidates = self._originals
        original = candidates.get("Pod", pod.key)
        return self._pod(pod, stored.get("Pod", pod.key) if original is None else original)

    def victim(self, pod: PodInfo) -> dict[str, Any]:
        """A pod that has a node."""
        return self._pod(pod, self._originals.stored.get("Pod", pod.key))

    def node(self, node: Node) -> msgspec.Raw:
        """A node."""
        name = node.metadata.name
        known = self._nodes.get(name)
        if known is None or known[0] is not node:
            whole = _whole(self._originals.stored.get("Node", name), node)
            complete_node(whole)
            known = self._nodes[name] = node, msgspec.Raw(msgspec.json.encode(whole))
        return known[1]

    def remember(self, node: Node, whole: object) -> None:
        """This is what the node looks like: an extender has said so."""
        self._nodes[node.metadata.name] = node, msgspec.Raw(msgspec.json.encode(whole))

    def _pod(self, pod: PodInfo, original: dict[str, Any] | None) -> dict[str, Any]:
        whole = _whole(original, pod.pod)
        complete_pod(whole, pod.uid)
        return whole


def _whole(original: dict[str, Any] | None, obj: Model) -> dict[str, Any]:
    after = _plain(obj)
    if original is None:
        return as_informed(after)
    before = _plain(read_object(type(obj), original, lambda *_: None))
    changed: dict[str, Any] = overlay(original, before, after)
    return as_informed(changed)


def _plain(obj: Model) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(obj))
    return plain


def read_object(type_: type[Model], value: Any, add: AddProblemWithHint) -> Any:
    """Parsed JSON as a pod or a node, read as Go reads it; `add` hears what is wrong.

    Raises:
        msgspec.ValidationError: something is, and so much that there is no object.
    """
    read = reader(type_)(value, (), add)
    return msgspec.convert(read | {"kind": type_.__name__}, type_)
