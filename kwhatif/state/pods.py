"""`Pods`: the place of each live pod of a state, and the indexes of pods on nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain

from kwhatif.kube.model.cluster import Cluster, list_order
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.overlay import Overlay
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.pod_group import group_of
from kwhatif.state.change import Move, Touched
from kwhatif.state.nodes import Nodes
from kwhatif.state.pod_index import PodIndex
from kwhatif.state.pod_info import PodInfo

#: Pods by key.
Members = dict[str, PodInfo]
_NOBODY: Members = {}


class MemberIndex:
    """The pods of each group, on any node or pending (`pkg/scheduler/backend/cache/podgroupstate.go`).

    Built when it is first needed, and updated from then on. Forks share what is built.
    """

    def __init__(self) -> None:
        #: By the key of the group. What is not in `_own` is shared.
        self._groups: dict[str, Members] | None = None
        self._own: set[str] = set()
        self._owns_groups = True

    def fork(self) -> MemberIndex:
        """An independent index of the same pods."""
        other = MemberIndex()
        other._groups, other._owns_groups, self._owns_groups = self._groups, False, False
        self._own = set()
        return other

    def of(self, group: str, pods: Iterable[PodInfo]) -> Mapping[str, PodInfo]:
        """The pods of the group of that key, by key; `pods` are all live ones."""
        if self._groups is None:
            self._groups = {}
            for pod in pods:
                if pod.pod.spec.scheduling_group is not None:
                    self._groups.setdefault(group_of(pod.pod), {})[pod.key] = pod
        return self._groups.get(group, _NOBODY)

    def put(self, pod: PodInfo) -> None:
        """The pod was added, or replaces one with its key."""
        if self._groups is not None and pod.pod.spec.scheduling_group is not None:
            self._members_of(pod)[pod.key] = pod

    def pop(self, pod: PodInfo) -> None:
        """The pod is no longer there."""
        if self._groups is not None and pod.pod.spec.scheduling_group is not None:
            self._members_of(pod).pop(pod.key, None)

    def _members_of(self, pod: PodInfo) -> Members:
        assert self._groups is not None, "it is built"
        group = group_of(pod.pod)
        if not self._owns_groups:
            self._groups, self._owns_groups = self._groups.copy(), True
        if group not in self._own:
            self._own.add(group)
            self._groups[group] = self._groups.get(group, _NOBODY).copy()
        return self._groups[group]


class Nominations:
    """The pending pods nominated to each node (`pkg/scheduler/backend/queue/nominator.go`).

    Forks share both mappings until one of them changes them.
    """

    def __init__(self) -> None:
        #: By node name, in the order of nomination; nodes without nominated pods are absent.
        self.by_node: dict[str, tuple[PodInfo, ...]] = {}
        #: Key of the pod -> name of the node.
        self.node_of: dict[str, str] = {}
        self._is_shared = False

    def fork(self) -> Nominations:
        """An independent copy."""
        self._is_shared = True
        other = Nominations.__new__(Nominations)
        other.by_node, other.node_of, other._is_shared = self.by_node, self.node_of, True
        return other

    def add(self, pod: PodInfo, node_name: str) -> None:
        """Nominate the pod, which must not be nominated yet."""
        self._own()
        self.by_node[node_name] = (*self.by_node.get(node_name, ()), pod)
        self.node_of[pod.key] = node_name

    def drop(self, key: str) -> list[str]:
        """Drop the pod's nomination; returns the nodes that it was nominated to (at most one)."""
        name = self.node_of.get(key)
        if name is None:
            return []
        self._own()
        del self.node_of[key]
        kept = tuple(pod for pod in self.by_node[name] if pod.key != key)
        if kept:
            self.by_node[name] = kept
        else:
            del self.by_node[name]
        return [name]

    def sort(self) -> None:
        """Put them into the API server's order of pods."""
        self._own()
        pods = {pod.key: pod for pods in self.by_node.values() for pod in pods}
        node_of, self.by_node, self.node_of = self.node_of, {}, {}
        for key in sorted(node_of, key=list_order):
            self.add(pods[key], node_of[key])

    def _own(self) -> None:
        if self._is_shared:
            self.by_node, self.node_of, self._is_shared = self.by_node.copy(), self.node_of.copy(), False


class Pods:
    """All live pods are in `live`, and each is either on a node, among the strays, or pending."""

    def __init__(self, cluster: Cluster, nodes: Nodes) -> None:
        """Put the cluster's pods on the nodes, which have none yet."""
        self.nodes = nodes
        self.nominations = Nominations()
        self.live: Overlay[str, PodInfo] = Overlay()
        self.pending: Overlay[str, PodInfo] = Overlay()
        #: Pods assigned to nodes that do not exist, by node name.
        self.strays: Overlay[str, tuple[PodInfo, ...]] = Overlay()
        #: Whether the index is not shared; forks share it until their nodes or pods change.
        self._owns_index = True
        self._load(cluster)
        self.index = PodIndex(self.live)
        self.members = MemberIndex()

    def _load(self, cluster: Cluster) -> None:
        pods, pending, resizes = {}, {}, cluster.facts.resizes
        assigned: dict[str, list[PodInfo]] = {}
        for pod in cluster.all(Pod).values():
            if is_terminal(pod):
                continue
            info = PodInfo(pod, resizes)
            pods[info.key] = info
            node_name = pod.spec.node_name
            if not node_name:
                pending[info.key] = info
                if pod.status.nominated_node_name:
                    self.nominations.add(info, pod.status.nominated_node_name)
                continue
            others = assigned.get(node_name)
            if others is None:
                assigned[node_name] = [info]
            else:
                others.append(info)
        for name, infos in assigned.items():
            node = self.nodes.get(name)
            if node is not None:
                node.add_pods(infos)
            else:
                self.strays.put(name, tuple(infos))
        self.live, self.pending = Overlay(pods), Overlay(pending)

    def fork(self, nodes: Nodes) -> Pods:
        """An independent copy with these nodes."""
        if self._owns_index:
            self.index.look_in(self.live.fork())
            self._owns_index = False
        other = Pods.__new__(Pods)
        other.index, other._owns_index = self.index, False
        other.nodes, other.nominations, other.members = nodes, self.nominations.fork(), self.members.fork()
        other.live, other.pending, other.strays = self.live.fork(), self.pending.fork(), self.strays.fork()
        return other

    # --- indexes -------------------------------------------------------------------------------------

    def users_of(self, claim: str) -> int:
        """How many pods on nodes use the claim, `namespace/name`."""
        return self.index.claims.users_of(claim, self.nodes.infos)

    def _own_index(self) -> None:
        """Fork the index before nodes or their pods change: forks without changes keep the shared one."""
        if not self._owns_index:
            self.index, self._owns_index = self.index.fork(self.live), True

    # --- changes -------------------------------------------------------------------------------------

    def upsert(self, after: PodInfo, touched: Touched) -> bool:
        """Add or update the pod; returns whether it stays where it was."""
        self._own_index()
        pod = after.pod
        before = self.live.get(after.key)
        if before is not None:
            if before.pod.spec.node_name == pod.spec.node_name and not is_terminal(pod):
                self._update(before, after, touched)
                return True
            self._withdraw(before, touched)
        if not is_terminal(pod):
            self._add(after, touched)
        return False

    def delete(self, key: str, touched: Touched) -> None:
        """Remove the pod, as if it had never existed; a finished pod is not live anyway."""
        pod = self.live.get(key)
        if pod is not None:
            self._own_index()
            self._withdraw(pod, touched)

    def evict(self, key: str, touched: Touched) -> None:
        """Remove the pod from its node as `RemovePod` does (`Evict`)."""
        pod = self.live[key]
        node_name = pod.pod.spec.node_name
        if node_name not in self.nodes.index_by_name:
            raise KeyError(f"pod {key} is not on a node")
        self._own_index()
        self.nodes.own(node_name).remove_pod(pod)
        self._unlist(pod, node_name, touched)

    def nominate(self, key: str, node_name: str | None, touched: Touched) -> None:
        """Nominate the pending pod to this node only; None: to no node."""
        pod = self.pending.get(key)
        if pod is None:
            raise KeyError(f"no pending pod {key}")
        touched.nodes.update(self.nominations.drop(key))
        if node_name:
            self._nominate(pod, node_name, touched)

    def upsert_node(self, before: Node | None, node: Node, touched: Touched) -> None:
        """Add or update the node; pods that were assigned to it before it existed are put on it."""
        self._own_index()
        name = node.metadata.name
        touched.nodes.add(name)
        if before is not None:
            self.nodes.update(before, node, touched)
            return
        info = self.nodes.add(node, self.strays.pop(name) or (), touched)
        self.index.claims.count(info.pods, 1)

    def delete_node(self, node: Node, touched: Touched) -> None:
        """Remove the node; its pods stay assigned to it until they are deleted."""
        self._own_index()
        touched.nodes.add(node.metadata.name)
        info = self.nodes.remove(node, touched)
        self.index.claims.count(info.pods, -1)
        if info.pods:
            self.strays.put(info.name, tuple(info.pods))

    def sort(self, misplaced: AbstractSet[str], touched: Touched) -> None:
        """Put the pods into the API server's order, of which only these may be out of it."""
        self.live.sort(misplaced, list_order)
        self.pending.sort(misplaced, list_order)
        pods = (self.live.get(key) for key in misplaced)
        nodes = {pod.pod.spec.node_name for pod in pods if pod is not None} & self.nodes.index_by_name.keys()
        for name in nodes:
            self.nodes.sort_pods(name)
        touched.nodes |= nodes
        if self.nominations.node_of:
            self.nominations.sort()
        if self.strays:
            self._sort_strays()

    def _sort_strays(self) -> None:
        strays: dict[str, tuple[PodInfo, ...]] = {}
        for pod in sorted(chain.from_iterable(self.strays.values()), key=lambda pod: list_order(pod.key)):
            name = pod.pod.spec.node_name
            strays[name] = (*strays.get(name, ()), pod)
        self.strays = Overlay(strays)

    # --- steps of a change ---------------------------------------------------------------------------

    def _add(self, pod: PodInfo, touched: Touched) -> None:
        self.live.put(pod.key, pod)
        self.members.put(pod)
        if pod.pod.spec.node_name:
            self._place(pod, pod.pod.spec.node_name, touched)
            return
        self.pending.put(pod.key, pod)
        if pod.pod.status.nominated_node_name:
            self._nominate(pod, pod.pod.status.nominated_node_name, touched)

    def _nominate(self, pod: PodInfo, node_name: str, touched: Touched) -> None:
        self.nominations.add(pod, node_name)
        touched.nodes.add(node_name)

    def _update(self, before: PodInfo, after: PodInfo, touched: Touched) -> None:
        """Replace a pod that stays where it is."""
        node_name = after.pod.spec.node_name
        self.live.put(after.key, after)
        self.members.put(after)
        if not node_name:
            self.pending.put(after.key, after)
            self._renominate(before, after, touched)
            return
        if node_name not in self.nodes.index_by_name or not self.nodes.own(node_name).exchange(before, after):
            self._replace_on(node_name, lambda pods: [after if pod is before else pod for pod in pods])
        self._note(Move(before, node_name, -1), touched)
        self._note(Move(after, node_name, 1), touched)

    def _renominate(self, before: PodInfo, after: PodInfo, touched: Touched) -> None:
        """Nominate by the status, new or old; otherwise keep the nominator's entry (`UpdateNominatedPod`)."""
        was, now = before.pod.status.nominated_node_name, after.pod.status.nominated_node_name
        dropped = self.nominations.drop(after.key)
        touched.nodes.update(dropped)
        node_name = now if now or was else next(iter(dropped), "")
        if node_name:
            self._nominate(after, node_name, touched)

    def _withdraw(self, pod: PodInfo, touched: Touched) -> None:
        """Remove the pod, as if it had never existed.

        `NodeInfo.remove_pod` would also free ports that another pod uses, and change the order of the other pods.
        """
        node_name = pod.pod.spec.node_name
        if not node_name:
            touched.nodes.update(self.nominations.drop(pod.key))
            self.pending.pop(pod.key)
            self.live.pop(pod.key)
            self.members.pop(pod)
            return
        self._replace_on(node_name, lambda pods: [other for other in pods if other is not pod])
        self._unlist(pod, node_name, touched)

    def _place(self, pod: PodInfo, node_name: str, touched: Touched) -> None:
        """Put the pod on the node, which may not exist."""
        if node_name in self.nodes.index_by_name:
            self.nodes.own(node_name).add_pod(pod)
        else:
            self.strays.put(node_name, (*self.strays.get(node_name, ()), pod))
        self._note(Move(pod, node_name, 1), touched)

    def _unlist(self, pod: PodInfo, node_name: str, touched: Touched) -> None:
        self.live.pop(pod.key)
        self.members.pop(pod)
        self._note(Move(pod, node_name, -1), touched)

    def _note(self, move: Move, touched: Touched) -> None:
        """Record that a pod was added to a node, which may not exist, or removed from it."""
        pod, node_name, amount = move
        touched.nodes.add(node_name)
        self.index.change(pod, amount)
        if node_name in self.nodes.index_by_name:
            self.index.claims.count((pod,), amount)
            touched.moves.append(move)

    def _replace_on(self, node_name: str, change: Callable[[Sequence[PodInfo]], list[PodInfo]]) -> None:
        """Replace the pods of the node, which may not exist."""
        if node_name in self.nodes.index_by_name:
            node = self.nodes.infos[self.nodes.index_by_name[node_name]]
            self.nodes.replace(node.with_pods(change(node.pods)))
            return
        pods = change(self.strays[node_name])
        if pods:
            self.strays.put(node_name, tuple(pods))
        else:
            self.strays.pop(node_name)
