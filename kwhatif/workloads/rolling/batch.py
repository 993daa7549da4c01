"""Jobs and CronJobs."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.admission.outcome import Denied
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.job import CronJob, Job
from kwhatif.kube.model.pod import Pod
from kwhatif.workloads.expand import expand
from kwhatif.workloads.job import expand_job, is_finished, wanted_pods
from kwhatif.workloads.removal import active, removed_first_of_job
from kwhatif.workloads.rolling.update import UNCHANGED, Rollout, WorkloadUpdate
from kwhatif.workloads.template import same_template


def update_job(new: Job, known: Job | None, pods: Sequence[Pod], cluster: Cluster) -> WorkloadUpdate:
    """The template of a Job cannot be changed; how many pods it runs at once can, until it has finished."""
    if known is None:
        return UNCHANGED
    if not same_template(known.spec.template, new.spec.template) and not known.spec.suspend:
        # Where `{…}` stands, the API server prints the whole new template as JSON: with commands and environment, which
        # the model does not have, and nobody wants to read.
        message = f'Job.batch "{new.metadata.name}" is invalid: spec.template: Invalid value: {{…}}: field is immutable'
        return WorkloadUpdate("changed", denied=Denied(message))
    done = known.status.succeeded
    before, count = wanted_pods(known.spec, done), wanted_pods(new.spec, done)
    # Once a pod of a Job without completions has succeeded, no more are made of it.
    is_over = is_finished(known) or (done > 0 and new.spec.completions is None and not new.spec.suspend)
    if before == count or is_over:
        return UNCHANGED
    removed = removed_first_of_job(active(pods))[: max(0, before - count)]
    return WorkloadUpdate("scaled", tuple(removed), expand_job(new, range(done + before, done + count), cluster))


def update_cron_job(
    new: CronJob, known: CronJob | None, pods: Sequence[Pod], cluster: Cluster, rollout: Rollout
) -> WorkloadUpdate:
    """Another template shows at the next run; the one that is under way goes on, and in the end is over."""
    if known is not None:
        before, after = known.spec.job_template.spec, new.spec.job_template.spec
        same = same_template(before.template, after.template) and wanted_pods(before) == wanted_pods(after)
        if new.spec.suspend or (same and not known.spec.suspend):
            return UNCHANGED
    removed = tuple(pods) if rollout == "final" else ()
    return WorkloadUpdate("changed", removed, expand(new, cluster))
