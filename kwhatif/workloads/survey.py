"""`Survey`: facts about all pods at one moment, collected in one pass, and brought up to date from moment to moment.

A hundred thousand pods are spread over memory: to visit each of them for every question would cost several times that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappush, heappushpop, nlargest
from typing import Self

from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of, list_order
from kwhatif.kube.model.meta import PLAIN_TIME, SECOND, controller_of, format_time, is_plain_time, parse_time
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.overlay import Overlay
from kwhatif.kube.model.pod import Pod, is_ready, pod_condition
from kwhatif.scheduler.framework.reference import is_reference

#: After this number of changes it is cheaper to look at everything again; and each of them keeps its objects in memory.
_MOST = 1_000

_Change = tuple[KubernetesObject | None, KubernetesObject | None]


class LateIndex:
    """An `Index` of `Cluster.derived` whose content belongs to a moment; get it by `settled` before it is read.

    Most simulations change a hundred thousand pods and never ask again: they do not pay for it. Clusters that share an
    index share what it has taken in.
    """

    #: The index before the change, while it was not taken in; and how many changes that are in a row.
    _earlier: Self | None = None
    _change: _Change = (None, None)
    _waiting = 0

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> Self | None:
        """See `Index`."""
        if is_reference() or self._waiting >= _MOST:
            return None
        if not self._concerns(before, after):
            return self
        other = type(self).__new__(type(self))
        other._earlier, other._change, other._waiting = self, (before, after), self._waiting + 1
        return other

    def settled(self, cluster: Cluster) -> Self:
        """The index, once it has taken everything in; `cluster` is the one that it is of."""
        if self._earlier is None:
            return self
        changes: list[_Change] = []
        at: Self = self
        while at._earlier is not None:
            changes.append(at._change)
            at = at._earlier
        if not self._take(at, changes[::-1], cluster):
            self._build(cluster)
        self._earlier, self._change, self._waiting = None, (None, None), 0
        return self

    def _concerns(self, before: KubernetesObject | None, after: KubernetesObject | None) -> bool:
        """Whether the change can change anything in the index; asked often."""
        raise NotImplementedError

    def _take(self, earlier: Self, changes: list[_Change], cluster: Cluster) -> bool:
        """Become what the earlier index is after these changes, without changing it; False: that cannot be done."""
        raise NotImplementedError

    def _build(self, cluster: Cluster) -> None:
        """Look at everything."""
        raise NotImplementedError


#: (namespace, kind, name) of a controller.
ControllerKey = tuple[str, str, str]
#: The latest times of this number of pods are kept: all of these have to go before everything is looked at again.
_NEWEST = 64


class Controlled:
    """The pods that name the same controller; of a namespace, those that name none."""

    __slots__ = ("keys", "nodes", "ready", "restless")

    def __init__(self) -> None:
        #: The keys of all of them, each with the UID that it names.
        self.keys: dict[str, str] = {}
        #: How many of them are restless.
        self.restless = 0
        #: How many of those that are not restless are on which node, and how many of them are ready; not of bare pods.
        self.nodes: dict[str, int] = {}
        self.ready = 0

    def copy(self) -> Controlled:
        """An independent copy."""
        other = Controlled()
        other.keys, other.restless, other.nodes = self.keys.copy(), self.restless, self.nodes.copy()
        other.ready = self.ready
        return other

    @property
    def in_order(self) -> Mapping[str, str]:
        """The keys, with the UIDs, in the order of the API server's lists."""
        return {key: self.keys[key] for key in sorted(self.keys)}


class Survey(LateIndex):
    """What was found out of the pods of a cluster. Many read it: to change something of it, make a copy."""

    def __init__(self, cluster: Cluster) -> None:
        self._build(cluster)

    def _build(self, cluster: Cluster) -> None:
        #: By controller, in no particular order.
        self.controlled: Overlay[ControllerKey, Controlled] = Overlay()
        #: By key, all pods except those that run on an existing node, and do so until something acts on them.
        self._restless: Overlay[str, Pod] = Overlay()
        #: The others that name no controller.
        self._bare: Overlay[str, Pod] = Overlay()
        #: The latest time that each of some pods shows, of those written as the API server does it; no other pod shows
        #: one that is later than the last field.
        self._newest: dict[str, str] = {}
        self._others_until = ""
        #: All times written otherwise.
        self.odd_times: set[str] = set()
        self._look_at(cluster.all(Pod), dict.fromkeys(cluster.all(Node)))

    def _look_at(self, pods: Mapping[str, Pod], nodes: Mapping[str, None]) -> None:  # noqa: C901, PLR0912 - calls cost too much
        controlled: dict[ControllerKey, Controlled] = {}
        restless: dict[str, Pod] = {}
        bare: dict[str, Pod] = {}
        newest = _Newest()
        before: ControllerKey | None = None
        group, latest = Controlled(), ""
        for key, pod in pods.items():
            meta, status, node = pod.metadata, pod.status, pod.spec.node_name
            # As `controller_of`, without a call for each of a hundred thousand pods.
            for owner in meta.owner_references:
                if owner.controller:
                    place, uid = (meta.namespace, owner.kind, owner.name), owner.uid
                    break
            else:
                place, uid = (meta.namespace, "", ""), ""
            if place != before:  # replicas stand side by side
                before, group = place, controlled.setdefault(place, Controlled())
            group.keys[key] = uid
            for time in (meta.creation_timestamp, status.start_time):
                if time and (time > latest or len(time) != PLAIN_TIME):
                    latest = newest.note(key, time, self.odd_times)
            if meta.deletion_timestamp is not None and (deleted := _deleted_at(pod, meta.deletion_timestamp)) > latest:
                latest = newest.note(key, deleted, self.odd_times)
            if (
                status.phase != "Running"
                or meta.deletion_timestamp is not None
                or node not in nodes
                or meta.annotations.run_seconds
            ):
                restless[key] = pod
                group.restless += 1
                continue
            if not place[1]:
                bare[key] = pod
                continue
            group.nodes[node] = group.nodes.get(node, 0) + 1
            for condition in status.conditions:
                if condition.type == "Ready":
                    group.ready += condition.status == "True"
                    since = condition.last_transition_time
                    if since and (since > latest or len(since) != PLAIN_TIME):
                        latest = newest.note(key, since, self.odd_times)
                    break
        self.controlled, self._restless, self._bare = Overlay(controlled), Overlay(restless), Overlay(bare)
        self._newest, self._others_until = newest.by_key(), latest

    # --- reading -------------------------------------------------------------------------------------

    @property
    def restless(self) -> Sequence[Pod]:
        """All pods except those that run on an existing node, and do so until something acts on them; in order."""
        return _in_order(self._restless)

    @property
    def bare(self) -> Sequence[Pod]:
        """The others that name no controller, in order."""
        return _in_order(self._bare)

    @property
    def latest(self) -> str:
        """The latest time that a pod shows, of those written as the API server does it; "" if none shows one."""
        return max(self._newest.values(), default="")

    def groups(self) -> list[tuple[ControllerKey, Controlled]]:
        """All that are controlled, by namespace, kind and name of the controller."""
        return sorted(self.controlled.items(), key=lambda each: each[0])

    # --- changes -------------------------------------------------------------------------------------

    def _concerns(self, before: KubernetesObject | None, after: KubernetesObject | None) -> bool:
        return not isinstance(before, Node) or after is None

    def _take(
        self,
        earlier: Survey,
        changes: list[tuple[KubernetesObject | None, KubernetesObject | None]],
        cluster: Cluster,
    ) -> bool:
        self.controlled, self._restless = earlier.controlled.fork(), earlier._restless.fork()
        self._bare, self.odd_times = earlier._bare.fork(), earlier.odd_times
        self._newest, self._others_until = earlier._newest.copy(), earlier._others_until
        nodes, own = cluster.all(Node), dict[ControllerKey, Controlled]()
        for before, after in changes:
            if isinstance(before, Node) or isinstance(after, Node):
                if self._is_lived_on(before, after):
                    return False
                continue
            if isinstance(before, Pod):
                self._remove(before, own)
            if isinstance(after, Pod) and not self._add(after, nodes, own):
                return False
        self._shorten()
        return not self.odd_times and bool(self._newest or not self._others_until)

    def _is_lived_on(self, before: KubernetesObject | None, after: KubernetesObject | None) -> bool:
        """Whether pods name the node that came or went: they are restless now, or no longer."""
        if after is not None:
            return any(pod.spec.node_name == after.metadata.name for pod in self._restless.values())
        assert before is not None, "it came or went"
        name = before.metadata.name
        return any(name in each.nodes for each in self.controlled.values()) or any(
            pod.spec.node_name == name for pod in self._bare.values()
        )

    def _group(self, pod: Pod, own: dict[ControllerKey, Controlled]) -> tuple[ControllerKey, Controlled, str]:
        """Its place, the existing entry, ready to be changed, and the UID that it names."""
        owner, namespace = controller_of(pod.metadata), pod.metadata.namespace
        place = (namespace, "", "") if owner is None else (namespace, owner.kind, owner.name)
        group = own.get(place)
        if group is None:
            known = self.controlled.get(place)
            group = own[place] = Controlled() if known is None else known.copy()
            self.controlled.put(place, group)
        return place, group, "" if owner is None else owner.uid

    def _remove(self, pod: Pod, own: dict[ControllerKey, Controlled]) -> None:
        key, (place, group, _) = key_of(pod), self._group(pod, own)
        group.keys.pop(key, None)
        self._newest.pop(key, None)
        if self._restless.pop(key) is not None:
            group.restless -= 1
        elif self._bare.pop(key) is None:
            node = pod.spec.node_name
            group.nodes[node] -= 1
            if not group.nodes[node]:
                del group.nodes[node]
            group.ready -= is_ready(pod)
        if not group.keys:
            self.controlled.pop(place)
            del own[place]

    def _add(self, pod: Pod, nodes: Mapping[str, Node], own: dict[ControllerKey, Controlled]) -> bool:
        """False: it shows a time that is written otherwise."""
        key, (place, group, uid) = key_of(pod), self._group(pod, own)
        meta, status, node = pod.metadata, pod.status, pod.spec.node_name
        group.keys[key] = uid
        times = [meta.creation_timestamp, status.start_time]
        if meta.deletion_timestamp is not None:
            times.append(_deleted_at(pod, meta.deletion_timestamp))
        if (
            status.phase != "Running"
            or meta.deletion_timestamp is not None
            or node not in nodes
            or meta.annotations.run_seconds
        ):
            self._restless.put(key, pod)
            group.restless += 1
        elif not place[1]:
            self._bare.put(key, pod)
        else:
            group.nodes[node] = group.nodes.get(node, 0) + 1
            group.ready += is_ready(pod)
            ready = pod_condition(pod, "Ready")
            times.append(None if ready is None else ready.last_transition_time)
        shown = [time for time in times if time]
        if not all(map(is_plain_time, shown)):
            return False
        latest = max(shown, default="")
        if latest > self._others_until or not self._others_until:
            self._newest[key] = latest
        return True

    def _shorten(self) -> None:
        if len(self._newest) <= 4 * _NEWEST:
            return
        kept = nlargest(_NEWEST, self._newest.items(), key=lambda each: each[1])
        self._others_until = kept[-1][1]
        self._newest = dict(kept)


class _Newest:
    """The latest times that pods show, on the way."""

    def __init__(self) -> None:
        self._heap: list[tuple[str, str]] = []

    def note(self, key: str, time: str, odd: set[str]) -> str:
        """Keep it, if it is one of the latest; returns the time that others have to be later than."""
        heap = self._heap
        if not is_plain_time(time):
            odd.add(time)
        elif len(heap) < _NEWEST:
            heappush(heap, (time, key))
        else:
            heappushpop(heap, (time, key))
        return heap[0][0] if len(heap) == _NEWEST else ""

    def by_key(self) -> dict[str, str]:
        """The latest of each pod."""
        return {key: time for time, key in sorted(self._heap)}


def _deleted_at(pod: Pod, end: str) -> str:
    """When the pod was deleted: its grace period before `end` (`BeforeDelete` in registry/rest/delete.go).

    A dump written by hand may lack the period: the pod's own is what a deletion takes that asks for no other.
    """
    grace = pod.metadata.deletion_grace_period_seconds
    if grace is None:
        grace = pod.spec.termination_grace_period_seconds
    return format_time((parse_time(end) - grace * SECOND) // SECOND)


def _in_order(pods: Mapping[str, Pod]) -> list[Pod]:
    return [pods[key] for key in sorted(pods, key=list_order)]


def survey_of(cluster: Cluster) -> Survey:
    """The survey of the cluster as it is now."""
    return cluster.derived(Survey, Pod, Node).settled(cluster)
