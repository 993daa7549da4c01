"""What applying a workload changes, and what the engine makes of that at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kwhatif.admission.outcome import Denied
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.decisions.described import WorkloadExplainer
from kwhatif.questions.judging.manifest_rollout import Planned
from kwhatif.questions.judging.pending_pods import PendingPods
from kwhatif.questions.judging.run import InstantRun
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.session.session import Session
from kwhatif.report.inputs import SourceRow
from kwhatif.workloads import comparison
from kwhatif.workloads.comparison import Rollout
from tests.builders import node


class Update(NamedTuple):
    """How a workload differs from the one that is there, and which pods controllers delete and make because of it."""

    kind: str
    removed: Sequence[Pod]
    added: Sequence[Pod]
    caveat: Caveat | None
    denied: Denied | None
    cluster: Cluster


def plan_update(new: Any, there: Cluster, rollout: Rollout = "final") -> Update:
    """Applied at one moment, on a node that has room for all."""
    plan = comparison.plan_update(new, there, rollout)
    if not there.all(Node):
        there.add(node("big").allocatable(cpu="1k", memory="1Ti", pods="1k").build())
    session = Session.of(there)
    planned = Planned(Applied(new, SourceRow(file="")), new, plan, plan.removed, is_refused=plan.denied is not None)
    pending = PendingPods(session, session.state, [planned], wanted=(), counts=False)
    played = InstantRun(session, session.state.fork(), [planned], pending, WorkloadExplainer("nothing"), rollout).play()
    before, after = there.all(Pod), played.api_server.state.cluster
    added = [made for key, made in after.all(Pod).items() if key not in before or _is_another(before[key], made)]
    return Update(plan.kind, planned.removed, added, plan.caveat, plan.denied, after)


def _is_another(before: Pod, after: Pod) -> bool:
    return before.metadata.uid != after.metadata.uid
