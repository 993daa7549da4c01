"""`KubectlDrain`: `kubectl drain`, step by step (`k8s.io/kubectl/pkg/cmd/drain/drain.go`).

All nodes are cordoned first, then drained one after another, or `parallel` at a time.
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
    """One command. `attempt` is asked whenever its `again` has come, or `is_waiting_for` says so."""

    def __init__(self, nodes: tuple[str, ...], options: DrainOptions, order: Order = list) -> None:
        """`order`: kubectl asks for all pods of a node at once; the order in which the API server hears of them."""
        self.nodes = nodes
        self.options = options
        self._order = order
        #: Whether the command has ended; then `ok` says how.
        self.done = False
        self.ok = True
        self.log = DrainLog()
        #: By node: what stopped it.
        self.failures: dict[str, list[str]] = {}
        self._started = False
        self._left = list(nodes)
        self._at: list[DrainedNode] = []

    def fork(self) -> KubectlDrain:
        """An independent command that has come as far."""
        other = copy(self)
        other.log = self.log.fork()
        other.failures, other._left = self.failures.copy(), self._left.copy()
        other._at = [node.fork(other.log) for node in self._at]
        return other

    @property
    def name(self) -> str:
        """The command."""
        return f"kubectl drain {' '.join(self.nodes)}"

    @property
    def not_reached(self) -> tuple[str, ...]:
        """The nodes whose turn has not come."""
        return tuple(self._left)

    @property
    def left(self) -> Hashable:
        """What it has still to do: the nodes whose turn has not come, and the pods that are not gone."""
        return tuple(self._left), tuple(pod.left for node in self._at for pod in node.pods)

    def is_waiting_for(self, view: View) -> bool:
        """Whether a pod that it waits for is gone."""
        return any(node.is_waiting_for(view) for node in self._at)

    def is_idle(self, view: View) -> bool:
        """Whether trying again comes to nothing, unless something else happens first, or its time is up."""
        is_refused = all(node.is_refused(view.state.generation) for node in self._at)
        return self._started and is_refused and not self.options.timeout

    def attempt(self, view: View) -> SyncResult:
        """Go as far as it goes now."""
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
        """All its pods are gone, or given up."""
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
