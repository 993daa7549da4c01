"""Words that findings, results of workloads and tables share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kwhatif.report.decision import Decision, Outcome
from kwhatif.report.preemption import VictimRow
from kwhatif.report.workload import RolloutRow, WorkloadRow

#: So many owners of victims are named.
_MOST_OWNERS = 3
#: More names of pods than these are not all named.
_MOST_NAMES = 4

_OBSTACLES: dict[Outcome, str] = {
    "Unschedulable": "fits nowhere",
    "Denied": "is refused",
    "Gated": "is not queued",
}


def subject(workload: WorkloadRow, pods: Sequence[Decision], verb: str, verbs: str, counted: int = 0) -> str:
    """`stays pending` of a single pod; `2 of 6 pods stay pending` of many; `counted`, where more than these are."""
    count = max(len(pods), counted)
    if workload.replicas == 1:
        return verb
    return f"{count} of {workload.replicas} pods {verb if count == 1 else verbs}"


def few(names: Sequence[str], limit: int = 3) -> str:
    """`a, b, c and 4 more`."""
    if len(names) <= limit + 1:
        return ", ".join(names)
    return f"{', '.join(names[:limit])} and {len(names) - limit:,} more"


def victims_by_owner(victims: Sequence[VictimRow]) -> str:
    """`6 pods of Deployment batch/etl (priority -1000)`; a pod without an owner by its own name."""
    groups = Counter((victim.workload or victim.owner, victim.priority) for victim in victims)
    alone = {victim.priority: victim.pod for victim in victims if not (victim.workload or victim.owner)}
    said = []
    for (owner, priority), count in list(groups.items())[:_MOST_OWNERS]:
        pods = "1 pod" if count == 1 else f"{count:,} pods"
        what = f"{pods} of {owner}" if owner else f"pod {alone[priority]}" if count == 1 else f"{pods} without an owner"
        said.append(f"{what} (priority {priority})")
    rest = sum(groups.values()) - sum(list(groups.values())[:_MOST_OWNERS])
    said += [f"{rest:,} more"] if rest else []
    return listed(said)


def after(decisions: Sequence[Decision]) -> str:
    """` after shop/debug, which was pending`: who came first and took the room; "" if nobody did."""
    names = list(dict.fromkeys(name for decision in decisions for name in decision.after))
    if not names:
        return ""
    said = listed(names) if len(names) <= _MOST_NAMES else few(names)
    return f" after {said}, which {'was' if len(names) == 1 else 'were'} pending"


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


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
