"""What two releases decide differently about a pod, and by which rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from kwhatif.report.decision import Decision
from kwhatif.report.upgrade import LandingRow, UpgradeDifference, UpgradedRow, UpgradeRuleRow
from kwhatif.scheduler.release.changes import ReleaseChange

#: Whose verdicts and scores a gate changes; of those that begin with DRA it is DynamicResources.
_GATE_PLUGINS = {
    "DRAExtendedResource": ("DynamicResources", "NodeResourcesFit"),
    "DynamicResourceAllocation": ("DynamicResources", "NodeResourcesFit"),
    "InPlacePodLevelResourcesVerticalScaling": ("NodeResourcesFit", "NodeResourcesBalancedAllocation"),
    "NodeDeclaredFeatures": ("NodeDeclaredFeatures",),
    "PodLevelResources": ("NodeResourcesFit", "NodeResourcesBalancedAllocation"),
    "StorageCapacityScoring": ("VolumeBinding",),
    "PodLevelResourcesFixDefaulting": ("NodeResourcesFit", "NodeResourcesBalancedAllocation"),
    "VolumeAttributesClass": ("VolumeBinding",),
    "VolumeLimitScaling": ("NodeVolumeLimits",),
}


#: Finds the changes that decide, where verdicts or scores of these plugins differ.
FindRules = Callable[[Sequence[str]], Iterable[ReleaseChange]]


def difference(workload: str, before: Decision, after: Decision, find_rules: FindRules) -> Iterator[UpgradedRow]:
    """What differs for a pod after the upgrade, and because of which rules; empty if nothing does."""
    was, now = landing_of(before), landing_of(after)
    if was == now:
        return
    plugins = tuple(sorted(set(_plugins_that_differ(before, after))))
    yield UpgradedRow(
        workload=workload,
        pod=after.pod,
        difference=_kind(was, now),
        before=was,
        after=now,
        plugins=plugins,
        rules=tuple(dict.fromkeys(rule_row(change).name for change in find_rules(plugins))),
    )


def landing_of(decision: Decision) -> LandingRow:
    """Where the pod lands."""
    victims = tuple(victim.pod for victim in decision.victims)
    return LandingRow(outcome=decision.outcome, nodes=decision.ties, victims=victims)


def _kind(was: LandingRow, now: LandingRow) -> UpgradeDifference:
    if was.outcome != now.outcome:
        return "flipped"
    return "moved" if was.victims == now.victims else "victims"


def _plugins_that_differ(before: Decision, after: Decision) -> Iterator[str]:
    """The plugins whose scores or verdicts differ."""
    for gate in (before.pre_enqueue, after.pre_enqueue):
        if gate is not None and before.pre_enqueue != after.pre_enqueue:
            yield gate.plugin
    verdicts = [{row.node: row.plugin for row in each.rejected} for each in (before, after)]
    for node in verdicts[0].keys() | verdicts[1].keys():
        found = {each[node] for each in verdicts if node in each}
        if len(found) > 1 or not (node in verdicts[0] and node in verdicts[1]):
            yield from found
    scores = [{row.node: row.scores for row in each.feasible} for each in (before, after)]
    for node in scores[0].keys() & scores[1].keys():
        was, now = scores[0][node], scores[1][node]
        yield from (plugin for plugin in was.keys() | now.keys() if was.get(plugin, 0) != now.get(plugin, 0))


def is_of(change: ReleaseChange, plugins: Sequence[str]) -> bool:
    """Whether the change itself affects verdicts or scores of these plugins, and not only its consequences."""
    of = (change.plugin,) if change.plugin else _GATE_PLUGINS.get(change.what, ("DynamicResources",))
    return not set(of).isdisjoint(plugins)


def rule_row(change: ReleaseChange) -> UpgradeRuleRow:
    """A change of a rule between two releases."""
    since = f"1.{change.since}"
    if not change.plugin:
        return UpgradeRuleRow(name=f"{change.what} ({since})", plugin="", since=since, gate=change.what)
    return UpgradeRuleRow(name=f"{change.plugin} ({since})", plugin=change.plugin, since=since, text=change.what)
