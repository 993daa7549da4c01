"""`Survey`: facts about all pods at the start of a simulation, collected in one pass.

A hundred thousand pods are spread over memory: to visit each again for every question would cost several times that.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import PLAIN_TIME
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.workloads.owners import ControllerKey


class Controlled:
    """The pods that name the same controller; of a namespace, those that name none."""

    __slots__ = ("keys", "nodes", "ready", "restless")

    def __init__(self) -> None:
        #: The keys of all of them, each with the UID that it names.
        self.keys: dict[str, str] = {}
        #: Whether any of them is restless.
        self.restless = False
        #: How many of those that are not restless are on which node, and how many of them are ready; not of bare pods.
        self.nodes: dict[str, int] = {}
        self.ready = 0


class Survey:
    """What was found out of the pods of a cluster. Many read it: to change something of it, make a copy."""

    def __init__(self, cluster: Cluster) -> None:
        self.controlled: dict[ControllerKey, Controlled] = {}
        #: All pods except those that run on an existing node, and do so until something acts on them.
        self.restless: list[Pod] = []
        #: The others that name no controller.
        self.bare: list[Pod] = []
        #: The latest time that a pod shows, of those written as the API server does it; and all written otherwise.
        self.latest = ""
        self.odd_times: set[str] = set()
        self._look_at(cluster.all(Pod), dict.fromkeys(cluster.all(Node)))

    def _look_at(self, pods: Mapping[str, Pod], nodes: Mapping[str, None]) -> None:  # noqa: C901 - calls cost too much
        controlled, restless, bare = self.controlled, self.restless, self.bare
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
                    latest = self._later(latest, time)
            if (
                status.phase != "Running"
                or meta.deletion_timestamp is not None
                or node not in nodes
                or meta.annotations.run_seconds
            ):
                restless.append(pod)
                group.restless = True
                continue
            if not place[1]:
                bare.append(pod)
                continue
            group.nodes[node] = group.nodes.get(node, 0) + 1
            for condition in status.conditions:
                if condition.type == "Ready":
                    group.ready += condition.status == "True"
                    since = condition.last_transition_time
                    if since and (since > latest or len(since) != PLAIN_TIME):
                        latest = self._later(latest, since)
                    break
        self.latest = latest

    def _later(self, latest: str, time: str) -> str:
        if len(time) == PLAIN_TIME and time[-1] == "Z":
            return time
        self.odd_times.add(time)
        return latest


def survey_of(cluster: Cluster) -> Survey:
    """The survey of the cluster as it is now."""
    return cluster.derived(Survey, Pod, Node)
