"""What another release decides differently: what the command `upgrade` adds to a report."""

from __future__ import annotations

from typing import Literal

from kwhatif.kube.model.meta import Row
from kwhatif.report.decision import Outcome

UpgradeDifference = Literal["flipped", "victims", "moved"]


class LandingRow(Row):
    """The result of a pod: every node that is equally good for it, and the pods that it evicts on the first of them."""

    outcome: Outcome
    nodes: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()


class UpgradeRuleRow(Row):
    """A rule of the scheduler that is different in the two releases."""

    name: str
    #: "" for a gate, which may affect several.
    plugin: str
    #: The first release that has it.
    since: str
    #: The feature gate that is on by default since then; "": it is not behind a gate.
    gate: str = ""
    text: str = ""


class UpgradedRow(Row):
    """A pending pod, or a restarted workload, for which the other release decides differently.

    `flipped`: it has another outcome; `victims`: it evicts other pods; `moved`: other nodes are the best for it.
    """

    workload: str
    #: The first pod with a different decision.
    pod: str
    difference: UpgradeDifference
    before: LandingRow
    after: LandingRow
    #: The plugins with different scores or verdicts.
    plugins: tuple[str, ...] = ()
    #: Names of `UpgradeRow.rules` of these plugins.
    rules: tuple[str, ...] = ()


class UpgradeRow(Row):
    """What the scheduler of another release decides differently."""

    #: The release of the cluster, and the other one.
    before: str
    after: str
    pending: tuple[UpgradedRow, ...] = ()
    pending_judged: int = 0
    workloads: tuple[UpgradedRow, ...] = ()
    workloads_judged: int = 0
    rules: tuple[UpgradeRuleRow, ...] = ()

    @property
    def worse(self) -> tuple[UpgradedRow, ...]:
        """Pods that lose their node, or evict pods that they did not evict before."""
        return tuple(filter(_is_worse, (*self.pending, *self.workloads)))


def _is_worse(row: UpgradedRow) -> bool:
    if row.after.outcome == "Preempts":
        return row.before.outcome == "Placed" or not set(row.after.victims) <= set(row.before.victims)
    return row.after.outcome != "Placed" and row.before.outcome in ("Placed", "Preempts")
