"""An autoscaler in a simulation with time: a controller that adds nodes for unschedulable pods.

It runs its loop some time after a pod was marked unschedulable, and again until it adds no more nodes (`RunOnce` in
`cluster-autoscaler/core/static_autoscaler.go`; Karpenter's `provisioning/batcher.go`). Nodes register and become ready
later. How much later depends on the cloud, so it is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from kwhatif.autoscaler.cluster_autoscaler.pods import is_mirror
from kwhatif.autoscaler.contract import Destination, NewNode, NodeAutoscaler, ScalingRound
from kwhatif.autoscaler.loop import AutoscalerLoop
from kwhatif.controllers.contract import NOTHING, Create, SyncResult, Update, View, Write, earliest
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.meta import SECOND, format_time, parse_time
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_daemon_pod, is_unschedulable
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.state.state import State

#: A node registers this many seconds before it is ready.
_REGISTERS = 10.0
#: An autoscaler that has added nodes this many times does not run again, even if pods are still pending.
_MOST_ROUNDS = 100


class Launching(msgspec.Struct, frozen=True):
    """A machine that was requested, and the second at which its node is ready."""

    node: NewNode
    requested_at: float
    ready: float

    @property
    def registers(self) -> float:
        """When its kubelet registers it."""
        return max(self.ready - _REGISTERS, self.requested_at)


class AutoscalerMemory(msgspec.Struct, frozen=True):
    """The memory of an autoscaler. Everything in it is immutable, so that forks share it."""

    loop: AutoscalerLoop
    #: When its loop runs next.
    next_loop: float | None = None
    launching: tuple[Launching, ...] = ()
    #: UIDs of the pods that it has processed since the last new node.
    handled: frozenset[str] = frozenset()


class NodeAutoscaling:
    """The controller; see `Controller`."""

    watches = (Pod,)

    def __init__(self, autoscaler: NodeAutoscaler, profiles: Mapping[str, Profile], at: str, startup: float) -> None:
        """Set up.

        Args:
            autoscaler: the autoscaler at the start.
            profiles: the scheduler's profiles.
            at: the moment at which the simulation starts, RFC 3339.
            startup: the seconds from the request for a node until it is ready.
        """
        self._start, self._profiles = AutoscalerMemory(AutoscalerLoop(autoscaler)), profiles
        self._at, self._startup = parse_time(at), startup
        self.name = autoscaler.kind

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`: a pod that was marked unschedulable."""
        del before, view
        return ("",) if isinstance(after, Pod) and not after.spec.node_name and is_unschedulable(after) else ()

    def of(self, view: View) -> AutoscalerMemory:
        """The autoscaler's memory."""
        found: AutoscalerMemory = view.memory(self.name, "").get("memory", self._start)
        return found

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller`."""
        known = self.of(view)
        writes = list(_arriving(known.launching, view))
        known = _arrived(known, view)
        waiting = {info.uid for info in view.state.pending.values() if is_unschedulable(info.pod)}
        if waiting - known.handled and known.next_loop is None and len(known.loop.rounds) < _MOST_ROUNDS:
            known = replace(known, next_loop=view.now + known.loop.autoscaler.delay)
        if known.next_loop is not None and known.next_loop <= view.now:
            known, created = self._look(known, view) if waiting else (replace(known, next_loop=None), [])
            writes += created
        view.memory(self.name, key)["memory"] = known
        times = (time for each in known.launching for time in (each.registers, each.ready) if time > view.now)
        again = earliest(known.next_loop, *times)
        return NOTHING if again is None and not writes else SyncResult(tuple(writes), again)

    def _look(self, known: AutoscalerMemory, view: View) -> tuple[AutoscalerMemory, list[Write]]:
        at = format_time(self._at // SECOND + int(view.now))
        loop, found = known.loop.look(view.state, self._profiles, at)
        handled = frozenset(info.uid for info in view.state.pending.values())
        if not found.nodes:
            return replace(known, next_loop=None, handled=handled, loop=loop), []
        after = AutoscalerMemory(
            loop=loop,
            next_loop=view.now + loop.autoscaler.delay,
            launching=(
                *known.launching,
                *(Launching(node, view.now, view.now + self._startup) for node in found.nodes),
            ),
            handled=handled,
        )
        return after, [Create(node.claim) for node in found.nodes if node.claim is not None]


def _arriving(launching: Iterable[Launching], view: View) -> Iterator[Write]:
    """The nodes that register or become ready now."""
    for each in launching:
        there = view.state.cluster.get(Node, each.node.name)
        if there is not None and each.ready <= view.now:
            yield Update(each.node.started(there))
        elif there is None and each.registers <= view.now:
            yield Create(each.node.node if each.ready <= view.now else each.node.registered)
            yield from (Create(obj, stored=isinstance(obj, Pod)) for obj in each.node.besides)


def _arrived(known: AutoscalerMemory, view: View) -> AutoscalerMemory:
    """The memory after the nodes of this moment have registered or become ready: then all pods are processed again."""
    new = [
        each.node for each in known.launching if each.registers <= view.now and view.state.node(each.node.name) is None
    ]
    left = tuple(each for each in known.launching if each.ready > view.now)
    handled = known.handled if len(left) == len(known.launching) else frozenset[str]()
    loop = replace(known.loop, autoscaler=known.loop.autoscaler.with_nodes(new)) if new else known.loop
    return replace(known, loop=loop, launching=left, handled=handled)


def rounds_of(known: AutoscalerMemory, state: State) -> tuple[ScalingRound, ...]:
    """The rounds, each with the pods on its nodes, without mirror pods and those of DaemonSets."""
    return tuple(
        replace(
            found,
            placed=tuple(
                Destination(pod=info.key, node=added.node)
                for added in found.added
                if (node := state.node(added.node)) is not None
                for info in node.pods
                if not (is_mirror(info.pod) or is_daemon_pod(info.pod))
            ),
        )
        for found in known.loop.rounds
    )
