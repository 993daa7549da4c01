"""Words that findings share."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.report import Decision, WorkloadRow

#: What an object itself says of the policy.
ANNOTATION = "kwhatif.dev/ignore"


def subject(workload: WorkloadRow, pods: Sequence[Decision], verb: str, verbs: str) -> str:
    """`stays pending` of a single pod; `2 of 6 pods stay pending` of many."""
    if workload.replicas == 1:
        return verb
    return f"{len(pods)} of {workload.replicas} pods {verb if len(pods) == 1 else verbs}"


def few(names: Sequence[str], limit: int = 3) -> str:
    """`a, b, c and 4 more`."""
    if len(names) <= limit + 1:
        return ", ".join(names)
    return f"{', '.join(names[:limit])} and {len(names) - limit:,} more"
