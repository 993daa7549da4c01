"""Whose new pods the API server still refuses when nothing happens any more."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.model.pod import Pod
from kwhatif.simulation.engine import Engine


def refused(engine: Engine) -> Mapping[str, str]:
    """By workload, what the API server says of the pods that it lacks.

    Pods beyond a number that says nothing new are not among them: nobody refuses those but the simulation.
    """
    found: dict[str, str] = {}
    for refusal in engine.reactions.refusals.values():
        if refusal.actor not in engine.world.limits.short:
            workload = engine.tally.root(refusal.obj) if isinstance(refusal.obj, Pod) else refusal.actor
            found[workload] = refusal.message
    return dict(sorted(found.items()))
