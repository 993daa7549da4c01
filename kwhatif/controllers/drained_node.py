"""`DrainedNode`: how `kubectl drain` evicts the pods of one node (`k8s.io/kubectl/pkg/drain/drain.go`).

The pods are asked to go at once; whoever is refused with 429 is asked again every 5 s, and whoever goes is waited for
until the object is gone. Upstream asks for all pods of a node in parallel; here they are asked by namespace and name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from math import ceil

import msgspec

from kwhatif.controllers.contract import DeletePod, View, Write
from kwhatif.controllers.drain_filters import DrainOptions, is_left_out
from kwhatif.controllers.eviction import NOT_FOUND, TOO_MANY_REQUESTS, EvictionApi, EvictionGranted, EvictionRefused
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.duration import go_duration
from kwhatif.kube.model.pod import Pod

#: Seconds until a pod that was refused is asked for again, and between two looks whether one is gone.
RETRY, POLL = 5.0, 1.0
#: Sums of fractions of seconds are not exact: what is this near is now.
_NOW = 1e-6
#: Puts the keys of pods into an order.
Order = Callable[[Iterable[str]], list[str]]


class DrainLog:
    """What the command has printed and done, on all nodes."""

    def __init__(self) -> None:
        #: Stdout and stderr together.
        self.output: list[str] = []
        #: What was granted when: seconds since the start, pod.
        self.granted: list[tuple[float, str]] = []
        #: The last refusal of each pod that was ever refused.
        self.refusals: dict[str, EvictionRefused] = {}
        #: Pods that were given up, and the error.
        self.given_up: dict[str, str] = {}

    def fork(self) -> DrainLog:
        """An independent copy."""
        other = DrainLog()
        other.output, other.granted = self.output.copy(), self.granted.copy()
        other.refusals, other.given_up = self.refusals.copy(), self.given_up.copy()
        return other


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

    @property
    def left(self) -> tuple[str, bool]:
        """The pod, and whether it is let go already."""
        return self.key, self.next is None

    def is_gone(self, view: View) -> bool:
        """The object is gone; another one of its name, as of a StatefulSet, does not count."""
        now = view.state.cluster.get(Pod, self.key)
        return now is None or now.metadata.uid != self.uid

    def next_look(self, now: float) -> float:
        """When the next look is due at whether the pod is gone."""
        looks = ceil(round((now - self.granted) / POLL, 6))
        due = self.granted + POLL * looks
        return now if abs(due - now) < _NOW else due


class DrainedNode:
    """It is done when none of its `pods` is left: all are gone, or given up."""

    def __init__(self, name: str, begun: float, options: DrainOptions, log: DrainLog) -> None:
        self.name = name
        self.errors: list[str] = []
        self.pods: list[_Asked] = []
        self._begun = begun
        self._options = options
        self._log = log

    def fork(self, log: DrainLog) -> DrainedNode:
        """An independent copy, which writes into this log."""
        other = DrainedNode(self.name, self._begun, self._options, log)
        other.pods, other.errors = [copy(pod) for pod in self.pods], self.errors.copy()
        return other

    def begin(self, pods: Iterable[Pod], order: Order, now: float) -> list[Write]:
        """These are to go."""
        uids = {key_of(pod): pod.metadata.uid for pod in pods}
        self.pods = [_Asked(key, uids[key], now) for key in order(uids)]
        if not self._options.disable_eviction:
            return []
        for pod in self.pods:
            self._grant(pod, now)
        return [DeletePod(pod.key, "Deleted", self._options.grace_seconds) for pod in self.pods]

    def act(self, api: EvictionApi, view: View) -> list[Write]:
        """Ask for the pods that are due, and look whether those that were granted are gone."""
        writes: list[Write] = []
        for pod in [pod for pod in self.pods if pod.next is not None and pod.next <= view.now]:
            writes += self._ask(pod, api, view)
        for pod in [pod for pod in self.pods if pod.next is None]:
            self._look(pod, view)
        return writes

    def is_waiting_for(self, view: View) -> bool:
        """Whether a pod that it waits for is gone."""
        return any(pod.next is None and pod.is_gone(view) for pod in self.pods)

    def is_refused(self, generation: int) -> bool:
        """Whether all pods that are not granted were refused in the state of this generation."""
        return all(pod.next is None or pod.refused == generation for pod in self.pods)

    def times(self, view: View) -> list[float]:
        """When there is something to do, unless a pod is gone before."""
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

    def _ask(self, pod: _Asked, api: EvictionApi, view: View) -> tuple[Write, ...]:
        self._log.output.append(f"evicting pod {pod.key}")
        error = f"error when evicting {pod.place}"
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

    def _grant(self, pod: _Asked, now: float) -> None:
        pod.next, pod.granted = None, now
        self._log.granted.append((now, pod.key))

    def _look(self, pod: _Asked, view: View) -> None:
        """Whether the pod is gone: every second; or whether it takes too long."""
        if pod.next_look(view.now) <= view.now and self._has_gone(pod, view):
            self.pods.remove(pod)
        elif self._is_over(view):
            where = f'"{pod.name}" in namespace "{pod.key.partition("/")[0]}"'
            waiting = "" if self._options.disable_eviction else f"error when waiting for pod {where} to terminate: "
            self._give_up(pod, f"{waiting}context deadline exceeded")

    def _has_gone(self, pod: _Asked, view: View) -> bool:
        if pod.is_gone(view):
            verb = "deleted" if self._options.disable_eviction else "evicted"
            self._log.output.append(f"pod/{pod.name} {verb}")
            return True
        most = self._options.skip_wait_for_delete_timeout
        if is_left_out(view.state.cluster.all(Pod)[pod.key], self._options, view):
            self._log.output.append(f'pod "{pod.name}" has DeletionTimestamp older than {most} seconds, skipping')
            return True
        return False

    def _give_up(self, pod: _Asked, error: str) -> None:
        self.pods.remove(pod)
        self.errors.append(error)
        self._log.given_up[pod.key] = error
