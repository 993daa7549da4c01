"""RemovePodsViolatingNodeTaints (`framework/plugins/removepodsviolatingnodetaints`)."""

from __future__ import annotations

from collections.abc import Collection

from kwhatif.descheduler.arguments import RemovePodsViolatingNodeTaintsArgs
from kwhatif.descheduler.attempt import UntoleratedTaint
from kwhatif.descheduler.handle import Handle, chosen
from kwhatif.descheduler.pods import untolerated
from kwhatif.kube.matching.nodes import NO_SCHEDULE, PREFER_NO_SCHEDULE
from kwhatif.kube.model.node import Taint
from kwhatif.scheduler.framework.evidence import taint_text


def run(args: RemovePodsViolatingNodeTaintsArgs, handle: Handle) -> str:
    """Evict pods from nodes with a NoSchedule taint that they do not tolerate; the cluster handles NoExecute."""
    choose = chosen(args.namespaces, args.label_selector)
    effects = (NO_SCHEDULE, PREFER_NO_SCHEDULE) if args.include_prefer_no_schedule else (NO_SCHEDULE,)

    def counts(taint: Taint) -> bool:
        included = args.included_taints is None or _is_in(args.included_taints, taint)
        return taint.effect in effects and not _is_in(args.excluded_taints, taint) and included

    for node in handle.nodes:
        taints = [taint for taint in node.spec.taints if counts(taint)]
        found = [
            (pod, UntoleratedTaint(taint=taint_text(taint)))
            for pod in (handle.world.active(node.metadata.name) if taints else ())
            if choose(pod) and (taint := untolerated(pod, taints)) is not None and handle.is_evictable(pod)
        ]
        if not handle.evict_each(found):
            break
    return ""


def _is_in(names: Collection[str], taint: Taint) -> bool:
    return taint.key in names or (taint.value != "" and f"{taint.key}={taint.value}" in names)
