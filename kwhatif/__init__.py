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
    from kwhatif.admission.outcome import ChangeRow
    from kwhatif.api.audit import audit
    from kwhatif.api.autoscale import autoscale, consolidate, with_autoscaler
    from kwhatif.api.capacity import capacity
    from kwhatif.api.compare import compare, compare_clusters
    from kwhatif.api.deschedule import deschedule
    from kwhatif.api.gate import find_policy, gate
    from kwhatif.api.html import html
    from kwhatif.api.maintenance import drain, outage, upgrade
    from kwhatif.api.questions import advise, pending, preempt, schedule
    from kwhatif.api.resize import resize
    from kwhatif.api.scheduler import SchedulerOptions
    from kwhatif.api.sessions import edited, load, load_live
    from kwhatif.api.simulate import simulate
    from kwhatif.api.snapshots import describe, save_snapshot
    from kwhatif.api.threats import threats, who_fits
    from kwhatif.descheduler.attempt import NodeClassRow, SparedRow, StrategyRow
    from kwhatif.errors import ClusterUnreadable, ExitCode, InputError, KwhatifError, PluginFailed, Problem
    from kwhatif.questions.session.inventory import Inventory
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report
    from kwhatif.report.advise import AdviceRow, AdvisedChangeRow, AdvisedRow, AdviseRow, LeftRow, PatchRow
    from kwhatif.report.autoscale import AutoscaleRow, ConsolidateRow
    from kwhatif.report.comparison import (
        Comparison,
        DifferenceRow,
        EndDifferenceRow,
        FateRow,
        PodDifferenceRow,
    )
    from kwhatif.report.decision import (
        BudgetRow,
        CandidateRow,
        Decision,
        FeasibleRow,
        MissRow,
        NearNameRow,
        NearRow,
        ObjectionRow,
        ObstacleRow,
        Outcome,
        PreemptionRow,
        PreEnqueueRow,
        QueuedRow,
        RejectedRow,
        ReprieveRow,
        RolloutRow,
        TooLargeRow,
        UnknownNameRow,
        VictimRow,
        WorkloadRow,
    )
    from kwhatif.report.deschedule import (
        DescheduleRow,
        EvictedRow,
        EvictionRefusedRow,
        NodeUseRow,
        ReplacementRow,
        RoundRow,
    )
    from kwhatif.report.inputs import EditRow, ProblemRow, SchedulerInfo, SnapshotInfo, SourceRow, TouchedRow
    from kwhatif.report.policy import FindingRow, PolicyRow
    from kwhatif.report.queue import QueuedPodRow, QueueRow, WakeUpRow
    from kwhatif.report.upgrade import LandingRow, UpgradedRow, UpgradeRow, UpgradeRuleRow
    from kwhatif.sources.manifests.given import Source, text

__all__ = [
    "AdviceRow",
    "AdviseRow",
    "AdvisedChangeRow",
    "AdvisedRow",
    "AutoscaleRow",
    "BudgetRow",
    "CandidateRow",
    "ChangeRow",
    "ClusterUnreadable",
    "Comparison",
    "ConsolidateRow",
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
    "audit",
    "autoscale",
    "capacity",
    "compare",
    "compare_clusters",
    "consolidate",
    "deschedule",
    "describe",
    "drain",
    "edited",
    "find_policy",
    "gate",
    "html",
    "load",
    "load_live",
    "outage",
    "pending",
    "preempt",
    "resize",
    "save_snapshot",
    "schedule",
    "simulate",
    "text",
    "threats",
    "upgrade",
    "who_fits",
    "with_autoscaler",
]

#: Where the names live.
_HOMES = {
    "kwhatif.admission.outcome": "ChangeRow",
    "kwhatif.descheduler.attempt": "NodeClassRow SparedRow StrategyRow",
    "kwhatif.api.audit": "audit",
    "kwhatif.api.autoscale": "autoscale consolidate with_autoscaler",
    "kwhatif.api.capacity": "capacity",
    "kwhatif.api.compare": "compare compare_clusters",
    "kwhatif.api.deschedule": "deschedule",
    "kwhatif.api.gate": "find_policy gate",
    "kwhatif.api.html": "html",
    "kwhatif.api.maintenance": "drain outage upgrade",
    "kwhatif.api.questions": "advise pending preempt schedule",
    "kwhatif.api.resize": "resize",
    "kwhatif.api.scheduler": "SchedulerOptions",
    "kwhatif.api.sessions": "edited load load_live",
    "kwhatif.api.simulate": "simulate",
    "kwhatif.api.snapshots": "describe save_snapshot",
    "kwhatif.api.threats": "threats who_fits",
    "kwhatif.errors": "ClusterUnreadable ExitCode InputError KwhatifError PluginFailed Problem",
    "kwhatif.report": "Report",
    "kwhatif.report.advise": "AdviceRow AdviseRow AdvisedChangeRow AdvisedRow LeftRow PatchRow",
    "kwhatif.report.autoscale": "AutoscaleRow ConsolidateRow",
    "kwhatif.report.comparison": "Comparison DifferenceRow EndDifferenceRow FateRow PodDifferenceRow",
    "kwhatif.report.decision": "BudgetRow CandidateRow Decision FeasibleRow MissRow NearNameRow NearRow ObjectionRow "
    "ObstacleRow Outcome PreEnqueueRow PreemptionRow QueuedRow RejectedRow ReprieveRow RolloutRow TooLargeRow "
    "UnknownNameRow VictimRow WorkloadRow",
    "kwhatif.report.deschedule": "DescheduleRow EvictedRow EvictionRefusedRow NodeUseRow ReplacementRow RoundRow",
    "kwhatif.report.inputs": "EditRow ProblemRow SchedulerInfo SnapshotInfo SourceRow TouchedRow",
    "kwhatif.report.policy": "FindingRow PolicyRow",
    "kwhatif.report.queue": "QueueRow QueuedPodRow WakeUpRow",
    "kwhatif.report.upgrade": "LandingRow UpgradeRow UpgradeRuleRow UpgradedRow",
    "kwhatif.sources.manifests.given": "Source text",
    "kwhatif.questions.session.inventory": "Inventory",
    "kwhatif.questions.session.session": "Session",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'kwhatif' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
