"""Kubelets' decisions about pods that edits resize, which are made at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kwhatif.admission.pod_update import is_resize
from kwhatif.controllers.taint_eviction import ready_status
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.workloads import ResizeAssumed, ResizeEvicts
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod, pod_condition
from kwhatif.questions.manifests.differences import Difference
from kwhatif.simulation import resizing
from kwhatif.state.change import Upsert
from kwhatif.state.state import State


class EditedResizes:
    """The pods that edits have resized, over all edits: one that makes room helps those that wait for it."""

    def __init__(self) -> None:
        self._waiting: set[str] = set()
        self._assumed: dict[str, None] = {}
        self._critical: dict[str, None] = {}

    def settle(self, changed: Iterable[Difference], state: State) -> Iterator[str]:
        """Let the kubelets decide after an edit, which has changed these pods of the state; yields notes."""
        fresh: set[str] = set()
        for key, old, pod in changed:
            if old is not None and pod is not None and is_resize(pod, old):
                fresh.add(key)
        self._waiting |= fresh
        if not self._waiting:
            return
        pods = state.cluster.all(Pod)
        there = [pods[key] for key in sorted(self._waiting) if key in pods]
        self._waiting.clear()
        for pod in resizing.in_order(there):
            yield from self._decide(pod, state, asked=key_of(pod) in fresh)

    def _decide(self, pod: Pod, state: State, *, asked: bool) -> Iterator[str]:
        name, key, info = f"Pod {key_of(pod)}", key_of(pod), state.node(pod.spec.node_name)
        if info is None:
            yield f"{name}: node {pod.spec.node_name} is not in the input: whether it has room for that is not known"
            return
        if ready_status(info.node) == "Unknown":
            self._waiting.add(key)
            yield f"{name}: the kubelet of {info.name} is silent: it keeps what it has"
            return
        verdict = resizing.decide(pod, info, state.cluster)
        if verdict.decision == "Fits":
            if resizing.is_assumed(pod):
                self._assumed[key] = None
            restarting = resizing.restarts(pod)
            state.apply(Upsert(resizing.resized(pod)))
            why = f", and restarts {', '.join(restarting)} (resizePolicy)" if restarting else ""
            yield f"kubelet {info.name} has room for that and resizes {name} in place{why}"
            return
        if verdict.decision == "Deferred":
            self._waiting.add(key)
            if resizing.is_critical(pod):
                self._critical[key] = None
        known = pod_condition(pod, resizing.PENDING)
        if not asked and known is not None and known.reason == verdict.decision:
            return
        state.apply(Upsert(resizing.put_off(pod, verdict, None)))
        yield f"kubelet {info.name} {_SAYS[verdict.decision].format(name, verdict.message)}"

    @property
    def caveats(self) -> Iterator[Caveat]:
        """Assumptions about kubelets, and what is not modelled of them."""
        return caveats_of_resizes(tuple(self._assumed), tuple(self._critical))


#: The scheduler does not count what is infeasible; what is deferred it counts as if it were granted.
_SAYS = {
    "Deferred": "defers the resize of {} ({}): it keeps what it has, though the scheduler counts what it asks for",
    "Infeasible": "finds the resize of {} infeasible ({}): it keeps what it has",
}


def caveats_of_resizes(assumed: tuple[str, ...], critical: tuple[str, ...]) -> Iterator[Caveat]:
    """The caveats of stories and edits about resized pods."""
    if assumed:
        yield ResizeAssumed(pods=assumed)
    if critical:
        yield ResizeEvicts(pods=critical)
