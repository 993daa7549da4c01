"""Counts of workloads and budgets: where their pods are, how many are ready, and the minimum at any moment."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from itertools import chain

import msgspec

from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_ready, is_terminal
from kwhatif.kube.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from kwhatif.kube.model.workload import ReplicaSet
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.view import root_of
from kwhatif.workloads.survey import survey_of


class Standing(msgspec.Struct):
    """The counts of one workload. Only `terminating` has pods that are terminating; finished ones do not count."""

    #: The tally that may change it in place; others, such as forks, make a copy first.
    owner: object = None
    #: The number of pods by node.
    nodes: dict[str, int] = {}
    pending: int = 0
    ready: int = 0
    #: The fewest ready pods at any moment.
    ready_lowest: int = 0
    terminating: int = 0

    @property
    def pods(self) -> int:
        """The number of pods, including pending ones."""
        return sum(self.nodes.values()) + self.pending

    def copy(self, owner: object) -> Standing:
        """An independent copy, which the tally `owner` may change."""
        return Standing(owner, self.nodes.copy(), self.pending, self.ready, self.ready_lowest, self.terminating)


class BudgetStanding(msgspec.Struct, frozen=True):
    """The counts of one budget, in pods."""

    #: How many disruptions it allows now, and at the worst moment.
    allowed: int
    lowest: int
    #: How many more healthy pods than at the start it lacked at the worst moment. Pods that
    #: have not been healthy yet, such as those of a new workload, do not count.
    overrun: int
    #: How many healthy pods it lacked at the start.
    short: int
    #: The most healthy pods at any moment.
    most_healthy: int
    #: (Second, how many it allowed from then on), of each moment since the start at which that was another number.
    steps: tuple[tuple[float, int], ...] = ()


class WorkloadTally:
    """The counts, updated with every change; `look` is called at the end of a moment."""

    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server
        self._mark = object()
        self._roots: dict[tuple[str, str, str, str], str] = {}
        self.workloads: dict[str, Standing] = {}
        self.budgets: dict[str, BudgetStanding] = {}
        self._touched: set[str] = set()
        self._count_all()
        for standing in self.workloads.values():
            standing.ready_lowest = standing.ready
        self.before: Mapping[str, Standing] = self.workloads.copy()
        self._mark = object()
        self._touched.clear()
        for budget in api_server.state.cluster.all(PodDisruptionBudget).values():
            self._note(budget)
        self.nodes_before: Mapping[str, Node] = dict(api_server.state.cluster.all(Node))
        self.budgets_before = {key: each.allowed for key, each in self.budgets.items()}
        api_server.watchers.append(self._observe)

    def fork(self, api_server: ApiServer) -> WorkloadTally:
        """An independent copy that watches a fork of the simulation."""
        other = copy(self)
        self._mark, other._mark = object(), object()
        other._api_server, other._roots, other._touched = api_server, self._roots.copy(), self._touched.copy()
        other.workloads, other.budgets = self.workloads.copy(), self.budgets.copy()
        api_server.watchers.append(other._observe)
        return other

    def _observe(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        del event
        if isinstance(before, Pod):
            self._count(before, -1)
        if isinstance(after, Pod):
            self._count(after, 1)
        if isinstance(after, PodDisruptionBudget):
            self._note(after)
        if isinstance(before, ReplicaSet) and isinstance(after, ReplicaSet):
            self._hand_over(before, after)

    def _hand_over(self, before: ReplicaSet, after: ReplicaSet) -> None:
        """If the owner of the ReplicaSet changed, its pods now belong to another workload."""
        if controller_of(before.metadata) == controller_of(after.metadata):
            return
        pods = self._api_server.pods_of(after)
        for pod in pods:
            self._count(pod, -1)
        meta = after.metadata
        self._roots = {
            owner: root
            for owner, root in self._roots.items()
            if owner[:3] != (type(after).__name__, meta.namespace, meta.name)
        }
        for pod in pods:
            self._count(pod, 1)

    def _note(self, budget: PodDisruptionBudget) -> None:
        key, status = key_of(budget), budget.status or PodDisruptionBudgetStatus()
        allowed, healthy = status.disruptions_allowed, status.current_healthy
        short = max(status.desired_healthy - healthy, 0)
        before = self.budgets.get(key) or BudgetStanding(allowed, allowed, 0, short, healthy)
        most_healthy = max(before.most_healthy, healthy)
        overrun = max(before.overrun, min(short - before.short, most_healthy - healthy))
        steps = before.steps if allowed == before.allowed else (*before.steps, (self._api_server.now, allowed))
        self.budgets[key] = BudgetStanding(
            allowed, min(before.lowest, allowed), overrun, before.short, most_healthy, steps
        )

    def root(self, pod: Pod) -> str:
        """The workload of the pod; for a bare pod the pod itself."""
        meta = pod.metadata
        owner = controller_of(meta)
        if owner is None:
            return f"Pod {key_of(pod)}"
        controller = owner.kind, meta.namespace, owner.name, owner.uid
        found = self._roots.get(controller)
        if found is None:
            found = self._roots[controller] = root_of(pod, self._api_server.state.cluster) or ""
        return found

    def _count_all(self) -> None:
        """The same as `_count`, for all pods at the start."""
        cluster = self._api_server.state.cluster
        survey = survey_of(cluster)
        for pod in chain(survey.restless, survey.bare):
            self._count(pod, 1)
        pods = cluster.all(Pod)
        for each in survey.controlled.values():
            if not each.nodes:
                continue
            name = self.root(pods[next(iter(each.keys))])
            if name not in self.workloads:
                self.workloads[name] = Standing(None, each.nodes, ready=each.ready)
                continue
            standing = self._own(name)
            standing.ready += each.ready
            for node, count in each.nodes.items():
                standing.nodes[node] = standing.nodes.get(node, 0) + count

    def _count(self, pod: Pod, amount: int) -> None:
        if is_terminal(pod):
            return
        name = self.root(pod)
        self._touched.add(name)
        standing = self._own(name)
        if pod.metadata.deletion_timestamp is not None:
            standing.terminating += amount
            return
        if node := pod.spec.node_name:
            standing.nodes[node] = standing.nodes.get(node, 0) + amount
        else:
            standing.pending += amount
        if is_ready(pod):
            standing.ready += amount

    def _own(self, name: str) -> Standing:
        """The standing of the workload, which may be changed."""
        standing = self.workloads.get(name)
        if standing is None:
            standing = self.workloads[name] = Standing(self._mark)
        elif standing.owner is not self._mark:
            standing = self.workloads[name] = standing.copy(self._mark)
        return standing

    def look(self) -> None:
        """End of a moment: update the minimum of ready pods."""
        for name in self._touched:
            standing = self.workloads[name]
            if standing.ready < standing.ready_lowest:
                self._own(name).ready_lowest = standing.ready
        self._touched.clear()
