"""The harm of a drain, an outage or a finding of an audit, in one line each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.render.amounts import listed, plural, some, took
from kwhatif.report.risks import AuditCause, AuditFindingRow, AuditHarm, HarmRow, ProbeName, ShownByRow
from kwhatif.report.story import BlockedCause, BlockedRow, VerdictRow

# --- findings of an audit --------------------------------------------------------------------------------------------


#: The what-if in words: `if NODE is lost`. The plural is for several what-ifs of a kind.
_EVENTS: Mapping[ProbeName, tuple[str, str]] = {
    "outage": ("{name} is lost", "any of {count} nodes is lost"),
    "zone": ("zone {name} is lost", "any of {count} zones is lost"),
    "drain": ("{name} is drained", "any of {count} nodes is drained"),
    "restart": ("{name} is restarted", "{count} workloads are restarted"),
    "peak": ("its autoscaler goes to the maximum", "autoscalers go to their maximum"),
    "replica": ("it gets one more pod", "workloads get one more pod"),
    "arrival": ("pods of class {name} come", "pods of {count} classes come"),
    "budgets": ("all its pods are evicted at once", "all their pods are evicted at once"),
}


def finding_message(finding: AuditFindingRow) -> str:
    """The whole line."""
    said = _MESSAGES[finding.harm](finding)
    cut = finding.worst.cut
    return said if cut is None else f"{said} (as it stands after {took(cut)}: what comes later is not judged)"


def _lost(finding: AuditFindingRow) -> str:
    have = "has" if len(finding.subjects) == 1 else "have"
    return f"{_whom(finding)} {have} no ready pod{_for(finding.worst)} if {_when(finding)}{_why(finding)}"


def _broken(finding: AuditFindingRow) -> str:
    row = finding.worst
    lacks = f"budget {ObjectRef.parse(row.subject).key} lacks {plural(row.pods, 'healthy pod')}"
    return f"{lacks}{_for(row)} if {_when(finding)}{_why(finding)}"


def _refused(finding: AuditFindingRow) -> str:
    if finding.cause == "job":
        fail = "fails" if len(finding.subjects) == 1 else "fail"
        return f"{_whom(finding)} {fail} if {_when(finding)}: {finding.worst.said}"
    return f"{_pods(finding)} cannot be made{_if(finding)}{_why(finding)}"


def _hangs(finding: AuditFindingRow) -> str:
    return f"a restart of {_whom(finding)} hangs{_why(finding)}"


def _kept(finding: AuditFindingRow) -> str:
    return f"{_nodes(finding)} cannot be drained{_why(finding)}"


def _out_of_reach(finding: AuditFindingRow) -> str:
    stay = f"{plural(finding.worst.pods, 'pod')} {'stays' if finding.worst.pods == 1 else 'stay'} pending"
    return f"{_whom(finding)} cannot reach the maximum of its autoscaler, {stay}{_why(finding)}"


def _evictable(finding: AuditFindingRow) -> str:
    return (
        f"{_whom(finding)} {'is' if len(finding.subjects) == 1 else 'are'} evicted if {_when(finding)}{_why(finding)}"
    )


def _useless(finding: AuditFindingRow) -> str:
    return f"budget {ObjectRef.parse(finding.worst.subject).key} protects nothing{_why(finding)}"


def _no_growth(finding: AuditFindingRow) -> str:
    return f"{_whom(finding)} cannot get one more pod{_why(finding)}"


def _worse(finding: AuditFindingRow) -> str:
    row = finding.worst
    return f"{_whom(finding)} would do worse under {row.scenario}: {row.said}{_why(finding)}"


def _pending(finding: AuditFindingRow) -> str:
    row = finding.worst
    if row.cause == "loop":
        return f"{some(row.about)} evict each other without end{_if(finding)}"
    stay = "stays" if row.pods == 1 and len(finding.subjects) == 1 else "stay"
    if row.cause in ("tolerates", "toleration-unknown"):
        return f"{_pods(finding)} {stay} on the lost node if {_when(finding)}{_why(finding)}"
    now = " now" if row.probe == "pending" else ""
    return f"{_pods(finding)} {stay} pending{now}{_if(finding)}{_why(finding)}"


def _no_way_back(finding: AuditFindingRow) -> str:
    row = finding.worst
    if row.cause == "bare":
        names = some([ObjectRef.parse(each).key for each in finding.subjects])
        one = len(finding.subjects) == 1
        return f"{names} {'has' if one else 'have'} no controller: {'it is' if one else 'they are'} gone with the node"
    one = row.pods == 1 and len(finding.subjects) == 1
    pods = "pods" if len(finding.subjects) > 1 else plural(row.pods, "pod")
    its, asks = ("its", "it asks") if one else ("their", "they ask")
    why = {
        "taint": f"{its} node now has the taint {some(row.about)}",
        "labels": f"{its} node no longer has {some(row.about) or f'the labels that {asks} for'}",
        "volume": f"{its} volume is elsewhere" if one else "their volumes are elsewhere",
    }.get(row.cause, row.said)
    return f"{pods} of {_whom(finding)} could not be placed again where {'it runs' if one else 'they run'}: {why}"


def _far(finding: AuditFindingRow) -> str:
    row = finding.worst
    what = "less than a fifth" if row.cause == "asks-too-much" else "far more than"
    of = (
        f"of the {some(row.about)} they ask for"
        if row.cause == "asks-too-much"
        else f"the {some(row.about)} they ask for"
    )
    return f"pods of {_whom(finding)} use {what} {of}"


_MESSAGES: Mapping[AuditHarm, Callable[[AuditFindingRow], str]] = {
    "service-lost": _lost,
    "data-blocked": _pending,
    "budget-broken": _broken,
    "pods-pending": _pending,
    "pods-refused": _refused,
    "restart-hangs": _hangs,
    "drain-blocked": _kept,
    "peak-out-of-reach": _out_of_reach,
    "evictable": _evictable,
    "budget-useless": _useless,
    "no-way-back": _no_way_back,
    "no-growth": _no_growth,
    "upgrade-worse": _worse,
    "requests-far": _far,
}


# --- subjects ------------------------------------------------------------------------------------------------------


def _whom(finding: AuditFindingRow) -> str:
    """`Deployment shop/web`, or `3 workloads (Deployment shop/web, …)`."""
    subjects = finding.subjects
    if len(subjects) == 1:
        return subjects[0]
    return f"{subjects[0]} and {plural(len(subjects) - 1, 'other workload')}"


def _pods(finding: AuditFindingRow) -> str:
    row = finding.worst
    if row.subject.startswith("Pod ") and len(finding.subjects) == 1:
        return row.subject
    if len(finding.subjects) > 1:  # the worst row counts the pods of one of them
        return f"pods of {_whom(finding)}"
    varies = row.pods > 1 and row.probe != "pending" and sum(each.count for each in finding.shown_by) > 1
    return f"{'up to ' if varies else ''}{plural(row.pods, 'pod')} of {_whom(finding)}"


def _nodes(finding: AuditFindingRow) -> str:
    drains = next((each for each in finding.shown_by if each.probe == "drain"), None)
    if drains is None:
        return "nodes"
    return drains.names[0] if drains.count == 1 else f"{drains.count:,} nodes ({some(drains.names)})"


# --- when and why --------------------------------------------------------------------------------------------------


def _when(finding: AuditFindingRow) -> str:
    """The what-ifs of the worst kind that show the finding."""
    shown = next((each for each in finding.shown_by if each.probe == finding.worst.probe), None)
    return event(shown or ShownByRow(probe=finding.worst.probe, names=(finding.worst.scenario,), count=1))


def event(shown: ShownByRow) -> str:
    """`n1 is lost`, or `any of 3 nodes is lost`."""
    one, several = _EVENTS.get(shown.probe, ("{name}", "{count} what-ifs"))
    return (one if shown.count == 1 else several).format(name=shown.names[0], count=f"{shown.count:,}")


def new_what_if(shown: ShownByRow) -> str:
    """`if any of 20 nodes is lost (n1, n2, n3 and 17 more)`; for the cluster as it is, `now`."""
    if shown.probe == "pending":
        return "now"
    if shown.count == 1:
        named = "" if "{name}" in _EVENTS.get(shown.probe, ("{name}", ""))[0] else f" ({shown.names[0]})"
    else:
        named = f" ({some(shown.names, 3, shown.count)})"
    return f"if {event(shown)}{named}"


def _if(finding: AuditFindingRow) -> str:
    return "" if finding.worst.probe not in _EVENTS else f" if {_when(finding)}"


def _for(row: HarmRow) -> str:
    return f" for {took(row.seconds)}" if row.seconds is not None else ""


def _why(finding: AuditFindingRow) -> str:
    said = why(finding.worst, len(finding.subjects))
    return f": {said}" if said else ""


#: Causes in words: `{its}` are one workload's or several, `{about}` is their subject, `{key}` the affected object.
_CAUSES: Mapping[AuditCause, str] = {
    "affinity": "the pods that it must be with are not there ({about})",
    "anti-affinity": "{its} anti-affinity ({about}) leaves no node",
    "spread": "{its} spread constraint ({about}) leaves no node",
    "volume": "{its} volume cannot be used on another node",
    "ports": "{its} host port is taken on every node",
    "devices": "no node has the devices free",
    "gates": "scheduling gates {about}",
    "quota": "quota {about} is used up",
    "limits": "a LimitRange forbids it: {said}",
    "pod-security": "Pod Security forbids it",
    "admission": "{said}",
    "one-node": "{its} pods share a node",
    "one-zone": "{its} pods share the zone",
    "node-silent": "{its} pod is not replaced until the lost node is back, or has the out-of-service taint",
    "zone-lost": "too much of the zone is lost: nothing is evicted there",
    "tolerates": "{its} pods tolerate the loss of their node forever, or beyond the horizon",
    "toleration-unknown": "nothing says for how long its pods tolerate the loss of their node",
    "demands-all": "budget {key} never lets a pod go",
    "many-budgets": "budgets {about} select the same pods: these cannot be evicted",
    "sync-failed": "budget {key} cannot be counted, so it allows nothing",
    "unready": "budget {key} has pods that are not ready, and lets no other go",
    "no-successor": "pods of budget {key} do not come back",
    "never-ends": "{example} is terminating and never gone",
    "release": "{about}",
}


#: Causes whose text for several workloads differs in more than `{its}`.
_CAUSES_OF_SEVERAL: Mapping[AuditCause, str] = {
    "volume": "their volumes cannot be used on another node",
    "ports": "their host ports are taken on every node",
    "node-silent": "their pods are not replaced until the lost node is back, or has the out-of-service taint",
}


def why(row: HarmRow, subjects: int = 1) -> str:
    """The cause in words, for this number of workloads; "" if the harm already implies it."""
    about, several = listed(row.about), subjects > 1
    match row.cause:
        case "room":
            pool = f" with {row.pool}" if row.pool else ""
            return f"no node{pool} has enough {about or 'room'} free"
        case "priority":
            whom = "its pods" if row.harm == "budget-broken" else "them" if several else "it"
            return f"pods of {f'class {about}' if about else 'higher priority'} may evict {whom}"
        case "placement":
            who = "they" if several else "it"
            return f"no other node is one that {who} may use{f' ({about})' if about else ''}"
        case "selects-nothing":
            return f"it selects no pod{f', though {about} runs' if about else ''}"
        case "allows-all":
            return f"all {row.pods:,} pods may be evicted at once"
        case "volume" if row.said.startswith("Multi-Attach"):
            return f"{'their volumes stay' if several else 'its volume stays'} attached to the node that has it"
    said = _CAUSES.get(row.cause, "")
    if several:
        said = _CAUSES_OF_SEVERAL.get(row.cause, said)
    return said.format(
        its="their" if several else "its",
        about=about,
        key=ObjectRef.parse(row.subject).key,
        said=row.said,
        example=row.example,
    )


def levels(findings: Sequence[AuditFindingRow]) -> str:
    """`2 high, 1 low`."""
    counts = [(level, sum(each.level == level for each in findings)) for level in ("high", "medium", "low")]
    return ", ".join(f"{count:,} {level}" for level, count in counts if count)


# --- drains and outages ----------------------------------------------------------------------------------------------


#: The beginning of a refusal, up to the standard that the pod violates.
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
    "demands-all": "can never be evicted",
    "many-budgets": "can never be evicted",
    "sync-failed": "can never be evicted",
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
            return _pods_pending(verdict)
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
    """The API server's message; for a Pod Security Standard without the details, which the events have."""
    found = _POD_SECURITY.match(refusal)
    return refusal if found is None else found[0]


def _first_blocked(row: BlockedRow, verdict: VerdictRow, more: int) -> str:
    if verdict.of == "outage":
        others = f", nor {'does' if more == 1 else 'do'} {more} more" if more else ""
        return f"{row.pod} does not come back ({why_blocked(row)}){others}"
    fate = _FATES.get(row.class_, "does not go")
    return f"{row.pod} {fate} ({why_blocked(row)}){f', and {more} more' if more else ''}"


def _pods_pending(verdict: VerdictRow) -> str:
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
