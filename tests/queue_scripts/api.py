"""An API server that holds manifests, and what the scheduler's informers have seen of them."""

import copy
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from kwhatif.admission.defaults import default_object
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.sources.decoding.kinds import AnyObject
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.state import State

Raw = dict[str, Any]
_DECODER = msgspec.json.Decoder(AnyObject)


def stamp(nanoseconds: int) -> str:
    """An exact time, as manifests write it."""
    whole = datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{nanoseconds % 1_000_000_000:09}Z"


class Watch(NamedTuple):
    """A watch event that is yet to be delivered."""

    old: KubernetesObject | None
    new: KubernetesObject | None


#: Maps of strings, which are left out when they are empty; other empty objects say something (a selector: everything).
_MAPS = ("labels", "annotations", "nodeSelector", "matchLabels", "requests", "limits", "allocatable", "capacity")


def without_empty(value: Any) -> Any:
    """As the API server would write it: lists and maps that are empty are left out."""
    if isinstance(value, dict):
        kept = {key: without_empty(one) for key, one in value.items() if one is not None and one != []}
        return {key: one for key, one in kept.items() if one != {} or key not in _MAPS}
    return [without_empty(one) for one in value] if isinstance(value, list) else value


def without_zero(value: Any) -> Any:
    """Without what a Go field has when nothing is said; lists and maps that are given empty differ from none."""
    if isinstance(value, dict):
        kept = {key: without_zero(one) for key, one in value.items() if one not in (None, "", False)}
        return {key: one for key, one in kept.items() if one != {} or key in _MAPS}
    return [without_zero(one) for one in value] if isinstance(value, list) else value


def merged(target: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def decode(raw: Raw) -> Any:
    """The typed object, with the API's defaults."""
    return default_object(_DECODER.decode(msgspec.json.encode(without_empty(raw))))


def key_of(raw: Raw) -> tuple[str, str]:
    meta = raw["metadata"]
    namespace = meta.get("namespace", "")
    return raw["kind"], f"{namespace}/{meta['name']}" if namespace else meta["name"]


class Api:
    """Objects by kind and key. Every write gives a watch event, which is in `pending` until somebody takes it."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Raw] = {}
        self.typed: dict[tuple[str, str], Any] = {}
        self.pending: list[Watch] = []
        #: Objects that were patched before: the first patch always counts as one, whatever it says.
        self.written: set[tuple[str, str]] = set()
        self._uids = 0

    def find(self, kind: str, key: str) -> Raw | None:
        return self.objects.get((kind, key))

    def create(self, raw: Raw) -> bool:
        key = key_of(raw)
        if key in self.objects:
            return False
        raw = copy.deepcopy(raw)
        self._uids += 1
        raw["metadata"].setdefault("uid", f"uid-{self._uids}")
        self.objects[key] = raw
        self.typed[key] = decode(raw)
        self.pending.append(Watch(None, self.typed[key]))
        return True

    def replace(self, raw: Raw) -> bool:
        """Whether anything changed."""
        key = key_of(raw)
        if key in self.written and without_zero(raw) == without_zero(self.objects[key]):
            return False
        self.written.add(key)
        self._put(raw)
        return True

    def _put(self, raw: Raw) -> None:
        key = key_of(raw)
        old = self.typed[key]
        self.objects[key], self.typed[key] = raw, decode(raw)
        self.pending.append(Watch(old, self.typed[key]))

    def patch(self, kind: str, key: str, patch: Raw) -> bool:
        raw = self.objects.get((kind, key))
        return raw is not None and self.replace(merged(without_empty(raw), patch))

    def bind(self, key: str, node: str, start: str) -> None:
        """The pod has got a node."""
        raw = self.objects["Pod", key]
        conditions = [{"type": "PodScheduled", "status": "True"}]
        status = {"nominatedNodeName": None, "startTime": start, "conditions": conditions}
        self._put(merged(raw, {"spec": {"nodeName": node}, "status": status}))

    def mark_deleted(self, key: str, time: str) -> None:
        """The pod is being deleted."""
        self._put(merged(self.objects["Pod", key], {"metadata": {"deletionTimestamp": time}}))

    def delete(self, kind: str, key: str) -> bool:
        if (kind, key) not in self.objects:
            return False
        del self.objects[kind, key]
        self.written.discard((kind, key))
        self.pending.append(Watch(self.typed.pop((kind, key)), None))
        return True

    def pods(self) -> Iterator[tuple[str, Raw]]:
        return ((key, raw) for (kind, key), raw in self.objects.items() if kind == "Pod")

    def take(self) -> list[Watch]:
        """The events that are yet to be delivered."""
        taken, self.pending = self.pending, []
        return taken


def mirror(state: State, watch: Watch) -> None:
    """The informers have seen it."""
    if watch.new is not None:
        state.apply(Upsert(watch.new))
    elif watch.old is not None:
        state.apply(Delete.of(watch.old))
