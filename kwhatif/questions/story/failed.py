"""Jobs that have failed because of the actions."""

from __future__ import annotations

from kwhatif.kube.model.job import Job
from kwhatif.report.story import FailedRow
from kwhatif.simulation.engine import Engine


def failed(engine: Engine) -> tuple[FailedRow, ...]:
    """Those that have failed since the first action, with the controller's message.

    Left out are Jobs that reach their deadline: they would anyway, or would have completed before.
    """
    jobs = engine.world.state.cluster.all(Job)
    found: dict[str, FailedRow] = {}
    for event in engine.world.history.events[engine.first_event :]:
        job = jobs.get(event.object.removeprefix("Job ")) if event.verb == "failed" else None
        for condition in job.status.conditions if job is not None else ():
            if condition.type == "Failed" and condition.status == "True" and condition.reason != "DeadlineExceeded":
                found[event.object] = FailedRow(workload=event.object, message=condition.message)
    return tuple(found[name] for name in sorted(found))
