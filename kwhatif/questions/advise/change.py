"""`AdvisedChange`: one change that may help a pod, in its manifest or in the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kwhatif.edits.edit import Edit
from kwhatif.questions.session.session import Session
from kwhatif.report.advise import AdviceBy, AdviceKind, Advised

#: The spec of a pod as plain data, in the API's names.
Spec = dict[str, Any]
#: Applies a change, in place.
Revise = Callable[[Spec], None]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
#: The weight of a rule that becomes preferred instead of required: the maximum.
WEIGHT = 100

#: The rough cost of each kind of change: how likely it is to do harm. The lowest comes first.
COSTS: dict[AdviceKind, int] = {
    "wait": 10,
    "job-done": 30,
    "node-ready": 20,
    "claim-bound": 20,
    "other-name": 20,
    "claim-class": 25,
    "drop-gates": 25,
    "widen-skew": 25,
    "tolerate": 30,
    "request-less": 30,
    "min-count": 35,
    "drop-topology": 40,
    "soften-spread": 35,
    "soften-pod-affinity": 35,
    "soften-anti-affinity": 35,
    "change-selector": 35,
    "widen-node-affinity": 35,
    "soften-node-affinity": 40,
    "drop-selector": 40,
    "drop-node-name": 40,
    "scheduler-name": 40,
    "uncordon": 40,
    "change-host-port": 45,
    "drop-host-port": 50,
    "move-pod": 50,
    "label-node": 50,
    "raise-quota": 50,
    "bind-claim": 50,
    "create-claim": 50,
    "create-namespace": 50,
    "scale-down": 55,
    "untaint": 60,
    "preemption-policy": 65,
    "delete-pod": 65,
    "priority-class": 70,
    "raise-group": 45,
    "raise-limit": 45,
    "label-group": 55,
    "add-nodes": 90,
}


_WAITING: frozenset[AdviceKind] = frozenset({"wait", "job-done", "node-ready", "claim-bound"})


class Amount(NamedTuple):
    """The amount of a change: it is increased until the change helps, and then reduced while it still helps."""

    value: int
    #: The maximum.
    most: int
    #: The smallest step.
    step: int
    #: The same change with another amount.
    at: Callable[[int], AdvisedChange]


class AdvisedChange(Advised, kw_only=True, eq=False):
    """One change. Either `revise` changes the spec of the pod, or `edits` the cluster."""

    cost: int
    revise: Revise | None = None
    edits: tuple[Edit, ...] = ()
    #: The edits as YAML data, if they have no form on one line.
    data: tuple[dict[str, Any], ...] = ()
    #: The change of what an autoscaler knows: its groups, or pools.
    scale: Callable[[Session], Session] | None = None
    amount: Amount | None = None
    #: The same change without one of its parts each, if it has several.
    less: Callable[[], Iterator[AdvisedChange]] | None = None

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """Changes with the same key do the same."""
        return self.kind, self.target, self.about, self.before, self.after


def in_spec(kind: AdviceKind, revise: Revise, *, extra: int = 0, **fields: Any) -> AdvisedChange:
    """A change of the manifest.

    Args:
        kind: of the change.
        revise: makes it.
        extra: what it costs more than others of its kind.
        fields: what else is known of it.
    """
    return AdvisedChange(kind=kind, by="manifest", cost=COSTS[kind] + extra, revise=revise, **fields)


def in_cluster(
    kind: AdviceKind, target: str, *edits: Edit, extra: int = 0, by_manifest: bool = False, **fields: Any
) -> AdvisedChange:
    """A change of the cluster, or an event to wait for: then the edits make the state after it.

    Args:
        kind: of the change.
        target: the object to change.
        edits: the change.
        extra: what it costs more than others of its kind.
        by_manifest: the object is another one of the manifests.
        fields: what else is known of it.
    """
    by: AdviceBy = "manifest" if by_manifest else "waiting" if kind in _WAITING else "cluster"
    return AdvisedChange(kind=kind, by=by, target=target, cost=COSTS[kind] + extra, edits=edits, **fields)


def prune(spec: Spec, kind: str) -> None:
    """Remove empty affinities."""
    if not spec["affinity"][kind]:
        del spec["affinity"][kind]
    if not spec["affinity"]:
        del spec["affinity"]


class Advice(NamedTuple):
    """Changes that help together."""

    changes: tuple[AdvisedChange, ...]
    #: The node that they were made for.
    node: str = ""
    #: The extra cost of that node.
    extra: int = 0

    @property
    def cost(self) -> int:
        """The lower, the better; two changes cost more than both alone."""
        return sum(change.cost for change in self.changes) + 20 * (len(self.changes) - 1) + self.extra

    @property
    def sort(self) -> tuple[str, ...]:
        """Advice of one sort differs only in its subject: the cheapest of a sort is enough."""
        several = [change.kind == "delete-pod" and change.count > 1 for change in self.changes]
        kinds = (
            f"{change.kind} {change.about}{'several' * many}"
            for change, many in zip(self.changes, several, strict=True)
        )
        return tuple(sorted(kinds))
