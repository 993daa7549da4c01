"""`KubectlDrain`: the steps of `kubectl drain` (`k8s.io/kubectl/pkg/cmd/drain/drain.go`, `pkg/drain/drain.go`).

All nodes are cordoned first, then drained one at a time, or `parallel` at a time. All evictions of a node are requested
at once (upstream in parallel, here by namespace and name). A request that is refused with 429 is repeated every 5 s;
after a granted one, kubectl waits until the object is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from copy import copy
from math import ceil

import msgspec
from msgspec.structs import replace

from kwhatif.controllers.contract import DeletePod, SyncResult, Update, View, Write
from kwhatif.controllers.drain_filters import DrainOptions, is_left_out, list_pods
from kwhatif.controllers.eviction import NOT_FOUND, TOO_MANY_REQUESTS, EvictionApi, EvictionGranted, EvictionRefused
from kwhatif.kube.matching.field_errors import aggregate
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.quantity import go_duration

#: Seconds until a refused eviction is retried, and between checks whether a pod is gone.
RETRY, POLL = 5.0, 1.0
#: Sums of fractions of seconds are not exact: times that are this close count as now.
_NOW = 1e-6
#: Puts the keys of pods into an order.
Order = Callable[[Iterable[str]], list[str]]


class DrainLog:
    """The output and actions of the command, on all nodes."""

    def __init__(self) -> None:
        #: Stdout and stderr, combined.
        self.output: list[str] = []
        #: Granted evictions: seconds since the start, and pod.
        self.granted: list[tuple[float, str]] = []
        #: Pod -> its last refusal.
        self.refusals: dict[str, EvictionRefused] = {}
        #: Pod that was given up -> the error.
        self.given_up: dict[str, str] = {}

    def fork(self) -> DrainLog:
        """An independent copy."""
        other = DrainLog()
        other.output, other.granted = self.output.copy(), self.granted.copy()
        other.refusals, other.given_up = self.refusals.copy(), self.given_up.copy()
        return other


class _PodEviction(msgspec.Struct):
    """One pod to evict."""

    key: str
    uid: str
    #: When the next request is due; None once the eviction is granted.
    next: float | None
    #: When the eviction was granted: after that, kubectl checks every second.
    granted: float = 0.0
    #: The state's generation at the last refusal: in this state the result is the same.
    refused: int = -1

    @property
    def name(self) -> str:
        return self.key.partition("/")[2]

    @property
    def location(self) -> str:
        """The pod as kubectl's errors print it."""
        return f'pods/"{self.name}" -n "{self.key.partition("/")[0]}"'

    @property
    def left(self) -> tuple[str, bool]:
        """The pod, and whether its eviction is granted."""
        return self.key, self.next is None

    def is_gone(self, view: View) -> bool:
        """Whether the object is gone; a new one with its name, as from a StatefulSet, does not count."""
        now = view.state.cluster.get(Pod, self.key)
        return now is None or now.metadata.uid != self.uid

    def next_look(self, now: float) -> float:
        """When the next check is due whether the pod is gone."""
        looks = ceil(round((now - self.granted) / POLL, 6))
        due = self.granted + POLL * looks
        return now if abs(due - now) < _NOW else due


class DrainedNode:
    """A node being drained. It is done when `pods` is empty: all are gone or given up."""

    def __init__(self, name: str, begun: float, options: DrainOptions, log: DrainLog) -> None:
        self.name = name
        self.errors: list[str] = []
        self.pods: list[_PodEviction] = []
        self._begun = begun
        self._options = options
        self._log = log

    def fork(self, log: DrainLog) -> DrainedNode:
        """An independent copy that writes to this log."""
        other = DrainedNode(self.name, self._begun, self._options, log)
        other.pods, other.errors = [copy(pod) for pod in self.pods], self.errors.copy()
        return other

    def begin(self, pods: Iterable[Pod], order: Order, now: float) -> list[Write]:
        """Start to evict these pods."""
        uids = {key_of(pod): pod.metadata.uid for pod in pods}
        self.pods = [_PodEviction(key, uids[key], now) for key in order(uids)]
        if not self._options.disable_eviction:
            return []
        for pod in self.pods:
            self._grant(pod, now)
        return [DeletePod(pod.key, "Deleted", self._options.grace_seconds) for pod in self.pods]

    def act(self, api: EvictionApi, view: View) -> list[Write]:
        """Request the evictions that are due, and check whether evicted pods are gone."""
        writes: list[Write] = []
        for pod in [pod for pod in self.pods if pod.next is not None and pod.next <= view.now]:
            writes += self._ask(pod, api, view)
        for pod in [pod for pod in self.pods if pod.next is None]:
            self._look(pod, view)
        return writes

    def is_waiting_for(self, view: View) -> bool:
        """Whether a pod that it is waiting for is gone."""
        return any(pod.next is None and pod.is_gone(view) for pod in self.pods)

    def is_refused(self, generation: int) -> bool:
        """Whether all evictions that are not granted were refused in the state with this generation."""
        return all(pod.next is None or pod.refused == generation for pod in self.pods)

    def times(self, view: View) -> list[float]:
        """The times at which something is due, unless a pod is gone before."""
        waiting = [pod for pod in self.pods if pod.next is None]
        times = [pod.next for pod in self.pods if pod.next is not None]
        times += [pod.next_look(view.now) for pod in waiting if pod.is_gone(view)]
        if self._options.timeout > 0 and waiting:
            times.append(self._begun + self._options.timeout)
        if self._options.skip_wait_for_delete_timeout > 0:
            times += [pod.next_look(view.now + POLL) for pod in waiting]
        return times

    # --- one pod -------------------------------------------------------------------------------------

    def _is_over(self, view: View) -> bool:
        timeout = self._options.timeout
        return timeout > 0 and view.now >= self._begun + timeout

    def _ask(self, pod: _PodEviction, api: EvictionApi, view: View) -> tuple[Write, ...]:
        self._log.output.append(f"evicting pod {pod.key}")
        error = f"error when evicting {pod.location}"
        if self._is_over(view):
            timeout = go_duration(round(self._options.timeout * 10**9))
            self._give_up(pod, f"{error}: global timeout reached: {timeout}")
            return ()
        answer = api.evict(pod.key, self._options.grace_seconds)
        if isinstance(answer, EvictionGranted):
            self._grant(pod, view.now)
            return answer.writes
        if answer.code == NOT_FOUND:
            self.pods.remove(pod)
            return ()
        self._log.refusals[pod.key] = answer
        if answer.code != TOO_MANY_REQUESTS:
            self._give_up(pod, f"{error}: {answer.message}")
            return ()
        self._log.output.append(f"{error} (will retry after 5s): {answer.message}")
        pod.next, pod.refused = view.now + RETRY, view.state.generation
        now = view.state.cluster.get(Pod, pod.key)
        pod.uid = pod.uid if now is None else now.metadata.uid
        return ()

    def _grant(self, pod: _PodEviction, now: float) -> None:
        pod.next, pod.granted = None, now
        self._log.granted.append((now, pod.key))

    def _look(self, pod: _PodEviction, view: View) -> None:
        """Check, every second, whether the pod is gone, or whether the timeout has expired."""
        if pod.next_look(view.now) <= view.now and self._has_gone(pod, view):
            self.pods.remove(pod)
        elif self._is_over(view):
            where = f'"{pod.name}" in namespace "{pod.key.partition("/")[0]}"'
            waiting = "" if self._options.disable_eviction else f"error when waiting for pod {where} to terminate: "
            self._give_up(pod, f"{waiting}context deadline exceeded")

    def _has_gone(self, pod: _PodEviction, view: View) -> bool:
        if pod.is_gone(view):
            verb = "deleted" if self._options.disable_eviction else "evicted"
            self._log.output.append(f"pod/{pod.name} {verb}")
            return True
        limit = self._options.skip_wait_for_delete_timeout
        if is_left_out(view.state.cluster.all(Pod)[pod.key], self._options, view):
            self._log.output.append(f'pod "{pod.name}" has DeletionTimestamp older than {limit} seconds, skipping')
            return True
        return False

    def _give_up(self, pod: _PodEviction, error: str) -> None:
        self.pods.remove(pod)
        self.errors.append(error)
        self._log.given_up[pod.key] = error


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
        """The rest of the command: the nodes that are not started yet, and the pods that are not gone."""
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
            self.log.output += failures[0] if len(failures) == 1 else map(aggregate, failures)

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
        error = aggregate(node.errors)
        left = list_pods(name, self.options, view).going
        if left:
            self.log.output.append(f'There are pending pods in node "{name}" when an error occurred: {error}')
            self.log.output += [f"pod/{pod.metadata.name}" for pod in left]
        self._fail(name, node.errors)

    def _fail(self, name: str, errors: list[str]) -> None:
        self.failures[name] = errors
        error = aggregate(errors)
        self.log.output.append(f'error: unable to drain node "{name}" due to error: {error}, continuing command...')
