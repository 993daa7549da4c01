"""Kubelets: what happens to a pod on its node, and when (`pkg/kubelet/kubelet_pods.go`, `status/status_manager.go`).

A pod ends in three steps: its deletionTimestamp is set (by any client), its containers end, its object is removed.
This module does the second and third, and start and readiness.
"""

from __future__ import annotations

from copy import copy
from enum import IntEnum
from typing import NamedTuple

from kwhatif.controllers.contract import Remove, earliest
from kwhatif.controllers.node_lifecycle import silent_before
from kwhatif.kube.model.cluster import KubernetesObject, key_of, lacks_node
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_ready, is_terminal
from kwhatif.simulation.api_server import ApiServer, held
from kwhatif.simulation.attachments import Attachments
from kwhatif.simulation.clock import Agenda
from kwhatif.simulation.history import Verb, phase_verb
from kwhatif.simulation.parameters import Parameters
from kwhatif.simulation.pods import ended, restarting, running
from kwhatif.simulation.resizes import RETRY, Resizes
from kwhatif.workloads.survey import survey_of


class _What(IntEnum):
    """Kinds of items; at one moment they are processed in this order."""

    END = 0
    RUN = 1
    READY = 2
    #: The pending resizes on the pod's node are tried.
    RESIZE = 3
    #: After all controllers have seen that the containers ended: in a real cluster a tenth of a second later.
    GO = 4


class _Due(NamedTuple):
    what: _What
    key: str
    uid: str
    #: The event that causes it.
    because: int | None
    #: The phase that the pod ends in.
    phase: str = ""


class Kubelets:
    """The kubelets of all nodes."""

    def __init__(self, api_server: ApiServer, parameters: Parameters) -> None:
        self._api_server = api_server
        self._parameters = parameters
        self._agenda: Agenda[_Due] = Agenda()
        self._last: Agenda[_Due] = Agenda()
        #: Node -> the items that its silent kubelet has missed, and when they were due.
        self._missed: dict[str, list[tuple[float, _Due]]] = {}
        self.resizes = Resizes(api_server)
        self.attachments = Attachments(api_server)
        api_server.watchers.append(self._observe)
        for node in silent_before(api_server):
            self.silence(node)
        for pod in survey_of(api_server.state.cluster).restless:
            if pod.spec.node_name:
                self._take_over(pod)
        for pod in self.resizes.at_start():
            self._put(0, _What.RESIZE, pod, None)

    def fork(self, api_server: ApiServer) -> Kubelets:
        """An independent copy that works in a fork of the simulation."""
        other = copy(self)
        other._api_server, other._agenda, other._last = api_server, self._agenda.fork(), self._last.fork()
        other._missed = {node: missed.copy() for node, missed in self._missed.items()}
        other.resizes = self.resizes.fork(api_server)
        other.attachments = self.attachments.fork(api_server)
        api_server.watchers.append(other._observe)
        return other

    def next(self) -> float | None:
        """When the next item is due, without items of silent kubelets."""
        while (head := self._agenda.head()) is not None and self._is_missed(head[1]):
            self._agenda.pop()
            self._miss(*head)
        return earliest(self._agenda.next(), self._last.next())

    def _is_missed(self, due: _Due) -> bool:
        """Whether the pod's kubelet misses it, as it is silent."""
        pod = self._api_server.state.cluster.get(Pod, due.key)
        return pod is not None and pod.metadata.uid == due.uid and self._is_silent(pod.spec.node_name)

    def _miss(self, time: float, due: _Due) -> None:
        pod = self._api_server.state.cluster.all(Pod)[due.key]
        self._missed.setdefault(pod.spec.node_name, []).append((time, due))

    def next_pod(self) -> str:
        """The pod of the next item: `Pod shop/web-0`; "" if none."""
        head = self._agenda.head()
        return f"Pod {head[1].key}" if head is not None else ""

    def is_due_since(self, time: float) -> bool:
        """Whether an item that was already scheduled at that time is still to come."""
        return any(self._agenda.known_since(time))

    def act(self) -> None:
        """Process the items that are due."""
        for each in self._agenda.take(self._api_server.now):
            self._happen(each)

    def finish(self) -> bool:
        """Remove pods whose end all controllers have seen; returns whether there were any."""
        due = self._last.take(self._api_server.now)
        for each in due:
            self._happen(each)
        return bool(due)

    # --- what is due ---------------------------------------------------------------------------------

    def _put(self, delay: float, what: _What, pod: Pod, because: int | None, phase: str = "") -> None:
        key = key_of(pod)
        agenda = self._last if what is _What.GO else self._agenda
        order = f"{what.value} {key}"
        now = self._api_server.now
        agenda.put(now + max(delay, 0.0), order, _Due(what, key, pod.metadata.uid, because, phase), now)

    def _take_over(self, pod: Pod) -> None:
        """Take over a pod that exists at the start. If it runs and is not ready, it stays so, as nothing shows more."""
        end = pod.metadata.deletion_timestamp
        if is_terminal(pod):
            if end is not None:
                self._put(0, _What.GO, pod, None)
            return
        if end is not None:
            left = self._api_server.at(end)
            self._put(self._termination(pod, left), _What.END, pod, None, "Failed")
            return
        if pod.status.phase in ("", "Pending"):
            self._put(self._parameters.start_of(pod), _What.RUN, pod, None)
        elif (run := self._parameters.run_of(pod)) is not None:
            started = self._api_server.at(pod.status.start_time) if pod.status.start_time else 0.0
            self._put(started + run, _What.END, pod, None, "Succeeded")

    def _observe(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        if isinstance(after, Pod) and after.spec.node_name:
            self._observe_pod(before if isinstance(before, Pod) else None, after, event)
        elif isinstance(after, Node) and before is None:
            self.wake(after.metadata.name)
        self._observe_volumes(before, after, event)
        if isinstance(before, Pod):
            waiting = self.resizes.seen(before, after if isinstance(after, Pod) else None)
            if waiting is not None:
                self._put(0, _What.RESIZE, waiting, event)
        elif isinstance(before, Node) and isinstance(after, Node) and before.status != after.status:
            waiting = self.resizes.any_on(after.metadata.name)
            if waiting is not None:
                self._put(RETRY, _What.RESIZE, waiting, event)

    def _observe_pod(self, before: Pod | None, after: Pod, event: int | None) -> None:
        api_server, parameters = self._api_server, self._parameters
        if is_terminal(after):
            if after.metadata.deletion_timestamp is not None:
                self._put(0, _What.GO, after, event)
            return
        came = before is None or before.spec.node_name != after.spec.node_name
        if came and after.status.phase in ("", "Pending"):
            self._put(parameters.start_of(after), _What.RUN, after, event)
        end = after.metadata.deletion_timestamp
        if end is not None and (before is None or before.metadata.deletion_timestamp != end):
            grace = max(api_server.at(end) - api_server.now, 0.0)
            self._put(self._termination(after, grace), _What.END, after, event, "Failed")

    def _observe_volumes(
        self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None
    ) -> None:
        """After a pod is removed, or a node changes, other pods may get their volumes."""
        if isinstance(before, Pod) and before.spec.node_name and before.spec.volumes:
            if isinstance(after, Pod) and (is_terminal(before) or not is_terminal(after)):
                return
            self.attachments.gone(before, after if isinstance(after, Pod) else None)
        elif isinstance(before, Node):
            self.attachments.node_changed(before.metadata.name)
        else:
            return
        self._start_waiting(event)

    def _start_waiting(self, because: int | None) -> None:
        for pod, delay in self.attachments.free():
            self._put(delay + self._parameters.start_of(pod), _What.RUN, pod, because)

    def _termination(self, pod: Pod, grace: float) -> float:
        """How long the containers take to end: only the maximum is known."""
        maximum = min(self._parameters.termination_of(pod, grace), grace)
        chance = self._api_server.chance
        if maximum <= 0 or pod.metadata.annotations.stop_seconds:
            return maximum
        chance.note("stopTimes")
        return maximum * chance.share(key_of(pod))

    # --- actions -------------------------------------------------------------------------------------

    def silence(self, node: str) -> None:
        """The node's kubelet stops reporting, and does nothing."""
        self._api_server.silent.setdefault(node, self._api_server.now)

    def wake(self, node: str) -> None:
        """The node's kubelet is back: it processes the missed items now, and the others when they are due."""
        self._api_server.silent.pop(node, None)
        self.attachments.node_changed(node)
        self._start_waiting(None)
        for time, due in self._missed.pop(node, ()):
            pod = self._api_server.state.cluster.get(Pod, due.key)
            if pod is None or pod.metadata.uid != due.uid:
                continue
            delay = max(time - self._api_server.now, 0.0)
            if not delay and due.what is _What.END and due.phase == "Failed":
                delay = self._termination(pod, float(pod.spec.termination_grace_period_seconds))
            self._put(delay, due.what, pod, due.because, due.phase)

    def _is_silent(self, node: str) -> bool:
        state = self._api_server.state
        return node in self._api_server.silent or (state.node(node) is None and not lacks_node(node, state.cluster))

    def _happen(self, due: _Due) -> None:
        pod = self._api_server.state.cluster.get(Pod, due.key)
        if pod is None or pod.metadata.uid != due.uid:
            return
        if self._is_silent(pod.spec.node_name):
            self._miss(self._api_server.now, due)
            return
        match due.what:
            case _What.END:
                self._end(pod, due)
            case _What.RUN:
                self._run(pod, due)
            case _What.READY:
                self._ready(pod, due)
            case _What.RESIZE:
                self._resize(pod, due)
            case _What.GO:
                self._go(pod, due)

    def _end(self, pod: Pod, due: _Due) -> None:
        if is_terminal(pod):
            return
        api_server = self._api_server
        verb: Verb = "ended" if pod.metadata.deletion_timestamp is not None else phase_verb(due.phase)
        event = api_server.note(due.because, _name(pod), verb, pod, pod.spec.node_name)
        api_server.put(ended(pod, due.phase, api_server.stamp(api_server.now)), event)

    def _run(self, pod: Pod, due: _Due) -> None:
        if pod.status.phase not in ("", "Pending") or pod.metadata.deletion_timestamp is not None:
            return
        api_server = self._api_server
        if pod.spec.volumes and (missing := self.attachments.attach(pod)):
            why = self.attachments.message(missing)
            api_server.note(due.because, "attachdetach-controller", "could not attach", pod, pod.spec.node_name, why)
            return
        delay = self._parameters.readiness_of(pod)
        at_once = delay == 0
        event = api_server.note(due.because, _name(pod), "ready" if at_once else "running", pod, pod.spec.node_name)
        after = running(pod, api_server.stamp(api_server.now), ready=at_once)
        api_server.put(after, event)
        if delay:
            self._put(delay, _What.READY, after, event)
        run = self._parameters.run_of(after)
        if run is not None:
            self._put(run, _What.END, after, event, "Succeeded")

    def _ready(self, pod: Pod, due: _Due) -> None:
        if is_terminal(pod) or pod.metadata.deletion_timestamp is not None or is_ready(pod):
            return
        api_server = self._api_server
        event = api_server.note(due.because, _name(pod), "ready", pod, pod.spec.node_name)
        api_server.put(running(pod, api_server.stamp(api_server.now), ready=True), event)

    def _resize(self, pod: Pod, due: _Due) -> None:
        """Try all pending resizes on the node; a container that restarts takes time to end and get ready."""
        for made in self.resizes.retry(pod.spec.node_name, due.because):
            if made.restarts and is_ready(made.pod):
                self._restart(made.pod, made.restarts, made.event)

    def _restart(self, pod: Pod, containers: tuple[str, ...], because: int) -> None:
        api_server = self._api_server
        event = api_server.note(
            because, _name(pod), "restarted", pod, pod.spec.node_name, f"containers {', '.join(containers)}"
        )
        after = restarting(pod, api_server.stamp(api_server.now))
        api_server.put(after, event)
        delay = self._parameters.readiness_of(pod)
        if delay is not None:
            ending = self._termination(pod, float(pod.spec.termination_grace_period_seconds))
            self._put(ending + delay, _What.READY, after, event)

    def _go(self, pod: Pod, due: _Due) -> None:
        if pod.metadata.deletion_timestamp is not None and is_terminal(pod) and not held(pod):
            self._api_server.write(Remove(Pod, due.key), _name(pod), due.because)


def _name(pod: Pod) -> str:
    return f"kubelet {pod.spec.node_name}"
