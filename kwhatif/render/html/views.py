"""What an answer says of each node: for a pod, for all of them, for replicas, for scenarios, for the end of a story."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from kwhatif.autoscaler.answer import AddedNode
from kwhatif.render.nodes import objections_of
from kwhatif.render.sentences import sentence
from kwhatif.report import Report
from kwhatif.report.audit import AuditRow
from kwhatif.report.autoscale import ConsolidateRow
from kwhatif.report.decision import CandidateRow, Decision, RejectedRow
from kwhatif.report.deschedule import DescheduleRow
from kwhatif.report.story import Story
from kwhatif.words.amounts import plural, some

Kind = Literal["new", "goes", "lands", "tie", "fits", "evicts", "candidate", "rejected", "none"]


class Look(NamedTuple):
    """How a verdict about a node is marked: its letter in the page's data, glyph, and words."""

    letter: str
    glyph: str
    words: str


LOOKS: Mapping[Kind, Look] = {
    "new": Look("N", "✚", "new"),
    "goes": Look("G", "⊖", "goes"),
    "lands": Look("L", "✔", "lands here"),
    "tie": Look("T", "≈", "equally good"),
    "fits": Look("F", "○", "fits"),
    "evicts": Look("E", "!", "would evict here"),
    "candidate": Look("C", "△", "could evict here"),
    "rejected": Look("R", "✘", "does not fit"),
    "none": Look("-", "·", "not asked"),
}
#: Of the pods that land on a node, how many are named.
_MOST_NAMED = 20
#: Entries about nodes in the page's data: verdicts of pods beyond are left out, but where they land.
_MOST_ENTRIES = 40_000


class View(NamedTuple):
    """What is asked about on the map: a pod, all of them, replicas, or scenarios."""

    title: str
    #: What one of them asks for.
    requests: Mapping[str, int]
    #: Node -> what becomes of it.
    marks: Mapping[str, Mark]
    #: What verdicts are called here, where that is something else.
    words: Mapping[Kind, str] = {}

    def needs(self, mark: Mark) -> Mapping[str, int]:
        """What those that land there ask for together; where none does, what one would."""
        if mark.needs is not None:
            return mark.needs
        return {name: count * max(mark.landing, 1) for name, count in self.requests.items()}

    def called(self, kind: Kind) -> str:
        """The verdict in words."""
        return self.words.get(kind, LOOKS[kind].words)


class Mark(NamedTuple):
    """A verdict about one node."""

    kind: Kind
    #: In a few words, and in full.
    why: str = ""
    evidence: tuple[str, ...] = ()
    #: How many pods land here.
    landing: int = 0
    #: What they ask for together, where that is not the view's amount for each.
    needs: Mapping[str, int] | None = None
    scores: Mapping[str, int] = {}
    candidate: CandidateRow | None = None


def views(report: Report, nodes: int) -> list[View]:
    """Everything that can be shown on a map of that many nodes, the first as the page opens."""
    found = list(_views(report, nodes)) or [View("As it is", {}, {}, {"none": "nodes"})]
    added = added_nodes(report)
    return [view._replace(marks={**view.marks, **_new(added, view)}) for view in found] if added else found


def added_nodes(report: Report) -> tuple[AddedNode, ...]:
    """The nodes that an autoscaler adds on the way to the answer."""
    rows = (each for each in (report.autoscaler, report.consolidate) if each is not None)
    return tuple(node for row in rows for node in row.added)


def _new(added: Sequence[AddedNode], view: View) -> Mapping[str, Mark]:
    """What stands on the cards of new nodes: the machine and its price, and what the view has to say of it."""
    return {row.node: _as_new(row, view.marks.get(row.node, Mark("none"))) for row in added}


def _as_new(row: AddedNode, known: Mark) -> Mark:
    price = "" if row.price is None else f"{row.price:g} an hour"
    said = ", ".join(filter(None, [price, row.instance_type, row.capacity_type, known.why]))
    group = f"of {row.group}" if row.group else ""
    return known._replace(kind="new", why=said or group, evidence=tuple(filter(None, [group, *known.evidence])))


def _views(report: Report, nodes: int) -> Iterator[View]:
    if report.scenarios:
        is_drain = report.command == "drain"
        may, may_not = ("can be drained", "cannot be drained") if is_drain else ("may fail", "may not fail")
        marks = {row.scenario: _scenario(ok=row.verdict.ok, why=row.verdict.why) for row in report.scenarios}
        yield View(f"Each {'drained' if is_drain else 'lost'} alone", {}, marks, {"lands": may, "rejected": may_not})
    if report.audit is not None:
        yield View("Findings", {}, _findings(report.audit), {"rejected": "is in a finding", "none": "is in none"})
    if report.deschedule is not None:
        yield View("What is evicted, and where it lands", {}, _descheduled(report.deschedule), _DIFFERENT)
    if report.consolidate is not None:
        yield View(
            "What would be removed", {}, _consolidated(report.consolidate), {"lands": "gets pods", "none": "stays"}
        )
    if report.autoscaler is not None and report.command == "autoscale":
        placed = Counter(each.node for found in report.autoscaler.rounds for each in found.placed)
        marks = {node: Mark("lands", f"+{plural(count, 'pod')}") for node, count in placed.items()}
        yield View("What is added", {}, marks, {"lands": "gets pods", "none": "gets none"})
    if report.capacity is not None and report.capacity.best is not None:
        for row in report.capacity.best.counted:
            marks = {node: Mark("lands", landing=count) for node, count in row.nodes.items()}
            stop = next((each for each in report.decisions if each.rejected), None)
            others = {} if stop is None else _marks(stop)
            yield View(f"{row.pods:,} more of {row.workload}", row.requests, others | marks)
    elif report.decisions:
        yield from _of_decisions(report.decisions, nodes)
    story = report.story
    if story is not None and not report.is_judged:
        yield View("What is different in the end", {}, _ending(story), _DIFFERENT)


def _scenario(*, ok: bool, why: str) -> Mark:
    return Mark("lands") if ok else Mark("rejected", why or "does harm")


def _of_decisions(decisions: Sequence[Decision], nodes: int) -> Iterator[View]:
    if len(decisions) > 1:
        marks = _landings(decisions)
        yield View(f"All {len(decisions):,} pods", {}, marks, {"lands": "gets pods", "none": "gets none"})
    room = _MOST_ENTRIES
    for decision in decisions:
        if decision.detail == "short" and len(decisions) > 1:
            continue
        if room < 0:
            break
        room -= nodes
        yield View(decision.pod, decision.requests, _marks(decision))


def _landings(decisions: Sequence[Decision]) -> Mapping[str, Mark]:
    counts: Counter[str] = Counter(each.node for each in decisions if each.node)
    evicting = {each.node for each in decisions if each.outcome == "Preempts"}
    pods: dict[str, list[str]] = {}
    needs: dict[str, Counter[str]] = {}
    for each in decisions:
        if each.node:
            pods.setdefault(each.node, []).append(each.pod)
            needs.setdefault(each.node, Counter()).update(each.requests)
    return {
        node: Mark(
            "evicts" if node in evicting else "lands",
            some(pods[node], 1),
            tuple(pods[node][:_MOST_NAMED]),
            count,
            needs=needs[node],
        )
        for node, count in counts.items()
    }


def _marks(decision: Decision) -> dict[str, Mark]:
    marks = {row.node: _rejected(row) for row in decision.rejected}
    for row in decision.feasible:
        kind: Kind = "lands" if row.node == decision.node else "tie" if row.node in decision.ties else "fits"
        marks[row.node] = Mark(kind, f"score {row.score}", scores=row.scores, landing=int(kind == "lands"))
    preemption = decision.preemption
    for candidate in preemption.candidates if preemption is not None else ():
        is_chosen = preemption is not None and candidate.node == preemption.node
        known = marks.get(candidate.node, Mark("candidate"))
        evicts = plural(len(candidate.victims), "pod") if candidate.victims else "pods"
        is_tie = preemption is not None and candidate.node in preemption.ties
        marks[candidate.node] = known._replace(
            kind="evicts" if is_chosen else "tie" if is_tie else "candidate",
            why=f"{'would' if is_chosen else 'could'} evict {evicts}",
            candidate=candidate,
            landing=int(is_chosen),
        )
    if decision.node and decision.node not in marks:
        marks[decision.node] = Mark("evicts" if decision.outcome == "Preempts" else "lands", landing=1)
    return marks


def _rejected(row: RejectedRow) -> Mark:
    objections = objections_of(row)
    reasons = [reason for each in objections for reason in each.reasons] or list(row.reasons)
    evidence = [sentence(item) for each in objections for item in each.evidence]
    return Mark("rejected", "; ".join(dict.fromkeys(reasons)), tuple(dict.fromkeys(evidence)))


def _findings(audit: AuditRow) -> Mapping[str, Mark]:
    """The nodes whose loss or drain shows a finding, with the worst one."""
    found: dict[str, list[str]] = {}
    for finding in audit.findings:
        shown_by = (each for each in finding.shown_by if each.probe in ("outage", "drain"))
        for node in dict.fromkeys(name for each in shown_by for name in each.names):
            found.setdefault(node, []).append(f"{finding.level}: {finding.message}")
    return {node: Mark("rejected", said[0], tuple(said)) for node, said in found.items()}


def _descheduled(row: DescheduleRow) -> Mapping[str, Mark]:
    change: Counter[str] = Counter()
    for each in row.evicted:
        change[each.node] -= 1
        if each.replacement is not None and each.replacement.node is not None:
            change[each.replacement.node] += 1
    return _changed(change)


def _consolidated(row: ConsolidateRow) -> Mapping[str, Mark]:
    """The nodes that go, with what that saves; and those that their pods land on."""
    landed = Counter[str]()
    for drain in row.drains:
        landed.update({each.node: each.pods for each in drain.landed})
    marks = {node: Mark("lands", f"+{plural(count, 'pod')}") for node, count in landed.items()}
    saved: dict[str, tuple[str, float | None]] = {each.node: ("", each.saved) for each in row.nodes if each.removable}
    saved |= {node: (each.reason, each.saved) for each in row.commands for node in each.nodes}
    for node, (reason, amount) in saved.items():
        together = " together" if any(node in each.nodes and len(each.nodes) > 1 for each in row.commands) else ""
        said = "" if amount is None else f"saves {amount:g} an hour{together}"
        marks[node] = Mark("goes", ", ".join(filter(None, [said, reason])))
    return marks


def _changed(change: Mapping[str, int]) -> dict[str, Mark]:
    """The nodes with other numbers of pods, and by how many."""
    more = {node: Mark("lands", f"+{plural(count, 'pod')}") for node, count in change.items() if count > 0}
    fewer = {node: Mark("fits", f"-{plural(-count, 'pod')}") for node, count in change.items() if count < 0}
    return more | fewer


_DIFFERENT: Mapping[Kind, str] = {
    "lands": "has more pods",
    "fits": "has fewer pods",
    "rejected": "goes",
    "none": "has as many pods",
}


def _ending(story: Story) -> Mapping[str, Mark]:
    """Nodes by what is different on them at the end."""
    change: Counter[str] = Counter()
    for row in story.workloads:
        change.update(row.after)
        change.subtract(row.before)
    marks = _changed(change)
    lost = story.verdict.nodes if story.verdict is not None else ()
    why = "is drained" if story.verdict is not None and story.verdict.of == "drain" else "fails"
    return marks | {node: Mark("rejected", why) for node in lost}
