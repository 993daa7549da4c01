"""`Sandbox`: the cluster of a descheduling cycle. Evicted pods are gone at once, and not replaced.

Follows `descheduler/pod/pods.go` and `descheduler/node/node.go`. Upstream visits nodes and pods in the random order of
its informers' maps; here nodes are ordered by name, and pods by namespace and name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from kwhatif.controllers.contract import Update
from kwhatif.controllers.eviction import EvictionApi, EvictionGranted, EvictionRefused
from kwhatif.kube.matching.labels import parse_selector
from kwhatif.kube.matching.requests import pod_requests
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import SECOND, OwnerReference, format_time, parse_time
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.state.change import Delete, Evict, Upsert
from kwhatif.state.state import State


class Sandbox:
    """A state that evictions change, and the current time for ages."""

    def __init__(self, state: State, moment: int, *, backwards: bool = False) -> None:
        """Set up.

        Args:
            state: the state, which is not changed; evictions change a fork.
            moment: the current time in nanoseconds since the epoch.
            backwards: visit nodes and pods in reverse order, to find out whether the order matters.
        """
        self.state = state.fork()
        self.moment = moment
        self._on: dict[str, list[Pod]] = {}
        self._backwards = backwards
        pods = list(self.state.cluster.all(Pod).values())
        for pod in reversed(pods) if backwards else pods:
            if pod.spec.node_name:
                self._on.setdefault(pod.spec.node_name, []).append(pod)
        #: The nodes of the evicted pods, in order.
        self.left: list[str] = []
        self._active: dict[str, list[Pod]] = {}
        self._requests: dict[str, Mapping[str, int]] = {}
        self._used: dict[str, dict[str, int]] = {}
        self._api = EvictionApi(self)

    # --- time ----------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """See `Moment`: the cycle takes no time."""
        return 0.0

    def at(self, time: str) -> float:
        """See `Moment`."""
        return (parse_time(time) - self.moment) / SECOND

    def stamp(self, seconds: float) -> str:
        """See `Moment`."""
        return format_time(int(self.moment // SECOND + seconds))

    def age(self, time: str | None) -> int:
        """Nanoseconds since a time; a missing time is long ago, like Go's zero time."""
        return self.moment - parse_time(time) if time else 2**63 - 1

    # --- nodes and pods ------------------------------------------------------------------------------

    def ready_nodes(self, selector: str) -> list[Node]:
        """The ready nodes that match the selector (`ReadyNodes`), by name.

        Raises:
            SelectorError: the selector cannot be parsed.
        """
        matches = parse_selector(selector).matches
        nodes = self.state.cluster.all(Node)
        return [
            nodes[name]
            for name in sorted(nodes, reverse=self._backwards)
            if matches(nodes[name].metadata.labels) and _is_ready(nodes[name])
        ]

    def pods(self, node: str) -> Sequence[Pod]:
        """The pods on a node, in any phase (`ListAllPodsOnANode`)."""
        return self._on.get(node, ())

    def active(self, node: str) -> Sequence[Pod]:
        """The unfinished pods on a node (`ListPodsOnANode`)."""
        found = self._active.get(node)
        if found is None:
            found = self._active[node] = [pod for pod in self.pods(node) if not is_terminal(pod)]
        return found

    def active_on(self, nodes: Iterable[Node]) -> Iterator[Pod]:
        """The unfinished pods on several nodes."""
        for node in nodes:
            yield from self.active(node.metadata.name)

    def exists(self, pod: Pod) -> bool:
        """Whether the pod has not been evicted."""
        return self.state.cluster.get(Pod, key_of(pod)) is not None

    @cached_property
    def _owned(self) -> Counter[str]:
        return Counter(_owner_key(owner, pod) for pod in self.state.cluster.all(Pod).values() for owner in _owners(pod))

    def replicas(self, owner: OwnerReference, pod: Pod) -> int:
        """The number of pods of the pod's owner, on all nodes."""
        return self._owned[_owner_key(owner, pod)]

    # --- requests ------------------------------------------------------------------------------------

    def requests(self, pod: Pod) -> Mapping[str, int]:
        """The requests of the pod, in nano-units (`PodRequestsAndLimits`)."""
        key = key_of(pod)
        found = self._requests.get(key)
        if found is None:
            found = self._requests[key] = pod_requests(pod)
        return found

    def requested(self, node: str) -> Mapping[str, int]:
        """The total requests of a node's active pods, in nano-units (`NodeUtilization`)."""
        found = self._used.get(node)
        if found is None:
            found = self._used[node] = {}
            for pod in self.active(node):
                for name, nanos in self.requests(pod).items():
                    found[name] = found.get(name, 0) + nanos
        return found

    # --- evictions -----------------------------------------------------------------------------------

    def evict(self, pod: Pod) -> EvictionRefused | None:
        """Evict the pod through the Eviction API; None: it is gone."""
        key = key_of(pod)
        answer = self._api.evict(key)
        if isinstance(answer, EvictionGranted):
            for write in answer.writes:
                if isinstance(write, Update):
                    self.state.apply(Upsert(write.obj))
            self._remove(pod, key)
            return None
        return answer

    def _remove(self, pod: Pod, key: str) -> None:
        node = pod.spec.node_name
        on_node = key in self.state.pods and self.state.node(node) is not None
        self.state.apply(Evict(key) if on_node else Delete(Pod, key))
        self._on[node] = [other for other in self._on[node] if other is not pod]
        self.left.append(node)
        self._active.pop(node, None)
        self._used.pop(node, None)
        for owner in _owners(pod) if "_owned" in self.__dict__ else ():
            self._owned[_owner_key(owner, pod)] -= 1


def _owners(pod: Pod) -> Sequence[OwnerReference]:
    """The owners without duplicates (`podInformer.AddIndexers`)."""
    return tuple({_owner_key(owner, pod): owner for owner in pod.metadata.owner_references}.values())


def _owner_key(owner: OwnerReference, pod: Pod) -> str:
    """The UID of the owner, or its name, as hand-written objects have no UID."""
    return owner.uid or f"{owner.kind} {pod.metadata.namespace}/{owner.name}"


def _is_ready(node: Node) -> bool:
    """Whether the node's condition Ready is not false or unknown; cordoned nodes can be ready."""
    return all(row.status == "True" for row in node.status.conditions if row.type == "Ready")
