"""Disruption budgets: which budgets select which pods, and which evictions break a budget.

Follows `filterPodsWithPDBViolation` in `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from kwhatif.kube.matching.labels import Labels, Selector, SelectorError, compile_selector
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of, next_generation
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.state.pod_info import PodInfo

#: The maximum number of cached results: more than the combinations of label values in a namespace; forks add more.
_MANY = 65_536

#: Budgets by `namespace/name`.
Names = tuple[str, ...]
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


class _Budget(msgspec.Struct, frozen=True, gc=False):
    """The part of a budget that does not change when pods are evicted."""

    name: str
    selector: Selector
    #: Names of pods whose disruption the controller has already counted (`status.disruptedPods`).
    disrupted: frozenset[str]


class _NamespaceBudgets:
    """The budgets of one namespace. Pods with equal values of all labels that selectors read share one result."""

    def __init__(self, generation: int) -> None:
        self._generation = generation
        self._budgets: list[_Budget] = []
        self.selectors: dict[str, Selector] = {}
        #: Indexes in `_budgets` by a label that a pod must have to match; None: no single label is required.
        self._indexes: dict[tuple[str, str] | None, list[int]] = {}
        self._keys: tuple[str, ...] = ()
        self._disrupted: frozenset[str] = frozenset()
        #: Includes the generation, so that all pods with these values share one object.
        self._by_values: dict[tuple[str | None, ...], _Known] = {}

    def add(self, budget: _Budget) -> None:
        self._indexes.setdefault(budget.selector.pair, []).append(len(self._budgets))
        self._budgets.append(budget)
        self.selectors[budget.name] = budget.selector
        self._keys = tuple({*self._keys, *budget.selector.keys})
        self._disrupted |= budget.disrupted

    def of(self, pod: PodInfo) -> _Known:
        labels, keys = pod.labels, self._keys
        values = (labels.get(keys[0]),) if len(keys) == 1 else tuple(map(labels.get, keys))
        known = self._by_values.get(values)
        if known is None:
            if len(self._by_values) >= _MANY:
                self._by_values.clear()
            names = tuple(budget.name for budget in self._matching(labels))
            known = self._by_values[values] = self._generation, names
        if self._disrupted and pod.name in self._disrupted:
            done = {budget.name for budget in self._budgets if pod.name in budget.disrupted}
            return self._generation, tuple(name for name in known[1] if name not in done)
        return known

    def _matching(self, labels: Labels) -> Iterator[_Budget]:
        """The budgets whose selectors match, in the cluster's order."""
        places = [place for pair in (None, *labels.items()) for place in self._indexes.get(pair, ())]
        return (budget for budget in map(self._budgets.__getitem__, sorted(places)) if budget.selector.matches(labels))


class _BudgetIndex:
    """Which pods the budgets of a cluster select, regardless of what they allow."""

    def __init__(self, cluster: Cluster) -> None:
        self.generation = next_generation()
        self.namespaces: dict[str, _NamespaceBudgets] = {}
        for pdb in cluster.all(PodDisruptionBudget).values():
            selector = _selector(pdb)
            if selector is not None:
                budget = _Budget(key_of(pdb), selector, frozenset(_disrupted(pdb)))
                self.namespaces.setdefault(pdb.metadata.namespace, _NamespaceBudgets(self.generation)).add(budget)

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> _BudgetIndex | None:
        """This object, if only the allowed disruptions have changed; otherwise None."""
        if not isinstance(before, PodDisruptionBudget) or not isinstance(after, PodDisruptionBudget):
            return None
        return self if before.spec == after.spec and _disrupted(before).keys() == _disrupted(after).keys() else None


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
        index = cluster.derived(_BudgetIndex, PodDisruptionBudget)
        self._namespaces = index.namespaces
        #: A generation that changes if the budgets select other pods.
        self.scope = index.generation
        self._none: _Known = self.scope, ()
        #: A generation that also changes if a budget allows more or fewer disruptions.
        self.generation = cluster.generation(PodDisruptionBudget)
        #: The disruptions that each budget allows, by `namespace/name`.
        self.allowed = cluster.derived(_Allowances.of, PodDisruptionBudget).by_name

    def selector(self, name: str) -> Selector | None:
        """The selector of the budget; None if it matches nothing."""
        namespace = self._namespaces.get(name.partition("/")[0])
        return namespace.selectors.get(name) if namespace else None

    def of(self, pod: PodInfo) -> Names:
        """The budgets that select the pod; a pod without labels matches none."""
        known = pod.budgets
        if known is None or known[0] != self.scope:
            namespace = self._namespaces.get(pod.namespace) if pod.labels else None
            known = pod.budgets = namespace.of(pod) if namespace is not None else self._none
        return known[1]

    def split(self, pods: Sequence[PodInfo]) -> Split:
        """Evict the pods in order, and find the evictions that break a budget.

        QUIRK: (default_preemption.go) every matching budget is charged, even if another one is already broken, and
        even for pods that will be put back later.
        """
        if not self._namespaces:
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


def _selector(pdb: PodDisruptionBudget) -> Selector | None:
    """The budget's selector; None if it is invalid, missing or empty: for the scheduler these match nothing."""
    try:
        selector = compile_selector(pdb.spec.selector)
    except SelectorError:
        return None
    return None if selector.empty or selector.nothing else selector
