"""`kwhatif threats` and `kwhatif who-fits` in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kwhatif.render.amounts import listed, ordinal, plural, quantity, some, took
from kwhatif.render.blocks import (
    Block,
    Cell,
    Item,
    Listing,
    Sentence,
    Table,
    exact,
    folded,
    name,
    number,
    titled,
    verdict,
    words,
)
from kwhatif.render.certainty import qualifier
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import Quality
from kwhatif.report import Report
from kwhatif.report.risks import (
    PREEMPTING,
    FitVerdict,
    PressureRow,
    ProtectionRow,
    TakerRow,
    ThreatKind,
    ThreatRow,
    ThreatsRow,
    WhoFitsRow,
)

# --- threats ---------------------------------------------------------------------------------------------------------

_KINDS: Mapping[ThreatKind, tuple[str, str]] = {
    "pending": ("a pending pod", "{} pending pods"),
    "template": ("one more pod of a workload", "one more pod of any of {} workloads"),
    "class": ("a new pod of a PriorityClass", "a new pod of any of {} PriorityClasses"),
    "taint": ("a taint", "taints of {} nodes"),
    "outage": ("the loss of a node", "the loss of any of {} nodes"),
    "drain": ("the drain of a node", "the drain of any of {} nodes"),
    "descheduler": ("the descheduler", "{} strategies of the descheduler"),
}
_SKIPPED: Mapping[ThreatKind, str] = {
    "pending": "pending pods",
    "template": "more pods of workloads",
    "class": "new pods of PriorityClasses",
    "taint": "taints",
    "outage": "the loss of nodes",
    "drain": "drains",
    "descheduler": "a descheduler (--policy FILE)",
}


def threats(report: Report, row: ThreatsRow, detail: Detail) -> Iterator[Block]:
    """What could evict the pods, what protects them, and what would protect them."""
    yield verdict(_headline(row), qualifier(report))
    if detail.quiet:
        return
    if row.threats:
        yield from _threats(row, report, detail)
    yield from titled("What protects it", Listing([Item(said) for said in _protections(row)]))
    if row.shield is not None:
        yield from titled("What would protect it", Listing([_shield(row)]))
    if row.pressure:
        yield from folded("If a node runs out of memory", _pressure(row.pressure))
    if row.skipped:
        yield Sentence(f"Not asked: {listed([_SKIPPED[kind] for kind in row.skipped])}", "faint")


def _headline(row: ThreatsRow) -> tuple[Quality, str]:
    """`Pod shop/web-0 can be evicted by a pending pod, and a new pod of any of 2 PriorityClasses`."""
    subject = row.subject if len(row.pods) == 1 else f"{row.subject} ({plural(len(row.pods), 'pod')})"
    kinds = [kind for kind in _KINDS if row.of(kind)]
    if not kinds:
        return "good", f"Nothing that was asked evicts {subject}"
    said = [_counted(kind, len({each.by for each in row.of(kind)})) for kind in kinds]
    can = "is evicted" if row.of("pending") else "can be evicted"
    quality: Quality = (
        "bad" if row.of("pending") else "doubtful" if row.of(*PREEMPTING, "taint", "descheduler") else "good"
    )
    return quality, f"{subject} {can} by {listed(said)}"


def _counted(kind: ThreatKind, count: int) -> str:
    one, many = _KINDS[kind]
    return one if count == 1 else many.format(count)


def _threats(row: ThreatsRow, report: Report, detail: Detail) -> Iterator[Block]:
    from kwhatif.render.audit import command

    of_many, is_whole = len(row.pods) > 1, detail.wide or detail.page
    columns = (
        words("What"),
        *([number("Pods")] if of_many else []),
        number("Priority"),
        *([words("Shown by")] if is_whole else []),
    )
    groups = [[each] for each in row.threats] if detail.wide else _grouped(row.threats, by_node=is_whole)
    rows = [
        (
            _what(each, [other.by for other in alike]),
            *([len(each.pods)] if of_many else []),
            each.priority,
            *([exact(command(each.command, report)) if each.command else _FILE] if is_whole else []),
        )
        for each, *alike in groups
    ]
    yield Table(columns, rows)
    if not is_whole:
        yield Sentence("-o wide shows the command that plays each", "faint")


_FILE = "kwhatif preempt FILE, with the manifest of -o json"


def _grouped(rows: Sequence[ThreatRow], *, by_node: bool) -> Iterator[list[ThreatRow]]:
    """The rows; higher classes with the same effect are grouped, and unless `by_node`, nodes with equal events."""
    found: dict[object, list[ThreatRow]] = {}
    for each in rows:
        key: object = id(each)
        if each.kind == "class":
            key = each.kind, tuple(each.requests.items()), each.node
        elif each.kind in ("outage", "drain", "taint") and not by_node:
            key = each.kind, each.because, each.seconds, len(each.pods)
        found.setdefault(key, []).append(each)
    yield from found.values()


def _what(each: ThreatRow, alike: Sequence[str]) -> str:
    """The event in a few words; `alike` are the classes, or the nodes, for which the same is true."""
    who = f"{each.by} (or {some([name.removeprefix('Node ') for name in alike])})" if alike else each.by
    match each.kind:
        case "pending":
            return f"{each.by} waits for its room"
        case "template":
            return f"one more pod of {each.by}"
        case "class":
            where = f", bound for {each.node}" if each.node else ""
            also = f" (or of {some([name.removeprefix('PriorityClass ') for name in alike])})" if alike else ""
            return f"a new pod of {each.by}{also} that asks for {_amounts(each.requests)}{where}"
        case "taint":
            after = f" after {took(each.seconds)}" if each.seconds else ""
            return f"a NoExecute taint of {who}{after}"
        case "outage" | "drain":
            done = "lost" if each.kind == "outage" else "drained"
            if each.because:
                return f"{who} is {done}: {each.because} comes for its room"
            after = f", and {took(each.seconds)} pass" if each.seconds else ""
            return f"{who} is {done}{after}"
        case "descheduler":
            return f"the descheduler's {each.by}"


def _protections(row: ThreatsRow) -> Iterator[str]:
    yield from map(_protection, row.protections)
    for why, said in (("priority", "their value is not higher"), ("never", "preemptionPolicy Never")):
        names = [each.name for each in row.harmless if each.why == why]
        if names:
            yield f"pods of PriorityClass {some(names)} never evict it: {said}"
    if not any(each.kind == "budget" for each in row.protections):
        yield "no PodDisruptionBudget: a drain does not wait for it"


def _protection(each: ProtectionRow) -> str:
    if each.kind == "critical":
        return "kubelets do not evict it: it is critical"
    allows = "" if each.allowed is None else f" (allows {plural(each.allowed, 'disruption')} now)"
    return f"PodDisruptionBudget {each.name}{allows} holds drains back; for preemption it is only a preference"


def _shield(row: ThreatsRow) -> Item:
    shield = row.shield
    assert shield is not None, "there is one"
    named = f"PriorityClass {shield.name} ({shield.value:,})" if shield.name else f"a priority of {shield.value:,}"
    tried = "no pending pod and no workload's next pod evicts it then, as was tried"
    if not row.of("pending", "template"):
        tried = "no pod of the classes above evicts it then, but for those of the system"
    return Item(f"{named}: {tried}", (f"kwhatif simulate --if {shield.edit!r}",) if shield.edit else ())


def _pressure(rows: Sequence[PressureRow]) -> Table:
    columns = (name("Pod"), name("Node"), words("Its turn, where every pod uses more than it asks for"))
    return Table(columns, [(each.pod, each.node, _turn(each)) for each in rows])


def _turn(each: PressureRow) -> str:
    until = f" to {ordinal(each.last)}" if each.last != each.first else ""
    return f"{ordinal(each.first)}{until} of {plural(each.of, 'pod')}"


def _amounts(amounts: Mapping[str, int]) -> str:
    """`500m cpu, 1Gi memory`."""
    return ", ".join(f"{quantity(resource, amount)} {resource}" for resource, amount in amounts.items())


# --- who fits --------------------------------------------------------------------------------------------------------

_SIGNS: Mapping[FitVerdict, Quality] = {"chosen": "good", "fits": "good", "evicts": "doubtful", "no": "bad"}


def who_fits(report: Report, row: WhoFitsRow, detail: Detail) -> Iterator[Block]:
    """How many pods the node takes, its free resources, and the requests of each pod."""
    yield verdict(_takes(row), qualifier(report))
    if detail.quiet:
        return
    yield Sentence(f"Left on it, beside {plural(row.pods, 'pod')}: {_amounts(row.free)}", "faint")
    for title, pending in (("Pending pods", True), ("One more pod of each workload", False)):
        yield from titled(title, _takers([each for each in row.takers if each.pending is pending]))


def _takes(row: WhoFitsRow) -> tuple[Quality, str]:
    asked = [each for each in row.takers if each.pending]
    templates = [each for each in row.takers if not each.pending]
    parts = []
    if asked:
        parts.append(f"{len(row.fitting(pending=True)):,} of {plural(len(asked), 'pending pod')}")
    if templates:
        fitting = len(row.fitting(pending=False))
        parts.append(f"the next pod of {fitting:,} of {plural(len(templates), 'workload')}")
    if not parts:
        return "doubtful", f"There is no pod to ask {row.node} about"
    takes_any = row.fitting(pending=True) or row.fitting(pending=False)
    return "good" if takes_any else "bad", f"{row.node} takes {listed(parts)}"


def _takers(rows: Sequence[TakerRow]) -> Table:
    order: Sequence[FitVerdict] = ("chosen", "fits", "evicts", "no")
    return Table(
        (name("What"), number("Priority"), words("Asks for"), words("Here")),
        [
            (
                each.subject,
                each.priority,
                _amounts(each.requests) or None,
                Cell(_here(each), sign=_SIGNS[each.verdict]),
            )
            for each in sorted(rows, key=lambda each: order.index(each.verdict))
        ],
    )


def _here(each: TakerRow) -> str:
    match each.verdict:
        case "chosen":
            return "fits, and lands here"
        case "fits":
            return f"fits, and lands on {each.elsewhere}" if each.elsewhere else "fits"
        case "evicts":
            return f"evicts {some(each.victims)}"
        case "no":
            return each.message or (f"goes to {each.elsewhere}" if each.elsewhere else "does not fit")
