"""The worst effect of a drain or an outage, and why pods stay or are not recreated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from kwhatif.report.maintenance import BlockedCause, BlockedRow, VerdictRow
from kwhatif.words.amounts import plural, some

#: A refusal, up to the standard that the pod violates.
_POD_SECURITY = re.compile(r'.*?violates PodSecurity "[^"]*"', re.DOTALL)
_BLOCKED: Mapping[BlockedCause, str] = {
    "timeout": "it is gone only after the --timeout of {about}",
    "endless-drain": "not reached, as the drain of {about} does not end; it would go",
    "came-late": "it came after the drain had begun",
    "refused-by-kubectl": "{about}",
    "kubelet-silent": "it is terminating, but never gone: its kubelet is silent",
    "finalizer": "it is terminating, but never gone: a finalizer holds it",
    "slow": "it is terminating, but never gone: it is slow",
    "many-budgets": "budgets {budgets} both select it: it cannot be evicted",
    "sync-failed": "budget {budgets} allows nothing, as it cannot be counted: {about}",
    "unready-itself": "it is not ready itself, and {needs}",
    "demands-all": "budget {budgets} demands all {needed}",
    "pending-member": "{needs}: {about} stays pending",
    "unready-member": "{needs}: {about} is not ready",
    "allowed-late": "budget {budgets} lets it go only after the --timeout",
    "bare-members": "{needs}: pods without a controller do not come back",
    "no-maker": "{needs}, and no controller creates another one",
    "bare": "it has no controller that would recreate it",
    "zone-lost": "too much of its zone is lost: nothing is evicted there",
    "tolerates": "it tolerates the loss of its node forever, or beyond the horizon",
    "toleration-unknown": "nothing says for how long it tolerates the loss of its node",
    "node-silent": "it is terminating, and is not replaced until its silent node reports that it has ended",
    "node-deleted": "it is terminating, and is not replaced until it is gone",
}
#: The effect on a pod that a drain does not evict, by its class.
_FATES = {
    "demands-all": "may never go",
    "many-budgets": "may never go",
    "sync-failed": "may never go",
    "late": "is too late",
    "never-ends": "never ends",
}


def why_blocked(row: BlockedRow) -> str:
    """Why the pod is not evicted, or not recreated."""
    if row.cause is None:
        return row.why
    budgets = " and ".join(row.budgets)
    needs = f"budget {budgets} needs {row.needed} healthy pods, and {row.healthy} are"
    said = _BLOCKED[row.cause].format(about=row.about, budgets=budgets, needs=needs, needed=row.needed)
    return f"{said}; and that one would find no node" if row.nowhere else said


def why_harmful(verdict: VerdictRow) -> str:
    """The worst effect; "" if there is no harm."""
    worst = verdict.worst
    if worst is None:
        return verdict.why
    more = worst.count - 1
    match worst.what:
        case "refused-by-kubectl":
            return "; ".join(_merged(worst.messages))
        case "blocked" if worst.blocked is not None:
            return _first_blocked(worst.blocked, verdict, more)
        case "pending":
            return _pending(verdict)
        case "refused":
            pods = plural(worst.count, "pod")
            return f"{worst.subject} has {pods} fewer, because new ones are rejected: {_in_brief(worst.messages[0])}"
        case "failed":
            return f"{worst.subject} fails ({worst.messages[0]}){f', and {more} more' if more else ''}"
        case "unready":
            return f"{worst.subject} has {worst.count} of {worst.of} pods ready"
        case "unsettled":
            return f"it never settles{f': {some(worst.messages)} replace each other' if worst.messages else ''}"
        case "horizon":
            who = f": {worst.subject} is not done" if worst.subject else ""
            return f"it has not settled by the --horizon{who}"
        case _:
            return "it does not end"


def _in_brief(refusal: str) -> str:
    """The API server's words; of a Pod Security Standard without all that a pod lacks, which the events say."""
    found = _POD_SECURITY.match(refusal)
    return refusal if found is None else found[0]


def _first_blocked(row: BlockedRow, verdict: VerdictRow, more: int) -> str:
    if verdict.of == "outage":
        others = f", nor {'does' if more == 1 else 'do'} {more} more" if more else ""
        return f"{row.pod} does not come back ({why_blocked(row)}){others}"
    fate = _FATES.get(row.class_, "does not go")
    return f"{row.pod} {fate} ({why_blocked(row)}){f', and {more} more' if more else ''}"


def _pending(verdict: VerdictRow) -> str:
    if len(verdict.pending) == 1:
        return f"{verdict.pending[0]}{' (critical)' if verdict.critical else ''} stays pending"
    critical = f", {verdict.critical} of them critical" if verdict.critical else ""
    return f"{len(verdict.pending)} pods stay pending{critical}"


def _merged(errors: Iterable[str]) -> Iterator[str]:
    """Errors that differ only in the pods at their end, combined into one that names the first few."""
    groups: dict[str, list[str]] = {}
    for error in errors:
        message, _, pods = error.rpartition(": ")
        groups.setdefault(message, []).extend(pods.split(", "))
    for message, named in groups.items():
        yield f"{message}: {some(named)}".removeprefix(": ")
