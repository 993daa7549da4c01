"""`Resizes`: resizes that kubelets have not granted yet, and their retries (`allocation_manager.go`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from typing import NamedTuple

from kwhatif.admission.pod_update import is_resize
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.pod import Pod, is_terminal, pod_condition
from kwhatif.simulation import resizing
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.history import Verb

#: `retryDelay`: a resize is retried at least this often (in seconds), such as on a node that has grown.
RETRY = 180.0
#: Decision -> the verb of the event.
_VERBS: Mapping[str, Verb] = {"Deferred": "deferred", "Infeasible": "found infeasible"}
REFUSING_VERBS = frozenset(_VERBS.values())


class Resized(NamedTuple):
    """A pod that its kubelet has resized, and the containers that restart for that."""

    pod: Pod
    restarts: tuple[str, ...]
    event: int


class Resizes:
    """Pending resizes by node, retried after changes."""

    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server
        #: Node -> key of the pod -> its UID.
        self._waiting: dict[str, dict[str, str]] = {}
        #: Pods with a new resize request since their kubelets' last decision.
        self._fresh: set[str] = set()
        #: Pods whose resize was granted though their kubelets might have refused, and those for which a kubelet might
        #: have evicted others.
        self.assumed: dict[str, None] = {}
        self.critical: dict[str, None] = {}
        for pod in under_way(api_server.state.cluster):
            self._wait(pod)

    def fork(self, api_server: ApiServer) -> Resizes:
        """An independent copy for a fork of the simulation."""
        other = copy(self)
        other._api_server, other.assumed, other.critical = api_server, self.assumed.copy(), self.critical.copy()
        other._fresh = self._fresh.copy()
        other._waiting = {node: waiting.copy() for node, waiting in self._waiting.items()}
        return other

    def at_start(self) -> Iterator[Pod]:
        """One pod with a pending resize for each node that has any."""
        pods = self._api_server.state.cluster.all(Pod)
        return (pods[next(iter(waiting))] for waiting in self._waiting.values() if waiting)

    def seen(self, before: Pod | None, after: Pod | None) -> Pod | None:
        """After a change or removal of a pod: a pod with a pending resize on its node, if a retry may succeed."""
        if before is None:
            return None
        if after is not None and self._api_server.state.cluster.facts.resizes.containers and is_resize(after, before):
            self._wait(after)
            self._fresh.add(key_of(after))
            return after
        waiting = self._waiting.get(before.spec.node_name)
        if not waiting:
            return None
        if after is None or (is_terminal(after) and not is_terminal(before)):
            waiting.pop(key_of(before), None)
            return self.any_on(before.spec.node_name)
        return None

    def any_on(self, node: str) -> Pod | None:
        """A pod with a pending resize on the node, if any."""
        pods = self._api_server.state.cluster.all(Pod)
        found = (pods.get(key) for key in self._waiting.get(node, ()))
        return next((pod for pod in found if pod is not None), None)

    def _wait(self, pod: Pod) -> None:
        self._waiting.setdefault(pod.spec.node_name, {})[key_of(pod)] = pod.metadata.uid

    # --- a try ---------------------------------------------------------------------------------------

    def retry(self, node: str, because: int | None) -> Iterator[Resized]:
        """Try all pending resizes there in order; a pod that shrinks makes room for the next."""
        waiting = self._waiting.pop(node, {})
        pods = self._api_server.state.cluster.all(Pod)
        there = [pods[key] for key, uid in waiting.items() if key in pods and pods[key].metadata.uid == uid]
        for pod in resizing.in_order(there):
            if is_terminal(pod) or pod.metadata.deletion_timestamp is not None:
                continue
            made = self._try(pod, because)
            if made is not None:
                yield made

    def _try(self, pod: Pod, because: int | None) -> Resized | None:
        api_server, node = self._api_server, pod.spec.node_name
        info = api_server.state.node(node)
        if info is None:
            return None
        key, actor = key_of(pod), f"kubelet {node}"
        verdict = resizing.decide(pod, info, api_server.state.cluster)
        if verdict.decision == "Fits":
            if resizing.is_assumed(pod):
                self.assumed[key] = None
            restarts = resizing.restarts(pod)
            event = api_server.note(because, actor, "resized", pod, node, resizing.change_of(pod))
            after = resizing.resized(pod)
            api_server.put(after, event)
            return Resized(after, restarts, event)
        if verdict.decision == "Deferred":
            self._wait(pod)
            if resizing.is_critical(pod):
                self.critical[key] = None
        known = pod_condition(pod, resizing.PENDING)
        if key in self._fresh or known is None or known.reason != verdict.decision:
            self._fresh.discard(key)
            event = api_server.note(because, actor, _VERBS[verdict.decision], pod, node, verdict.message)
            api_server.put(resizing.put_off(pod, verdict, api_server.stamp(api_server.now)), event)
        return None


class _UnderWay(NamedTuple):
    pods: tuple[Pod, ...]


def under_way(cluster: Cluster) -> tuple[Pod, ...]:
    """The pods whose resizes kubelets have yet to decide about, or to carry out."""
    if not cluster.facts.resizes.containers:
        return ()
    return cluster.derived(_find, Pod).pods


def _find(cluster: Cluster) -> _UnderWay:
    return _UnderWay(tuple(pod for pod in cluster.all(Pod).values() if _may_be(pod) and resizing.is_under_way(pod)))


def _may_be(pod: Pod) -> bool:
    """A cheap check for a hundred thousand pods: whether not everything is granted as requested."""
    status, containers = pod.status, pod.spec.containers
    rows = status.container_statuses
    if len(containers) == 1 == len(rows) and not status.init_container_statuses and status.resources is None:
        row, requests = rows[0], containers[0].resources.requests
        granted, actual = row.allocated_resources, row.resources
        if (not granted or granted == requests) and (actual is None or actual.requests == requests):
            return False  # a change of limits only does not affect other pods
    return True
