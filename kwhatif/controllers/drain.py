"""`KubectlDrain`: the steps of `kubectl drain` (`k8s.io/kubectl/pkg/cmd/drain/drain.go`).

All nodes are cordoned first, then drained one at a time, or `parallel` at a time.
"""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy

from msgspec.structs import replace

from kwhatif.controllers.contract import SyncResult, Update, View, Write
from kwhatif.controllers.drain_filters import DrainOptions, joined, list_pods
from kwhatif.controllers.drained_node import DrainedNode, DrainLog, Order
from kwhatif.controllers.eviction import EvictionApi
from kwhatif.kube.model.node import Node


class KubectlDrain:
    """One command. Call `attempt` when its `again` is due, or when `is_waiting_for` is true."""

    def __init__(self, nodes: tuple[str, ...], options: DrainOptions, order: Order = list) -> None:
        """`order`: kubectl evicts all pods of a node in parallel; this is the order of requests at the API server."""
        self.nodes = nodes
        self.options = options
        self._order = order
        #: Whether the command has ended; then `ok` is its result.
        self.done = False
        self.ok = True
        self.log = DrainLog()
        #: Node -> the errors that stopped it.
        self.failures: dict[str, list[str]] = {}
        self._started = False
        self._left = list(nodes)
        self._at: list[DrainedNode] = []

    def fork(self) -> KubectlDrain:
        """An independent copy."""
        other = copy(self)
        other.log = self.log.fork()
        other.failures, other._left = self.failures.copy(), self._left.copy()
        other._at = [node.fork(other.log) for node in self._at]
        return other

    @property
    def name(self) -> str:
        """The command line."""
        return f"kubectl drain {' '.join(self.nodes)}"

    @property
    def not_reached(self) -> tuple[str, ...]:
        """The nodes that are not started yet."""
        return tuple(self._left)

    @property
    def left(self) -> Hashable:
        """What is left to do: the nodes that are not started yet, and the pods that are not gone."""
        return tuple(self._left), tuple(pod.left for node in self._at for pod in node.pods)

    def is_waiting_for(self, view: View) -> bool:
        """Whether a pod that it is waiting for is gone."""
        return any(node.is_waiting_for(view) for node in self._at)

    def is_idle(self, view: View) -> bool:
        """Whether retrying has no effect until something else happens, or the timeout expires."""
        is_refused = all(node.is_refused(view.state.generation) for node in self._at)
        return self._started and is_refused and not self.options.timeout

    def attempt(self, view: View) -> SyncResult:
        """Continue as far as possible now."""
        api = EvictionApi(view)
        writes: list[Write] = []
        if not self._started:
            self._started = True
            writes += self._cordon(view)
        while self._left or self._at:
            while self._left and len(self._at) < self.options.parallel:
                self._at.append(DrainedNode(self._left.pop(0), view.now, self.options, self.log))
                writes += self._begin(self._at[-1], view)
            for node in self._at:
                writes += node.act(api, view)
            done = [node for node in self._at if not node.pods]
            if not done:
                again = min((time for node in self._at for time in node.times(view)), default=None)
                return SyncResult(tuple(writes), again)
            for node in done:
                self._at.remove(node)
                self._end(node, view)
        self._finish()
        return SyncResult(tuple(writes))

    # --- all nodes -----------------------------------------------------------------------------------

    def _cordon(self, view: View) -> list[Write]:
        writes: list[Write] = []
        for name in self.nodes:
            node = view.state.cluster.all(Node)[name]
            self.log.output.append(f"node/{name} {'already ' if node.spec.unschedulable else ''}cordoned")
            if not node.spec.unschedulable:
                writes.append(Update(replace(node, spec=replace(node.spec, unschedulable=True))))
        return writes

    def _finish(self) -> None:
        self.done, self.ok = True, not self.failures
        if self.failures:
            self.log.output.append("There are pending nodes to be drained:")
            self.log.output += [f" {name}" for name in self.failures]
            failures = list(self.failures.values())
            self.log.output += failures[0] if len(failures) == 1 else map(joined, failures)

    # --- one node ------------------------------------------------------------------------------------

    def _begin(self, node: DrainedNode, view: View) -> list[Write]:
        listed = list_pods(node.name, self.options, view)
        if listed.errors:
            self._fail(node.name, listed.errors)
            return []
        if listed.warnings:
            self.log.output.append(f"Warning: {listed.warnings}")
        return node.begin(listed.going, self._order, view.now)

    def _end(self, node: DrainedNode, view: View) -> None:
        """Finish a node whose pods are all gone or given up."""
        name = node.name
        if name in self.failures:
            return
        if not node.errors:
            self.log.output.append(f"node/{name} drained")
            return
        error = joined(node.errors)
        left = list_pods(name, self.options, view).going
        if left:
            self.log.output.append(f'There are pending pods in node "{name}" when an error occurred: {error}')
            self.log.output += [f"pod/{pod.metadata.name}" for pod in left]
        self._fail(name, node.errors)

    def _fail(self, name: str, errors: list[str]) -> None:
        self.failures[name] = errors
        error = joined(errors)
        self.log.output.append(f'error: unable to drain node "{name}" due to error: {error}, continuing command...')
