"""Workloads whose new pods the API server still refuses at the end."""

from __future__ import annotations

from kwhatif.kube.model.pod import Pod
from kwhatif.report.story import RefusedRow
from kwhatif.simulation.engine import Engine


def refused(engine: Engine) -> tuple[RefusedRow, ...]:
    """The workloads that lack pods, with the API server's messages.

    Without pods beyond the simulation's limits: only the simulation refuses those.
    """
    found: dict[str, RefusedRow] = {}
    for refusal in engine.reactions.refusals.values():
        if refusal.actor not in engine.world.limits.short:
            workload = engine.tally.root(refusal.obj) if isinstance(refusal.obj, Pod) else refusal.actor
            found[workload] = RefusedRow(
                workload=workload, message=refusal.message, initial=refusal.since <= engine.first_event
            )
    return tuple(found[workload] for workload in sorted(found))
