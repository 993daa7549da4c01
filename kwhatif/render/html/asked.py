"""What answers about one pod, one node, two releases or two clusters say about nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.render.html.looks import Kind, Mark, View
from kwhatif.report import Report
from kwhatif.report.clusters import CompareRow
from kwhatif.report.resize import ResizeRow
from kwhatif.report.threats import ThreatsRow, WhoFitsRow
from kwhatif.report.upgrade import UpgradeRow
from kwhatif.words.amounts import plural, some

_OTHERS: Mapping[Kind, str] = {"none": "other nodes"}


def asked_about(report: Report) -> Iterator[View]:
    """For commands that are about one thing."""
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
    """Where pods go that another release decides differently, and where they went."""
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
