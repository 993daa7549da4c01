"""Short texts about victims, and about pods that took the room first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kwhatif.report.decision import Decision
from kwhatif.report.preemption import VictimRow
from kwhatif.words.amounts import listed, plural, some

#: The most owners of victims that are named.
_MOST_OWNERS = 3
#: The most names of pods that are all listed.
_MOST_NAMES = 4


def victims_by_owner(victims: Sequence[VictimRow]) -> str:
    """`6 pods of Deployment batch/etl (priority -1000)`; a pod without an owner by its own name."""
    groups = Counter((victim.workload or victim.owner, victim.priority) for victim in victims)
    alone = {victim.priority: victim.pod for victim in victims if not (victim.workload or victim.owner)}
    said = []
    for (owner, priority), count in list(groups.items())[:_MOST_OWNERS]:
        pods = plural(count, "pod")
        what = f"{pods} of {owner}" if owner else f"pod {alone[priority]}" if count == 1 else f"{pods} without an owner"
        said.append(f"{what} (priority {priority})")
    rest = sum(groups.values()) - sum(list(groups.values())[:_MOST_OWNERS])
    said += [f"{rest:,} more"] if rest else []
    return listed(said)


def after(decisions: Sequence[Decision]) -> str:
    """` after shop/debug, which was pending`: the pods that took the room first; "" if there are none."""
    names = list(dict.fromkeys(name for decision in decisions for name in decision.after))
    if not names:
        return ""
    said = listed(names) if len(names) <= _MOST_NAMES else some(names)
    return f" after {said}, which {'was' if len(names) == 1 else 'were'} pending"
