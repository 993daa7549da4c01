"""Words that findings share."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.report import Decision, Outcome, RolloutRow, WorkloadRow

_OBSTACLES: dict[Outcome, str] = {
    "Unschedulable": "fits nowhere",
    "Denied": "is refused",
    "Gated": "is not queued",
}

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


def hang(row: RolloutRow, blocking: Sequence[Decision]) -> str:
    """`hangs after 2 of 6 new pods: the 3rd fits nowhere while 5 old pods stay (maxUnavailable 0)`.

    Args:
        row: a rollout that hangs.
        blocking: the decision about the pod that it waits for; none about one that was in the cluster before.
    """
    said = f"hangs after {row.updated} of {row.wanted} new pods"
    if blocking:
        has_name = (blocking[0].owner or "").startswith("StatefulSet ")
        which = blocking[0].pod.partition("/")[2] if has_name else f"the {ordinal(row.updated + 1)}"
        said += f": {which} {_OBSTACLES.get(blocking[0].outcome, 'does not run')}"
    elif row.waits_for:
        said += f": {row.waits_for.partition('/')[2]} is not ready"
    if not row.old:
        return said
    limit = f" ({row.limit})" if row.limit else ""
    return f"{said} while {row.old} old {'pod stays' if row.old == 1 else 'pods stay'}{limit}"


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`."""
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
