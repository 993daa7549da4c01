"""An autoscaler in a simulation with time: a controller that adds nodes for pods that find no room.

It runs its loop a while after a pod was found unschedulable, and again until it adds nothing more (`RunOnce` in
`cluster-autoscaler/core/static_autoscaler.go`; Karpenter's `provisioning/batcher.go`). Nodes register and get ready
later: how much later depends on the cloud, and is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.autoscaler.cluster_autoscaler.pods import is_mirror, is_unschedulable
from kwhatif.autoscaler.contract import Destination, NewNode, NodeAutoscaler, ScalingRound
from kwhatif.controllers.contract import NOTHING, Create, SyncResult, Update, View, Write, earliest
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import AutoscalerKnowsNoGroups
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.meta import SECOND, controller_of, format_time, parse_time
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, group_of, has_groups
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.state.state import State

#: The seconds until a node registers, before it is ready.
_REGISTERS = 10.0
#: An autoscaler that has added nodes this many times for pods that the scheduler does not place is not asked again.
_MOST_ROUNDS = 100


class Launching(msgspec.Struct, frozen=True):
    """A machine that was asked for, and the second at which its node is ready."""

    node: NewNode
    asked: float
    ready: float

    @property
    def registers(self) -> float:
        """When its kubelet registers it."""
        return max(self.ready - _REGISTERS, self.asked)


class AutoscalerMemory(msgspec.Struct, frozen=True):
    """What an autoscaler remembers: everything in it is immutable, so that forks share it."""

    autoscaler: NodeAutoscaler
    #: When its loop runs next.
    next_loop: float | None = None
    launching: tuple[Launching, ...] = ()
    #: UIDs of the pods for which it has done what it can, until a node comes.
    handled: frozenset[str] = frozenset()
    #: What it has added, and the names of the nodes.
    rounds: tuple[tuple[ScalingRound, tuple[str, ...]], ...] = ()
    caveats: tuple[Caveat, ...] = ()


class NodeAutoscaling:
    """The controller; see `Controller`."""

    watches = (Pod,)

    def __init__(self, autoscaler: NodeAutoscaler, profiles: Mapping[str, Profile], at: str, startup: float) -> None:
        """Set up.

        Args:
            autoscaler: as it is at the start.
            profiles: the scheduler's.
            at: the moment at which the simulation starts, RFC 3339.
            startup: how many seconds a node takes to be ready.
        """
        self._start, self._profiles = AutoscalerMemory(autoscaler), profiles
        self._at, self._startup = parse_time(at), startup
        self.name = autoscaler.kind

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`: a pod that was found unschedulable."""
        del before, view
        return ("",) if isinstance(after, Pod) and not after.spec.node_name and is_unschedulable(after) else ()

    def of(self, view: View) -> AutoscalerMemory:
        """What it remembers."""
        found: AutoscalerMemory = view.memory(self.name, "").get("memory", self._start)
        return found

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller`."""
        known = self.of(view)
        writes = list(_arriving(known.launching, view))
        known = _arrived(known, view)
        waiting = {info.uid for info in view.state.pending.values() if is_unschedulable(info.pod)}
        if waiting - known.handled and known.next_loop is None and len(known.rounds) < _MOST_ROUNDS:
            known = replace(known, next_loop=view.now + known.autoscaler.delay)
        if known.next_loop is not None and known.next_loop <= view.now:
            known, asked = self._look(known, view) if waiting else (replace(known, next_loop=None), [])
            writes += asked
        view.memory(self.name, key)["memory"] = known
        times = (time for each in known.launching for time in (each.registers, each.ready) if time > view.now)
        again = earliest(known.next_loop, *times)
        return NOTHING if again is None and not writes else SyncResult(tuple(writes), again)

    def _look(self, known: AutoscalerMemory, view: View) -> tuple[AutoscalerMemory, list[Write]]:
        at = format_time(self._at // SECOND + int(view.now))
        found = known.autoscaler.decide(view.state, self._profiles, at)
        handled = frozenset(info.uid for info in view.state.pending.values())
        groups = knows_no_groups(known.autoscaler, view.state)
        caveats = tuple(dict.fromkeys((*known.caveats, *found.caveats, *groups)))
        if not found.nodes:
            rounds = known.rounds if _repeats(found.round, known.rounds) else (*known.rounds, (found.round, ()))
            return replace(known, next_loop=None, handled=handled, rounds=rounds, caveats=caveats), []
        launching = tuple(Launching(node, view.now, view.now + self._startup) for node in found.nodes)
        added = replace(found.round, added=tuple(node.row for node in found.nodes))
        after = AutoscalerMemory(
            autoscaler=found.then,
            next_loop=view.now + known.autoscaler.delay,
            launching=(*known.launching, *launching),
            handled=handled,
            rounds=(*known.rounds, (added, tuple(node.name for node in found.nodes))),
            caveats=caveats,
        )
        return after, [Create(node.claim) for node in found.nodes if node.claim is not None]


def _repeats(found: ScalingRound, rounds: Sequence[tuple[ScalingRound, object]]) -> bool:
    """Whether a round that adds nothing only repeats which pods cannot be helped."""
    said = {row.pod for earlier, _ in rounds for row in earlier.refused}
    return bool(rounds) and {row.pod for row in found.refused} <= said


def _arriving(launching: Iterable[Launching], view: View) -> Iterator[Write]:
    """Nodes register, and get ready."""
    for each in launching:
        there = view.state.cluster.get(Node, each.node.name)
        if there is not None and each.ready <= view.now:
            yield Update(each.node.started(there))
        elif there is None and each.registers <= view.now:
            yield Create(each.node.node if each.ready <= view.now else each.node.registered)
            yield from (Create(obj, stored=isinstance(obj, Pod)) for obj in each.node.besides)


def _arrived(known: AutoscalerMemory, view: View) -> AutoscalerMemory:
    """What is known once the nodes of this moment are there; then it looks at all pods again."""
    new = [
        each.node for each in known.launching if each.registers <= view.now and view.state.node(each.node.name) is None
    ]
    left = tuple(each for each in known.launching if each.ready > view.now)
    handled = known.handled if len(left) == len(known.launching) else frozenset[str]()
    autoscaler = known.autoscaler.with_nodes(new) if new else known.autoscaler
    return replace(known, autoscaler=autoscaler, launching=left, handled=handled)


def rounds_of(known: AutoscalerMemory, state: State) -> tuple[ScalingRound, ...]:
    """The rounds, each with the pods on its nodes, without mirror pods and those of DaemonSets."""
    return tuple(
        replace(
            found,
            placed=tuple(
                Destination(pod=info.key, node=name)
                for name in names
                if (node := state.node(name)) is not None
                for info in node.pods
                if not (is_mirror(info.pod) or _is_of_daemon_set(info.pod))
            ),
        )
        for found, names in known.rounds
    )


def _is_of_daemon_set(pod: Pod) -> bool:
    owner = controller_of(pod.metadata)
    return owner is not None and owner.kind == "DaemonSet"


def knows_no_groups(autoscaler: NodeAutoscaler, state: State) -> Iterator[Caveat]:
    """That it adds nodes pod by pod, where pods of groups wait: neither autoscaler reads `scheduling.k8s.io`."""
    if has_groups(state.cluster):
        waiting = {group_of(info.pod) for info in state.pending.values() if is_unschedulable(info.pod)}
        known = waiting & state.cluster.all(PodGroup).keys()
        if known:
            yield AutoscalerKnowsNoGroups(autoscaler=autoscaler.name, groups=tuple(sorted(known)))
