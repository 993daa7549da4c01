"""`Drain`: `kubectl drain`, step by step (`k8s.io/kubectl/pkg/drain/drain.go`, `pkg/cmd/drain/drain.go`).

All nodes are cordoned first, then drained one after another. The pods of a node are asked to go at once; whoever is
refused with 429 is asked again every 5 s, and whoever goes is waited for until the object is gone.
Upstream asks for all pods of a node in parallel; here they are asked by namespace and name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from math import ceil

import msgspec
from msgspec.structs import replace

from kwhatif.controllers.contract import DeletePod, Outcome, Update, View, Write
from kwhatif.controllers.drain_filters import DrainOptions, is_left_out, joined, list_pods
from kwhatif.controllers.eviction import NOT_FOUND, TOO_MANY_REQUESTS, EvictionApi, Granted, Refused
from kwhatif.model.cluster import key_of
from kwhatif.model.duration import go_duration
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod

#: Seconds until a pod that was refused is asked for again, and between two looks whether one is gone.
RETRY, POLL = 5.0, 1.0
#: Sums of fractions of seconds are not exact: what is this near is now.
_NOW = 1e-6
#: Puts the keys of pods into an order.
Order = Callable[[Iterable[str]], list[str]]


class _Asked(msgspec.Struct):
    """One pod that is to go."""

    key: str
    uid: str
    #: When it is asked for again; None once that was granted.
    next: float | None
    #: When the eviction was granted: looks follow every second from then on.
    granted: float = 0.0
    #: The state's generation when it was refused last: as long as it stays, so does the refusal.
    refused: int = -1

    @property
    def name(self) -> str:
        return self.key.partition("/")[2]

    @property
    def place(self) -> str:
        """As kubectl's errors name it."""
        return f'pods/"{self.name}" -n "{self.key.partition("/")[0]}"'


class _OnNode:
    """The node that is being drained, or one of those."""

    def __init__(self, name: str, begun: float) -> None:
        self.name = name
        self.begun = begun
        self.pods: list[_Asked] = []
        self.errors: list[str] = []

    def fork(self) -> _OnNode:
        other = _OnNode(self.name, self.begun)
        other.pods, other.errors = [copy(pod) for pod in self.pods], self.errors.copy()
        return other


class Drain:
    """One command. `attempt` is asked whenever its `again` has come, or `is_waiting_for` says so."""

    def __init__(self, nodes: tuple[str, ...], options: DrainOptions, order: Order = list) -> None:
        """`order`: kubectl asks for all pods of a node at once; the order in which the API server hears of them."""
        self.nodes = nodes
        self.options = options
        self._order = order
        #: Whether the command has ended; then `ok` says how.
        self.done = False
        self.ok = True
        #: What it has printed, stdout and stderr together.
        self.output: list[str] = []
        #: What was granted when: seconds since the start, pod.
        self.granted: list[tuple[float, str]] = []
        #: The last refusal of each pod that was ever refused.
        self.refusals: dict[str, Refused] = {}
        #: Pods that were given up, and the error.
        self.given_up: dict[str, str] = {}
        #: By node: what stopped it.
        self.failures: dict[str, list[str]] = {}
        self._started = False
        self._left = list(nodes)
        self._at: list[_OnNode] = []

    def fork(self) -> Drain:
        """An independent command that has come as far."""
        other = copy(self)
        other.output, other.granted = self.output.copy(), self.granted.copy()
        other.refusals, other.given_up = self.refusals.copy(), self.given_up.copy()
        other.failures, other._left = self.failures.copy(), self._left.copy()
        other._at = [node.fork() for node in self._at]
        return other

    @property
    def name(self) -> str:
        """The command."""
        return f"kubectl drain {' '.join(self.nodes)}"

    @property
    def timeout(self) -> float:
        """Seconds for each node; 0: as long as it takes."""
        return self.options.timeout

    def is_waiting_for(self, view: View) -> bool:
        """Whether a pod that it waits for is gone."""
        return any(pod.next is None and _is_gone(pod, view) for node in self._at for pod in node.pods)

    def is_idle(self, view: View) -> bool:
        """Whether trying again comes to nothing, unless something else happens first, or its time is up."""
        now = view.state.generation
        is_refused = all(pod.next is None or pod.refused == now for node in self._at for pod in node.pods)
        return self._started and is_refused and not self.timeout

    def attempt(self, view: View) -> Outcome:
        """Go as far as it goes now."""
        api = EvictionApi(view)
        writes: list[Write] = []
        if not self._started:
            self._started = True
            writes += self._cordon(view)
        while self._left or self._at:
            while self._left and len(self._at) < self.options.parallel:
                self._at.append(_OnNode(self._left.pop(0), view.now))
                writes += self._begin(self._at[-1], view)
            for node in self._at:
                writes += self._ask(node, api, view)
                self._look(node, view)
            done = [node for node in self._at if not node.pods]
            if not done:
                return Outcome(tuple(writes), self._again(view))
            for node in done:
                self._at.remove(node)
                self._end(node, view)
        self._finish()
        return Outcome(tuple(writes))

    # --- all nodes -----------------------------------------------------------------------------------

    def _cordon(self, view: View) -> list[Write]:
        writes: list[Write] = []
        for name in self.nodes:
            node = view.state.cluster.all(Node)[name]
            self.output.append(f"node/{name} {'already ' if node.spec.unschedulable else ''}cordoned")
            if not node.spec.unschedulable:
                writes.append(Update(replace(node, spec=replace(node.spec, unschedulable=True))))
        return writes

    def _finish(self) -> None:
        self.done, self.ok = True, not self.failures
        if self.failures:
            self.output.append("There are pending nodes to be drained:")
            self.output += [f" {name}" for name in self.failures]
            failures = list(self.failures.values())
            self.output += failures[0] if len(failures) == 1 else map(joined, failures)

    # --- one node ------------------------------------------------------------------------------------

    def _begin(self, node: _OnNode, view: View) -> list[Write]:
        listed = list_pods(node.name, self.options, view)
        if listed.errors:
            self._fail(node.name, listed.errors)
            return []
        if listed.warnings:
            self.output.append(f"Warning: {listed.warnings}")
        uids = {key_of(pod): pod.metadata.uid for pod in listed.going}
        node.pods = [_Asked(key, uids[key], view.now) for key in self._order(uids)]
        if not self.options.disable_eviction:
            return []
        for pod in node.pods:
            pod.next, pod.granted = None, view.now
            self.granted.append((view.now, pod.key))
        return [DeletePod(pod.key, "Deleted", self.options.grace_period) for pod in node.pods]

    def _end(self, node: _OnNode, view: View) -> None:
        """All its pods are gone, or given up."""
        name = node.name
        if name in self.failures:
            return
        if not node.errors:
            self.output.append(f"node/{name} drained")
            return
        error = joined(node.errors)
        left = list_pods(name, self.options, view).going
        if left:
            self.output.append(f'There are pending pods in node "{name}" when an error occurred: {error}')
            self.output += [f"pod/{pod.metadata.name}" for pod in left]
        self._fail(name, node.errors)

    def _fail(self, name: str, errors: list[str]) -> None:
        self.failures[name] = errors
        error = joined(errors)
        self.output.append(f'error: unable to drain node "{name}" due to error: {error}, continuing command...')

    # --- its pods ------------------------------------------------------------------------------------

    def _is_over(self, node: _OnNode, view: View) -> bool:
        return self.timeout > 0 and view.now >= node.begun + self.timeout

    def _ask(self, node: _OnNode, api: EvictionApi, view: View) -> list[Write]:
        """Ask for the pods that are due."""
        writes: list[Write] = []
        for pod in [pod for pod in node.pods if pod.next is not None and pod.next <= view.now]:
            self.output.append(f"evicting pod {pod.key}")
            if self._is_over(node, view):
                timeout = go_duration(round(self.timeout * 10**9))
                self._give_up(node, pod, f"error when evicting {pod.place}: global timeout reached: {timeout}")
                continue
            answer = api.evict(pod.key, self.options.grace_period)
            if isinstance(answer, Granted):
                pod.next, pod.granted = None, view.now
                self.granted.append((view.now, pod.key))
                writes += answer.writes
            else:
                self._refused(node, pod, answer, view)
        return writes

    def _refused(self, node: _OnNode, pod: _Asked, answer: Refused, view: View) -> None:
        if answer.code == NOT_FOUND:
            node.pods.remove(pod)
            return
        self.refusals[pod.key] = answer
        error = f"error when evicting {pod.place}"
        if answer.code != TOO_MANY_REQUESTS:
            self._give_up(node, pod, f"{error}: {answer.message}")
            return
        self.output.append(f"{error} (will retry after 5s): {answer.message}")
        pod.next, pod.refused = view.now + RETRY, view.state.generation
        now = view.state.cluster.get(Pod, pod.key)
        pod.uid = pod.uid if now is None else now.metadata.uid

    def _look(self, node: _OnNode, view: View) -> None:
        """Whether those that were granted are gone: every second; or whether it takes too long."""
        for pod in [pod for pod in node.pods if pod.next is None]:
            if _next_look(pod, view.now) <= view.now and self._has_gone(pod, view):
                node.pods.remove(pod)
            elif self._is_over(node, view):
                where = f'"{pod.name}" in namespace "{pod.key.partition("/")[0]}"'
                waiting = "" if self.options.disable_eviction else f"error when waiting for pod {where} to terminate: "
                self._give_up(node, pod, f"{waiting}context deadline exceeded")

    def _has_gone(self, pod: _Asked, view: View) -> bool:
        if _is_gone(pod, view):
            verb = "deleted" if self.options.disable_eviction else "evicted"
            self.output.append(f"pod/{pod.name} {verb}")
            return True
        most = self.options.skip_wait_for_delete_timeout
        if is_left_out(view.state.cluster.all(Pod)[pod.key], self.options, view):
            self.output.append(f'pod "{pod.name}" has DeletionTimestamp older than {most} seconds, skipping')
            return True
        return False

    def _give_up(self, node: _OnNode, pod: _Asked, error: str) -> None:
        node.pods.remove(pod)
        node.errors.append(error)
        self.given_up[pod.key] = error

    def _again(self, view: View) -> float | None:
        """When there is something to do, unless a pod is gone before."""
        pods = [pod for node in self._at for pod in node.pods]
        times = [pod.next for pod in pods if pod.next is not None]
        waiting = [pod for pod in pods if pod.next is None]
        times += [_next_look(pod, view.now) for pod in waiting if _is_gone(pod, view)]
        if self.timeout > 0:
            times += [node.begun + self.timeout for node in self._at if any(pod.next is None for pod in node.pods)]
        if self.options.skip_wait_for_delete_timeout > 0:
            times += [_next_look(pod, view.now + POLL) for pod in waiting]
        return min(times, default=None)


def _is_gone(pod: _Asked, view: View) -> bool:
    """The object is gone; another one of its name, as of a StatefulSet, does not count."""
    now = view.state.cluster.get(Pod, pod.key)
    return now is None or now.metadata.uid != pod.uid


def _next_look(pod: _Asked, now: float) -> float:
    looks = ceil(round((now - pod.granted) / POLL, 6))
    return now if abs(pod.granted + POLL * looks - now) < _NOW else pod.granted + POLL * looks
