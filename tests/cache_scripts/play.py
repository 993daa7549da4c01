"""A script played on the cache: its operations, and the state after each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from kwhatif.kube.matching.requests import Resources
from kwhatif.scheduler.cache.cache import Cache
from kwhatif.scheduler.cache.snapshot import Snapshot
from kwhatif.state.images import ImageState
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from tests.queue_scripts.api import decode

Json = dict[str, Any]


def play(script: Json) -> list[Json]:
    """The states after every operation of the script."""
    player = Player()
    return [player.step(number, operation) for number, operation in enumerate(script["operations"])]


class Player:
    """A cache, a snapshot that is updated after every operation, and one that is updated on demand."""

    def __init__(self) -> None:
        self.cache = Cache()
        self.snapshots = (Snapshot(), Snapshot())
        self.names: set[str] = set()

    def step(self, number: int, operation: Json) -> Json:
        errors: list[str | None] = [None, None]
        error = None
        if operation["op"] == "UpdateSnapshot":
            errors[1] = self.cache.update_snapshot(self.snapshots[1])
        else:
            error = self.call(operation)
        errors[0] = self.cache.update_snapshot(self.snapshots[0])
        state: Json = {"op": number} | ({"error": error} if error else {})
        state["nodes"] = [
            _node(name, cached.info, self.cache.images.of(cached.info))
            if cached.real
            else _node(name, cached.info, None)
            for name, cached in reversed(list(self.cache.nodes.items()))
        ]
        state["pods"] = {uid: f"{_pod(pod)} on {pod.pod.spec.node_name}" for uid, pod in self.cache.pods.items()}
        state["assumed"] = sorted(self.cache.assumed)
        state["snapshots"] = [
            ({"error": failure} if failure else {}) | self.show(snapshot)
            for snapshot, failure in zip(self.snapshots, errors, strict=True)
        ]
        return state

    def call(self, operation: Json) -> str | None:
        cache = self.cache
        old, new = cast(
            "tuple[Any, Any]",
            tuple(decode(operation[which]) if which in operation else None for which in ("old", "new")),
        )
        for one in (old, new):
            if one is not None:
                self.names.add(one.spec.node_name if operation["op"].endswith("Pod") else one.metadata.name)
        calls: dict[str, Callable[[], str | None]] = {
            "AssumePod": lambda: cache.assume_pod(new),
            "ForgetPod": lambda: cache.forget_pod(old),
            "AddPod": lambda: cache.add_pod(new),
            "UpdatePod": lambda: cache.update_pod(old, new),
            "RemovePod": lambda: cache.remove_pod(old),
            "AddNode": lambda: cache.add_node(new),
            "UpdateNode": lambda: cache.update_node(old, new),
            "RemoveNode": lambda: cache.remove_node(old),
        }
        return calls[operation["op"]]()

    def show(self, snapshot: Snapshot) -> Json:
        return {
            "newer": sum(cached.generation > snapshot.generation for cached in self.cache.nodes.values()),
            "nodes": [_node(info.name, info, snapshot.images[info.name]) for info in snapshot.nodes],
            "found": sorted(name for name in self.names if snapshot.node(name) is not None),
            "affinity": [info.name for info in snapshot.with_affinity],
            "antiAffinity": [info.name for info in snapshot.with_required_anti_affinity],
            "claims": sorted(snapshot.used_claims),
        }


def _node(name: str, info: NodeInfo, images: Any) -> Json:
    """One that does not exist has no images, and nothing that pods may use."""
    record: Json = {"name": name}
    if images is None:
        record["imaginary"] = True
    elif "version" in info.labels:
        record["version"] = info.labels["version"]
    claims = [f"{pod.namespace}/{claim}" for pod in info.pods for claim in pod.claim_names]
    requested = Resources(info.cpu, info.memory, info.ephemeral, tuple(info.scalars.items()))
    return record | {
        "allocatable": {} if images is None else _amounts(info.allocatable, info.allowed_pods),
        "pods": _pods(info.pods),
        "affinity": _pods(info.with_affinity),
        "antiAffinity": _pods(info.with_required_anti_affinity),
        "requested": _amounts(requested, 0),
        "nonZero": [info.nonzero_cpu, info.nonzero_memory],
        "ports": sorted(f"{port.ip} {port.protocol} {port.port}" for port in info.used_ports()),
        "claims": {claim: claims.count(claim) for claim in claims},
        "images": {image: list(state) for image, state in _states(images)},
    }


def _states(images: Any) -> Iterable[tuple[str, ImageState]]:
    return () if images is None else images.items()


def _amounts(resources: Resources, pods: int) -> Json:
    named = {
        "cpu": resources[0],
        "memory": resources[1],
        "ephemeral-storage": resources[2],
        "pods": pods,
        **dict(resources[3]),
    }
    return {name: amount for name, amount in named.items() if amount}


def _pods(pods: Iterable[PodInfo]) -> list[str]:
    return [_pod(pod) for pod in pods]


def _pod(pod: PodInfo) -> str:
    return f"{pod.uid}@{pod.labels.get('version', '')}"
