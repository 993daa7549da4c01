"""Disruption budgets: which budgets select which pods, and which evictions break a budget.

Follows `filterPodsWithPDBViolation` in `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from kwhatif.kube.matching.budgets import Names, budget_index
from kwhatif.kube.matching.labels import Selector
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of, next_generation
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.state.pod_info import PodInfo

#: The budgets that select a pod, and the generation of the budgets for which this is valid.
_Known = tuple[int, Names]


class BudgetUse(msgspec.Struct, frozen=True, gc=False):
    """The disruptions that a budget allows before and after an eviction; below zero it is broken."""

    name: str
    before: int
    after: int


class Split(msgspec.Struct, frozen=True, gc=False):
    """Pods whose eviction would break a budget, and the others; both in the given order."""

    violating: Sequence[PodInfo]
    others: Sequence[PodInfo]
    #: The budgets that select each pod; pods without budgets are absent.
    counting: Mapping[PodInfo, Names]
    #: The budgets that each violating pod breaks.
    broken: Mapping[PodInfo, Names]
    #: The allowed disruptions of the budgets in `counting`, by name.
    allowed: Mapping[str, int]

    def uses(self, pods: Iterable[PodInfo]) -> tuple[BudgetUse, ...]:
        """The budgets that select these pods, before and after their eviction; sorted by name."""
        counts: dict[str, int] = {}
        for pod in pods:
            for name in self.counting.get(pod, ()):
                counts[name] = counts.get(name, 0) + 1
        allowed = self.allowed
        return tuple([BudgetUse(name, allowed[name], allowed[name] - counts[name]) for name in sorted(counts)])


class _Selection:
    """The budgets that count for pods: not those with an empty selector, which matches nothing for the scheduler."""

    def __init__(self, cluster: Cluster) -> None:
        self.generation = next_generation()
        self.index = budget_index(cluster)
        #: The budgets that have already counted a pod's disruption (`status.disruptedPods`), by the pod's key.
        self._disrupted: dict[str, set[str]] = {}
        for name, pdb in cluster.all(PodDisruptionBudget).items():
            for pod in _disrupted(pdb):
                self._disrupted.setdefault(f"{pdb.metadata.namespace}/{pod}", set()).add(name)
        #: By the budgets that select a pod; includes the generation, so that all these pods share one object.
        self._known: dict[Names, _Known] = {}

    def of(self, pod: PodInfo) -> _Known:
        """The budgets that count for the pod; a pod without labels matches none."""
        names = self.index.of(pod.namespace, pod.labels) if pod.labels else ()
        known = self._known.get(names)
        if known is None:
            counting = tuple(name for name in names if self.selector(name) is not None)
            known = self._known[names] = self.generation, counting
        if self._disrupted and (done := self._disrupted.get(pod.key)):
            return self.generation, tuple(name for name in known[1] if name not in done)
        return known

    def selector(self, name: str) -> Selector | None:
        """The selector of the budget; None if it matches nothing."""
        selector = self.index.selector(name)
        return None if selector is None or selector.empty else selector

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> _Selection | None:
        """This object, if the selectors and the disrupted pods have not changed; otherwise None."""
        if not isinstance(before, PodDisruptionBudget) or not isinstance(after, PodDisruptionBudget):
            return None
        is_same = (
            self.index.updated(before, after) is not None and _disrupted(before).keys() == _disrupted(after).keys()
        )
        return self if is_same else None


class _Allowances:
    """The disruptions that each budget allows; a budget without a status allows none."""

    def __init__(self, by_name: Mapping[str, int]) -> None:
        self.by_name = by_name

    @classmethod
    def of(cls, cluster: Cluster) -> _Allowances:
        """The allowed disruptions of the budgets of the cluster."""
        return cls({name: _allowed(pdb) for name, pdb in cluster.all(PodDisruptionBudget).items()})

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> _Allowances | None:
        """A copy with the changed budget."""
        if not isinstance(before, PodDisruptionBudget) or not isinstance(after, PodDisruptionBudget):
            return None
        return _Allowances({**self.by_name, key_of(after): _allowed(after)})


def _allowed(pdb: PodDisruptionBudget) -> int:
    return pdb.status.disruptions_allowed if pdb.status else 0


def _disrupted(pdb: PodDisruptionBudget) -> Mapping[str, object]:
    return pdb.status.disrupted_pods if pdb.status else {}


class Budgets:
    """All budgets of a cluster, prepared for looking up pods."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._selection = cluster.derived(_Selection, PodDisruptionBudget)
        #: A generation that changes if the budgets select other pods.
        self.scope = self._selection.generation
        #: A generation that also changes if a budget allows more or fewer disruptions.
        self.generation = cluster.generation(PodDisruptionBudget)
        #: The disruptions that each budget allows, by `namespace/name`.
        self.allowed = cluster.derived(_Allowances.of, PodDisruptionBudget).by_name

    def selector(self, name: str) -> Selector | None:
        """The selector of the budget; None if it matches nothing."""
        return self._selection.selector(name)

    def of(self, pod: PodInfo) -> Names:
        """The budgets that select the pod; a pod without labels matches none."""
        known = pod.budgets
        if known is None or known[0] != self.scope:
            known = pod.budgets = self._selection.of(pod)
        return known[1]

    def split(self, pods: Sequence[PodInfo]) -> Split:
        """Evict the pods in order, and find the evictions that break a budget.

        QUIRK: (default_preemption.go) every matching budget is charged, even if another one is already broken, and
        even for pods that will be put back later.
        """
        if not self._selection.index:
            return Split((), pods, {}, {}, {})
        scope = self.scope
        allows = self.allowed
        allowed: dict[str, int] = {}
        used: dict[str, int] = {}
        others: list[PodInfo] = []
        counting: dict[PodInfo, Names] = {}
        broken: dict[PodInfo, Names] = {}
        for pod in pods:
            known = pod.budgets
            names = known[1] if known is not None and known[0] == scope else self.of(pod)
            if names:
                counting[pod] = names
                over: Names = ()
                for name in names:
                    if name not in allowed:
                        allowed[name], used[name] = allows[name], 0
                    used[name] += 1
                    if used[name] > allowed[name]:
                        over += (name,)
                if over:
                    broken[pod] = over
                    continue
            others.append(pod)
        return Split(tuple(broken), others, counting, broken, allowed)

    def spent_by(self, disruptions: Iterable[Names]) -> Iterator[PodDisruptionBudget]:
        """The budgets that allow fewer disruptions after `disruptions`, as the controller writes them."""
        spent: dict[str, int] = {}
        for names in disruptions:
            for name in names:
                allowed = spent.get(name, self.allowed[name])
                if allowed > 0:
                    spent[name] = allowed - 1
        for name, allowed in spent.items():
            pdb = self._cluster.all(PodDisruptionBudget)[name]
            assert pdb.status is not None, "a budget without a status allows nothing"
            status = msgspec.structs.replace(pdb.status, disruptions_allowed=allowed)
            yield msgspec.structs.replace(pdb, status=status)
