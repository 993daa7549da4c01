"""Which PodDisruptionBudgets select a pod, regardless of what they allow."""

from __future__ import annotations

from kwhatif.kube.matching.labels import Labels, Selector, SelectorError, compile_selector
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.policy import PodDisruptionBudget

#: The maximum number of cached results: more than the combinations of label values in a namespace; forks add more.
_MANY = 65_536

#: Budgets by `namespace/name`.
Names = tuple[str, ...]


class _NamespaceBudgets:
    """The budgets of one namespace. Pods with equal values of all labels that the selectors read share one result."""

    __slots__ = ("_by_pair", "known", "read", "selectors")

    def __init__(self) -> None:
        self.selectors: dict[str, Selector] = {}
        #: The place of a budget in the cluster's order, and its name, by the label that a pod must have to match; None:
        #: budgets that require no single label.
        self._by_pair: dict[tuple[str, str] | None, list[tuple[int, str]]] = {}
        #: The labels that the selectors read, and the results by their values.
        self.read: tuple[str, ...] = ()
        self.known: dict[tuple[str | None, ...], Names] = {}

    def add(self, name: str, selector: Selector) -> None:
        self._by_pair.setdefault(selector.pair, []).append((len(self.selectors), name))
        self.selectors[name] = selector
        self.read = tuple({*self.read, *selector.keys})

    def found(self, labels: Labels, values: tuple[str | None, ...]) -> Names:
        """The budgets that select the labels; the result is kept under their values."""
        if len(self.known) >= _MANY:
            self.known.clear()
        near = [each for pair in (None, *labels.items()) for each in self._by_pair.get(pair, ())]
        found = tuple(name for _, name in sorted(near) if self.selectors[name].matches(labels))
        self.known[values] = found
        return found


class BudgetIndex:
    """The budgets of a cluster by namespace. An empty selector selects every pod, a missing or invalid one none."""

    def __init__(self, cluster: Cluster) -> None:
        self._namespaces: dict[str, _NamespaceBudgets] = {}
        for name, budget in cluster.all(PodDisruptionBudget).items():
            try:
                selector = compile_selector(budget.spec.selector)
            except SelectorError:
                continue
            if not selector.nothing:
                self._namespaces.setdefault(budget.metadata.namespace, _NamespaceBudgets()).add(name, selector)

    def __bool__(self) -> bool:
        """Whether any budget can select a pod."""
        return bool(self._namespaces)

    def of(self, namespace: str, labels: Labels) -> Names:
        """The budgets that select a pod with these labels, in the cluster's order."""
        budgets = self._namespaces.get(namespace)
        if budgets is None:
            return ()
        read = budgets.read
        values = (labels.get(read[0]),) if len(read) == 1 else tuple(map(labels.get, read))
        known = budgets.known.get(values)
        return budgets.found(labels, values) if known is None else known

    def selector(self, name: str) -> Selector | None:
        """The selector of the budget; None if it is missing or invalid."""
        budgets = self._namespaces.get(name.partition("/")[0])
        return None if budgets is None else budgets.selectors.get(name)

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> BudgetIndex | None:
        """See `Index`: itself if the selectors have not changed."""
        if not isinstance(before, PodDisruptionBudget) or not isinstance(after, PodDisruptionBudget):
            return None
        return self if before.spec.selector == after.spec.selector else None


def budget_index(cluster: Cluster) -> BudgetIndex:
    """The index of the cluster's budgets."""
    return cluster.derived(BudgetIndex, PodDisruptionBudget)
