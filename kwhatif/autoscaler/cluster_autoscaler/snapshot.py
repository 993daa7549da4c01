"""`Snapshot`: a state in which the autoscaler tries things out, with kube-scheduler's filters alone.

Follows `simulator/clustersnapshot/predicate` (`predicate_snapshot.go`, `plugin_runner.go`). Upstream keeps its nodes in
the random order of a map; here they come by name, and new ones last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.filters import run_filters
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import Status, Verdict, error
from kwhatif.state.change import Change, Delete, Upsert
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

_DEVICES = "DynamicResources"
#: A node that PreFilter plugins have ruled out: upstream has no words for that.
_RULED_OUT = Verdict(Status())


class Snapshot:
    """One state, the profile that pods are tried with, and the order in which nodes are."""

    def __init__(self, state: State, profile: Profile) -> None:
        """`state` is changed: give a fork."""
        self.state = state
        self._profile = profile
        self.names = sorted(state.by_name)
        #: Where the last pod that could go anywhere has gone: the next one is tried behind that.
        self._last = [0]

    def fork(self) -> Snapshot:
        """Another one, whose changes leave this one as it is."""
        other = Snapshot.__new__(Snapshot)
        other.state, other._profile = self.state.fork(), self._profile
        other.names, other._last = self.names.copy(), self._last
        return other

    def adopt(self, other: Snapshot) -> None:
        """Take over what was done in a fork (`Commit`)."""
        self.state, self.names = other.state, other.names

    # --- nodes -----------------------------------------------------------------------------------------

    def add_node(self, node: Node, pods: Iterable[Pod], besides: Iterable[KubernetesObject] = ()) -> None:
        """A new node, with the pods that are on it, and objects that belong to it."""
        changes: list[Change] = [Upsert(node), *map(Upsert, besides)]
        changes += (Upsert(pod) for pod in pods)
        self.state.apply(*changes)
        self.names.append(node.metadata.name)

    def empty_node(self, node: Node) -> None:
        """The node is another now, and its pods are gone."""
        self.state.apply(*self._gone(node.metadata.name), Upsert(node))

    def remove_node(self, name: str) -> None:
        """The node goes, with the pods that are on it."""
        self.state.apply(*self._gone(name), Delete(Node, name))
        self.names.remove(name)

    def _gone(self, name: str) -> Sequence[Change]:
        return [Delete(Pod, pod.key) for pod in self.state.by_name[name].pods]

    def node(self, name: str) -> NodeInfo:
        """The node of that name, which is there."""
        return self.state.by_name[name]

    # --- pods ------------------------------------------------------------------------------------------

    def objection(self, pod: PodInfo, node: str) -> Verdict | None:
        """Why the pod does not fit there (`CheckPredicates`)."""
        return self._tried(pod)(node)

    def objections(self, pod: PodInfo, nodes: Iterable[str]) -> Mapping[str, Verdict]:
        """Why the pod does not fit on each of the nodes, by name; those that it fits on are left out."""
        tried = self._tried(pod)
        found = {name: tried(name) for name in nodes}
        return {name: verdict for name, verdict in found.items() if verdict is not None}

    def schedule(self, pod: PodInfo, node: str) -> Verdict | None:
        """Put the pod there, if it fits (`SchedulePod`); else why not."""
        tried = self._tried(pod)
        verdict = tried(node)
        if verdict is None:
            tried.bind(node)
        return verdict

    def schedule_anywhere(self, pod: PodInfo, accepts: Collection[str] | Callable[[str], bool]) -> str:
        """Put the pod on a node that it fits, of those that are accepted (`SchedulePodOnAnyNodeMatching`).

        The search begins behind the node that was found last.

        Returns:
            The node's name; "": there is none.
        """
        tried, names, start = self._tried(pod), self.names, self._last[0] + 1
        accepted = accepts if callable(accepts) else accepts.__contains__
        by_name = self.state.by_name
        for step in range(len(names)):
            place = (start + step) % len(names)
            name = names[place]
            # A cordoned node is not even asked: also a pod that tolerates the cordon does not go there.
            if accepted(name) and not by_name[name].unschedulable and tried(name) is None:
                self._last[0] = place
                tried.bind(name)
                return name
        return ""

    def unschedule(self, pod: PodInfo) -> None:
        """Take the pod off its node."""
        self.state.apply(Delete(Pod, pod.key))

    def _tried(self, pod: PodInfo) -> _Tried:
        return _Tried(self.state, self._profile, pod)


class _Tried:
    """A pod with its compiled filters, on the state as it is."""

    def __init__(self, state: State, profile: Profile, pod: PodInfo) -> None:
        self._state, self._pod = state, pod
        self._cycle = Cycle(profile, pod, state)
        self._stopped: Verdict | None = None
        try:
            if not self._cycle.pre_filter():
                self._stopped = self._cycle.absent
        except CycleError as failure:
            self._stopped = Verdict(error(str(failure)))

    def __call__(self, name: str) -> Verdict | None:
        """Why it does not fit on the node (`RunFiltersOnNode`)."""
        cycle = self._cycle
        if self._stopped is not None:
            return self._stopped
        if cycle.node_set is not None and name not in cycle.node_set:
            return _RULED_OUT
        return run_filters(cycle.filters, self._state.by_name[name])

    def bind(self, name: str) -> None:
        """The pod goes there. Devices are reserved for it; volumes are not, as upstream leaves them open."""
        compiled = self._cycle.compiled.get(_DEVICES)
        reserved = () if compiled is None else tuple(compiled.reserve(self._state.by_name[name], self._state))
        pod = self._pod.pod
        placed = replace(pod, spec=replace(pod.spec, node_name=name))
        self._state.apply(*map(Upsert, reserved), Upsert(placed))
