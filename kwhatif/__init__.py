"""kwhatif: what would kube-scheduler do if I applied this?

```python
import kwhatif

cluster = kwhatif.load("cluster.yaml")
report = kwhatif.schedule(cluster, "pod.yaml")
for decision in report.decisions:
    print(decision.pod, decision.outcome, decision.node)
```

Names are imported when they are first used, so that `kwhatif --help` does not pay for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from kwhatif._version import __version__

if TYPE_CHECKING:
    from kwhatif.api import (
        SchedulerOptions,
        Source,
        advise,
        compare,
        deschedule,
        edited,
        find_policy,
        gate,
        load,
        load_live,
        pending,
        preempt,
        schedule,
        text,
    )
    from kwhatif.errors import ClusterUnreadable, ExitCode, InputError, KwhatifError, PluginFailed, Problem
    from kwhatif.maintenance import drain, outage, upgrade
    from kwhatif.report import (
        AdviceRow,
        AdvisedChangeRow,
        AdvisedRow,
        AdviseRow,
        BudgetRow,
        CandidateRow,
        ChangeRow,
        Decision,
        DescheduleRow,
        EditRow,
        EvictedRow,
        EvictionRefusedRow,
        FeasibleRow,
        FindingRow,
        LandingRow,
        LeftRow,
        MissRow,
        NearNameRow,
        NearRow,
        NodeClassRow,
        NodeUseRow,
        ObjectionRow,
        ObstacleRow,
        Outcome,
        PatchRow,
        PolicyRow,
        PreemptionRow,
        PreEnqueueRow,
        ProblemRow,
        QueuedPodRow,
        QueuedRow,
        QueueRow,
        RejectedRow,
        ReplacementRow,
        Report,
        ReprieveRow,
        RolloutRow,
        RoundRow,
        SchedulerInfo,
        SnapshotInfo,
        SourceRow,
        SparedRow,
        StrategyRow,
        TooLargeRow,
        TouchedRow,
        UnknownNameRow,
        UpgradedRow,
        UpgradeRow,
        UpgradeRuleRow,
        VictimRow,
        WakeUpRow,
        WorkloadRow,
    )
    from kwhatif.sharing import describe, save_snapshot
    from kwhatif.sizing import capacity
    from kwhatif.stories import simulate
    from kwhatif.whatif.compare import Comparison, DifferenceRow, EndDifferenceRow, FateRow, PodDifferenceRow
    from kwhatif.whatif.inventory import Inventory
    from kwhatif.whatif.session import Session

__all__ = [
    "AdviceRow",
    "AdviseRow",
    "AdvisedChangeRow",
    "AdvisedRow",
    "BudgetRow",
    "CandidateRow",
    "ChangeRow",
    "ClusterUnreadable",
    "Comparison",
    "Decision",
    "DescheduleRow",
    "DifferenceRow",
    "EditRow",
    "EndDifferenceRow",
    "EvictedRow",
    "EvictionRefusedRow",
    "ExitCode",
    "FateRow",
    "FeasibleRow",
    "FindingRow",
    "InputError",
    "Inventory",
    "KwhatifError",
    "LandingRow",
    "LeftRow",
    "MissRow",
    "NearNameRow",
    "NearRow",
    "NodeClassRow",
    "NodeUseRow",
    "ObjectionRow",
    "ObstacleRow",
    "Outcome",
    "PatchRow",
    "PluginFailed",
    "PodDifferenceRow",
    "PolicyRow",
    "PreEnqueueRow",
    "PreemptionRow",
    "Problem",
    "ProblemRow",
    "QueueRow",
    "QueuedPodRow",
    "QueuedRow",
    "RejectedRow",
    "ReplacementRow",
    "Report",
    "ReprieveRow",
    "RolloutRow",
    "RoundRow",
    "SchedulerInfo",
    "SchedulerOptions",
    "Session",
    "SnapshotInfo",
    "Source",
    "SourceRow",
    "SparedRow",
    "StrategyRow",
    "TooLargeRow",
    "TouchedRow",
    "UnknownNameRow",
    "UpgradeRow",
    "UpgradeRuleRow",
    "UpgradedRow",
    "VictimRow",
    "WakeUpRow",
    "WorkloadRow",
    "__version__",
    "advise",
    "capacity",
    "compare",
    "deschedule",
    "describe",
    "drain",
    "edited",
    "find_policy",
    "gate",
    "load",
    "load_live",
    "outage",
    "pending",
    "preempt",
    "save_snapshot",
    "schedule",
    "simulate",
    "text",
    "upgrade",
]

#: Where names live that are not in `kwhatif.api`.
_HOMES = {
    "kwhatif.errors": ("ClusterUnreadable", "ExitCode", "InputError", "KwhatifError", "PluginFailed", "Problem"),
    "kwhatif.maintenance": ("drain", "outage", "upgrade"),
    "kwhatif.report": (
        "AdviceRow",
        "AdviseRow",
        "AdvisedChangeRow",
        "AdvisedRow",
        "LeftRow",
        "PatchRow",
        "BudgetRow",
        "CandidateRow",
        "ChangeRow",
        "Decision",
        "DescheduleRow",
        "EditRow",
        "EvictedRow",
        "EvictionRefusedRow",
        "FeasibleRow",
        "FindingRow",
        "LandingRow",
        "MissRow",
        "NearNameRow",
        "NearRow",
        "NodeClassRow",
        "NodeUseRow",
        "ObjectionRow",
        "ObstacleRow",
        "Outcome",
        "PolicyRow",
        "PreEnqueueRow",
        "PreemptionRow",
        "ProblemRow",
        "QueueRow",
        "QueuedPodRow",
        "QueuedRow",
        "RejectedRow",
        "ReplacementRow",
        "Report",
        "ReprieveRow",
        "RolloutRow",
        "RoundRow",
        "SchedulerInfo",
        "SnapshotInfo",
        "SourceRow",
        "SparedRow",
        "StrategyRow",
        "TooLargeRow",
        "TouchedRow",
        "UnknownNameRow",
        "UpgradeRow",
        "UpgradeRuleRow",
        "UpgradedRow",
        "VictimRow",
        "WakeUpRow",
        "WorkloadRow",
    ),
    "kwhatif.sharing": ("describe", "save_snapshot"),
    "kwhatif.sizing": ("capacity",),
    "kwhatif.stories": ("simulate",),
    "kwhatif.whatif.compare": ("Comparison", "DifferenceRow", "EndDifferenceRow", "FateRow", "PodDifferenceRow"),
    "kwhatif.whatif.inventory": ("Inventory",),
    "kwhatif.whatif.session": ("Session",),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'kwhatif' has no attribute {name!r}")
    home = next((module for module, names in _HOMES.items() if name in names), "kwhatif.api")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return __all__
