"""Event handlers of the cache (`pkg/scheduler/eventhandlers.go`)."""

from __future__ import annotations

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.scheduler.cache.cache import Cache


def handle(cache: Cache, old: KubernetesObject | None, new: KubernetesObject | None) -> str | None:
    """Pass on to the cache that an object was added (`old` None), updated, or deleted (`new` None).

    Pods of all schedulers count. A pod that finishes counts as deleted, and a pod that is bound as added.

    Returns:
        The error of the cache, see `Cache`.

    Raises:
        CacheCorruptedError: a pod is on another node than before.
    """
    one = old if new is None else new
    if isinstance(one, Node):
        return _handle_node(cache, old, one, gone=new is None)
    if isinstance(one, Pod):
        return _handle_pod(cache, _assigned(old), _assigned(new))
    return None


def _handle_node(cache: Cache, old: KubernetesObject | None, node: Node, *, gone: bool) -> str | None:
    if gone:
        return cache.remove_node(node)
    if isinstance(old, Node):
        cache.update_node(old, node)
    else:
        cache.add_node(node)
    return None


def _handle_pod(cache: Cache, old: Pod | None, new: Pod | None) -> str | None:
    if old is not None and new is not None:
        return cache.update_pod(old, new)
    if old is not None:
        return cache.remove_pod(old)
    return None if new is None else cache.add_pod(new)


def _assigned(obj: KubernetesObject | None) -> Pod | None:
    """The pod, if it is live and has a node, which it never loses."""
    return obj if isinstance(obj, Pod) and obj.spec.node_name and not is_terminal(obj) else None
