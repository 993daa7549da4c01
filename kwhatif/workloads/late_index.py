"""`LateIndex`: an index of a cluster that takes in what has changed once it is asked again, and not at every change."""

from __future__ import annotations

from typing import Self

from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.scheduler.framework.reference import is_reference

#: After so many changes it is cheaper to look at everything again; and each of them keeps its objects in memory.
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
