"""The answer by node: for a pod, all pods, replicas, scenarios, or the end of a story."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from kwhatif.autoscaler.contract import AddedNode
from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.render.amounts import plural, some
from kwhatif.render.evidence import objections_of
from kwhatif.render.html.data import Kind, Mark, View
from kwhatif.render.sentences import sentence
from kwhatif.report import Report
from kwhatif.report.capacity import FitRow
from kwhatif.report.deciders import ConsolidateRow, DescheduleRow, ResizeRow
from kwhatif.report.decision import Decision, RejectedRow
from kwhatif.report.differences import CompareRow, UpgradeRow
from kwhatif.report.inputs import Picture
from kwhatif.report.risks import AuditRow, ThreatsRow, WhoFitsRow
from kwhatif.report.story import ScenarioRow, Story

#: How many of the pods that land on a node are named.
_MOST_NAMED = 20
#: The maximum number of entries about nodes in the page's data: beyond it, a pod only has an entry for its new node.
_MOST_ENTRIES = 40_000


def views(report: Report, picture: Picture) -> list[View]:
    """Everything that can be shown on a map of these nodes; the page opens with the first."""
    found = list(_views(report, picture)) or [View("As it is", {}, {}, {"none": "nodes"})]
    added = added_nodes(report)
    return [view._replace(marks={**view.marks, **_new(added, view)}) for view in found] if added else found


def added_nodes(report: Report) -> tuple[AddedNode, ...]:
    """The nodes that an autoscaler adds for the answer."""
    rows = (each for each in (report.autoscaler, report.consolidate) if each is not None)
    return tuple(node for row in rows for node in row.added)


def _new(added: Sequence[AddedNode], view: View) -> Mapping[str, Mark]:
    """The text on cards of new nodes: the machine, its price, and the view's verdict."""
    return {row.node: _as_new(row, view.marks.get(row.node, Mark("none"))) for row in added}


def _as_new(row: AddedNode, known: Mark) -> Mark:
    price = "" if row.price is None else f"{row.price:g} an hour"
    said = ", ".join(filter(None, [price, row.instance_type, row.capacity_type, known.why]))
    group = f"of {row.group}" if row.group else ""
    return known._replace(kind="new", why=said or group, evidence=tuple(filter(None, [group, *known.evidence])))


def _views(report: Report, picture: Picture) -> Iterator[View]:
    if report.scenarios:
        is_drain = report.command == "drain"
        may, may_not = (
            ("can be drained", "cannot be drained") if is_drain else ("can fail safely", "cannot fail safely")
        )
        marks = {node: _scenario(row, node) for row in report.scenarios for node in row.verdict.nodes}
        yield View(f"Each {'drained' if is_drain else 'lost'} alone", {}, marks, {"lands": may, "rejected": may_not})
    if report.audit is not None:
        yield View("Findings", {}, _findings(report.audit), {"rejected": "is in a finding", "none": "is in none"})
    if report.deschedule is not None:
        moved = _with_use(_descheduled(report.deschedule), report.deschedule.story, picture)
        yield View("What is evicted, and where it lands", {}, moved, _DIFFERENT)
    if report.consolidate is not None:
        yield View(
            "What would be removed", {}, _consolidated(report.consolidate), {"lands": "gets pods", "none": "stays"}
        )
    if report.autoscaler is not None and report.command == "autoscale":
        placed = Counter(each.node for found in report.autoscaler.rounds for each in found.placed)
        marks = {node: Mark("lands", f"+{plural(count, 'pod')}") for node, count in placed.items()}
        yield View("What is added", {}, marks, {"lands": "gets pods", "none": "gets none"})
    yield from asked_about(report)
    names = [node.name for node in picture.nodes]
    if report.capacity is not None and report.capacity.best is not None:
        yield from _counted(report.capacity.best, report.decisions, names)
    elif report.decisions:
        yield from _of_decisions(report.decisions, names)
    story = report.story
    if story is not None and not report.is_judged and report.resize is None:
        yield View("What is different in the end", {}, _with_use(_ending(story), story, picture), _DIFFERENT)


def _scenario(row: ScenarioRow, node: str) -> Mark:
    zone = "" if row.scenario == node else f"{row.scenario}: "
    if row.verdict.ok:
        return Mark("lands", zone.removesuffix(": "))
    return Mark("rejected", f"{zone}{row.verdict.why or 'does harm'}")


def _counted(fit: FitRow, decisions: Sequence[Decision], names: Sequence[str]) -> Iterator[View]:
    """The nodes of replicas, all and by workload; and what stops the next replica."""
    stop = next((each for each in decisions if each.rejected), None)
    others = {} if stop is None else _marks(stop, names)
    if len(fit.counted) > 1:
        needs: dict[str, Counter[str]] = {}
        landing = Counter[str]()
        for row in fit.counted:
            landing.update(row.nodes)
            for node, count in row.nodes.items():
                needs.setdefault(node, Counter()).update({name: count * each for name, each in row.requests.items()})
        marks = {node: Mark("lands", landing=count, needs=needs[node]) for node, count in landing.items()}
        yield View(f"{sum(landing.values()):,} more pods", {}, others | marks, _GETS)
    for row in fit.counted:
        marks = {node: Mark("lands", landing=count) for node, count in row.nodes.items()}
        yield View(f"{row.pods:,} more of {row.workload}", row.requests, others | marks, _GETS)


_GETS: Mapping[Kind, str] = {"lands": "gets pods", "none": "gets none"}


def _of_decisions(decisions: Sequence[Decision], names: Sequence[str]) -> Iterator[View]:
    if len(decisions) > 1:
        marks = _landings(decisions)
        asked = {} if marks else decisions[0].requests  # then the map shows why all nodes are rejected
        yield View(f"All {len(decisions):,} pods", asked, marks, _GETS)
    room = _MOST_ENTRIES
    for decision in decisions:
        if decision.detail == "short" and len(decisions) > 1:
            continue
        if room < 0:
            break
        room -= len(names)
        yield View(
            decision.pod, decision.requests, _marks(decision, names), _IN_PART if decision.detail == "few" else {}
        )


#: For a decision that only has a part of its evidence.
_IN_PART: Mapping[Kind, str] = {"none": "left out of the report"}


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


def _marks(decision: Decision, names: Sequence[str]) -> dict[str, Mark]:
    marks = {row.node: _rejected(row) for row in decision.rejected}
    marks |= _like_others(decision, names)
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


def _like_others(decision: Decision, names: Sequence[str]) -> Mapping[str, Mark]:
    """The nodes that the report leaves out: others are rejected for the same reasons; only if all are known."""
    standing = [row for row in decision.rejected if row.alike]
    shown = {row.node for row in decision.rejected} | {row.node for row in decision.feasible}
    if decision.preemption is not None:
        shown |= {row.node for row in decision.preemption.candidates}
    missing = [name for name in names if name not in shown]
    if not missing or sum(row.alike for row in standing) != len(missing):
        return {}
    why = _rejected(standing[0]).why if len(standing) == 1 else "for the same reasons as other nodes"
    return dict.fromkeys(missing, Mark("rejected", why))


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
    """The nodes that are removed, with the savings; and the nodes where their pods land."""
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
    fewer = {node: Mark("loses", f"-{plural(-count, 'pod')}") for node, count in change.items() if count < 0}
    return more | fewer


_DIFFERENT: Mapping[Kind, str] = {
    "lands": "has more pods",
    "none": "is as before",
}


def _ending(story: Story) -> Mapping[str, Mark]:
    """The nodes that are different at the end, with the differences."""
    change: Counter[str] = Counter()
    who: dict[str, list[str]] = {}
    for row in story.workloads:
        for node in row.before.keys() | row.after.keys():
            if more := row.after.get(node, 0) - row.before.get(node, 0):
                change[node] += more
                who.setdefault(node, []).append(f"{more:+} of {row.workload}")
    marks = {node: Mark("swaps", some(said, 2)) for node, said in who.items()} | _changed(change)
    lost = story.verdict.nodes if story.verdict is not None else ()
    why = "is drained" if story.verdict is not None and story.verdict.of == "drain" else "fails"
    marks |= {node: Mark("goes", why) for node in lost}
    return {node: mark._replace(evidence=tuple(who.get(node, ()))) for node, mark in marks.items()}


def _with_use(marks: Mapping[str, Mark], story: Story | None, picture: Picture) -> Mapping[str, Mark]:
    """The marks with the use at the end, if it is known: the picture lacks pods of new workloads."""
    if story is None:
        return marks
    more, unknown = _more(story, _asks(picture))
    after = {
        node.name: dict(zip(picture.resources, map(sum, zip(node.used, more[node.name], strict=True)), strict=True))
        for node in picture.nodes
        if node.name in more and node.name not in unknown
    }
    return {node: mark._replace(after=after.get(node)) for node, mark in marks.items()}


def _asks(picture: Picture) -> Mapping[str, Sequence[int]]:
    """Workload, or bare pod -> the requests of one pod."""
    asks = {group.workload: group.requests for group in picture.groups if group.workload}
    for node in picture.nodes:
        groups = ((picture.groups[group], name) for group, name in node.pods)
        asks |= {f"Pod {group.namespace}/{name}": group.requests for group, name in groups if not group.workload}
    return asks


def _more(story: Story, asks: Mapping[str, Sequence[int]]) -> tuple[Mapping[str, Sequence[int]], Collection[str]]:
    """Node -> how much more of each resource is used; and the nodes for which that is not known."""
    more: dict[str, list[int]] = {}
    unknown = set[str]()
    for row in story.workloads:
        for node in row.before.keys() | row.after.keys():
            change = row.after.get(node, 0) - row.before.get(node, 0)
            if change and row.workload not in asks:
                unknown.add(node)
            elif change:
                requests = asks[row.workload]
                known = more.get(node, [0] * len(requests))
                more[node] = [sum_ + change * each for sum_, each in zip(known, requests, strict=True)]
    return more, unknown


# --- one pod, one node, two releases or two clusters -----------------------------------------------------------------


_OTHERS: Mapping[Kind, str] = {"none": "other nodes"}


def asked_about(report: Report) -> Iterator[View]:
    """Views of commands about a single pod, node, release or cluster."""
    if report.threats is not None:
        words: Mapping[Kind, str] = {"evicts": "its loss, drain or taint evicts them", **_OTHERS}
        yield View("Where these pods are evicted", {}, _threats(report.threats), words)
    if report.who_fits is not None:
        takes: Mapping[Kind, str] = {"lands": "is asked about", "fits": "gets some of the pods", **_OTHERS}
        yield View("The node, and where pods go that it does not get", {}, _takers(report.who_fits), takes)
    if report.resize is not None:
        where: Mapping[Kind, str] = {"lands": "grants it", "rejected": "has no room", **_OTHERS}
        yield View("Where the pod runs", {}, _resize(report.resize), where)
    if report.upgrade is not None:
        release = report.upgrade.after
        moved: Mapping[Kind, str] = {"lands": f"gets pods under {release}", "loses": "loses them", **_OTHERS}
        yield View(f"What {release} decides otherwise", {}, _upgraded(report.upgrade), moved)
    if report.compare is not None:
        changed: Mapping[Kind, str] = {"new": "added", "swaps": "changed", "none": "is the same"}
        yield View("Nodes that are different", {}, _compared(report.compare), changed)


def _threats(row: ThreatsRow) -> Mapping[str, Mark]:
    found: dict[str, list[str]] = {}
    for each in row.of("taint", "outage", "drain"):
        what = {"taint": "a taint", "outage": "its loss", "drain": "its drain"}[each.kind]
        found.setdefault(ObjectRef.parse(each.by).key, []).append(f"{what} evicts {plural(len(each.pods), 'pod')}")
    return {node: Mark("evicts", "; ".join(said), tuple(said)) for node, said in found.items()}


def _takers(row: WhoFitsRow) -> Mapping[str, Mark]:
    elsewhere: dict[str, list[str]] = {}
    for each in row.takers:
        if each.elsewhere is not None:
            elsewhere.setdefault(each.elsewhere, []).append(each.subject)
    marks = {node: Mark("fits", some(subjects, 1), tuple(subjects)) for node, subjects in elsewhere.items()}
    here = [each.subject for each in row.takers if each.verdict == "chosen"]
    return marks | {row.node: Mark("lands", f"gets {some(here, 1)}" if here else "gets none", tuple(here))}


def _resize(row: ResizeRow) -> Mapping[str, Mark]:
    if row.decision == "Fits":
        return {row.node: Mark("lands", row.change)}
    return {
        row.node: Mark("rejected", row.message or row.change, tuple(f"in the way: {pod}" for pod in row.in_the_way))
    }


def _upgraded(row: UpgradeRow) -> Mapping[str, Mark]:
    """The new and the old nodes of pods for which another release decides differently."""
    gets: dict[str, list[str]] = {}
    loses: dict[str, list[str]] = {}
    for each in (*row.pending, *row.workloads):
        for found, landing, other in ((gets, each.after, each.before), (loses, each.before, each.after)):
            for node in landing.nodes:
                if node not in other.nodes:
                    found.setdefault(node, []).append(each.workload)
    marks = {node: Mark("loses", some(who, 1), tuple(who)) for node, who in loses.items()}
    return marks | {node: Mark("lands", some(who, 1), tuple(who)) for node, who in gets.items()}


def _compared(row: CompareRow) -> Mapping[str, Mark]:
    found: dict[str, Mark] = {}
    for each in row.changes:
        kind, name = ObjectRef.parse(each.object)
        if kind != "Node" or each.change == "removed":
            continue
        how = tuple(f"{field.field} {field.before or '-'} → {field.after or '-'}" for field in each.fields)
        known = found.get(name, Mark("new" if each.change == "added" else "swaps", each.change))
        found[name] = known._replace(why="; ".join(how) or known.why, evidence=(*known.evidence, *how))
    return found
