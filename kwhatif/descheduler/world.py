"""`DeschedulerWorld`: the nodes and pods of a descheduling cycle. What is evicted is gone at once, and not replaced.

Follows `descheduler/pod/pods.go` and `descheduler/node/node.go`. Upstream takes nodes and pods in the random order of
its informers' maps; here nodes come by name, and pods by namespace and name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from kwhatif.controllers.contract import Update
from kwhatif.controllers.eviction import EvictionApi, EvictionGranted, EvictionRefused
from kwhatif.kube.matching.requests import pod_requests
from kwhatif.kube.matching.selector_text import parse_selector
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import SECOND, OwnerReference, format_time, parse_time
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.state.change import Delete, Evict, Upsert
from kwhatif.state.state import State


class DeschedulerWorld:
    """A state that evictions change, and the moment that ages count to."""

    def __init__(self, state: State, moment: int, *, backwards: bool = False) -> None:
        """Set up.

        Args:
            state: stays as it is; evictions change a fork.
            moment: nanoseconds since the epoch.
            backwards: take nodes and pods the other way round, to see whether their order matters.
        """
        self.state = state.fork()
        self.moment = moment
        self._on: dict[str, list[Pod]] = {}
        self._backwards = backwards
        pods = list(self.state.cluster.all(Pod).values())
        for pod in reversed(pods) if backwards else pods:
            if pod.spec.node_name:
                self._on.setdefault(pod.spec.node_name, []).append(pod)
        #: The node of each evicted pod, in order.
        self.left: list[str] = []
        self._active: dict[str, list[Pod]] = {}
        self._requests: dict[str, Mapping[str, int]] = {}
        self._used: dict[str, dict[str, int]] = {}
        self._api = EvictionApi(self)

    # --- the moment ----------------------------------------------------------------------------------

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
        """Nanoseconds since a time; one that is not there is long ago, as Go's zero time is."""
        return self.moment - parse_time(time) if time else 2**63 - 1

    # --- nodes and pods ------------------------------------------------------------------------------

    def ready_nodes(self, selector: str) -> list[Node]:
        """The nodes that the selector matches and that are ready (`ReadyNodes`), by name.

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
        """The pods on a node, whatever their phase (`ListAllPodsOnANode`)."""
        return self._on.get(node, ())

    def active(self, node: str) -> Sequence[Pod]:
        """The pods on a node that have not finished (`ListPodsOnANode`)."""
        found = self._active.get(node)
        if found is None:
            found = self._active[node] = [pod for pod in self.pods(node) if not is_terminal(pod)]
        return found

    def active_on(self, nodes: Iterable[Node]) -> Iterator[Pod]:
        """The pods on several nodes that have not finished."""
        for node in nodes:
            yield from self.active(node.metadata.name)

    def exists(self, pod: Pod) -> bool:
        """Whether the pod has not been evicted."""
        return self.state.cluster.get(Pod, key_of(pod)) is not None

    @cached_property
    def _owned(self) -> Counter[str]:
        return Counter(_owner_key(owner, pod) for pod in self.state.cluster.all(Pod).values() for owner in _owners(pod))

    def replicas(self, owner: OwnerReference, pod: Pod) -> int:
        """How many pods the owner of the pod has, wherever they are."""
        return self._owned[_owner_key(owner, pod)]

    # --- requests ------------------------------------------------------------------------------------

    def requests(self, pod: Pod) -> Mapping[str, int]:
        """What the pod requests, in nano-units (`PodRequestsAndLimits`)."""
        key = key_of(pod)
        found = self._requests.get(key)
        if found is None:
            found = self._requests[key] = pod_requests(pod)
        return found

    def requested(self, node: str) -> Mapping[str, int]:
        """What the active pods of a node request together, in nano-units (`NodeUtilization`)."""
        found = self._used.get(node)
        if found is None:
            found = self._used[node] = {}
            for pod in self.active(node):
                for name, nanos in self.requests(pod).items():
                    found[name] = found.get(name, 0) + nanos
        return found

    # --- evictions -----------------------------------------------------------------------------------

    def evict(self, pod: Pod) -> EvictionRefused | None:
        """Ask the Eviction API; None: the pod is gone."""
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
    """Each owner once: two references to the same one index the pod once (`podInformer.AddIndexers`)."""
    return tuple({_owner_key(owner, pod): owner for owner in pod.metadata.owner_references}.values())


def _owner_key(owner: OwnerReference, pod: Pod) -> str:
    """By UID; hand-written objects have none."""
    return owner.uid or f"{owner.kind} {pod.metadata.namespace}/{owner.name}"


def _is_ready(node: Node) -> bool:
    """Not said to be otherwise; a node that is cordoned counts."""
    return all(row.status == "True" for row in node.status.conditions if row.type == "Ready")
