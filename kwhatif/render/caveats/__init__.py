"""Caveats in words: in a few words and in a sentence. Each is in the module of its subject; some are combined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from msgspec.structs import replace

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import AutoscalingCaveat
from kwhatif.kube.model.caveat.manifests import ManifestsCaveat, NothingJudged
from kwhatif.kube.model.caveat.reading import LackingCaveat, ReadingCaveat, StaleSnapshot, is_absent
from kwhatif.kube.model.caveat.scheduling import DeschedulingCaveat, SchedulingCaveat
from kwhatif.kube.model.caveat.workloads import NodesNotAdded, WorkloadsCaveat
from kwhatif.questions.session.inventory import Inventory
from kwhatif.render.amounts import plural
from kwhatif.render.caveats.input import absent, of_lacking, of_manifests, of_reading
from kwhatif.render.caveats.scheduling import of_autoscaling, of_descheduling, of_scheduling
from kwhatif.render.caveats.workloads import nodes_not_added, of_workloads
from kwhatif.report import Report

#: How many caveats a first line names; the others are counted, and listed below.
_MOST = 1


def inventory_worded(inventory: Inventory) -> Inventory:
    """The inventory with sentences for everything that is missing."""
    missing, caveats = (
        tuple(replace(caveat, message=sentence(caveat)) for caveat in found)
        for found in (inventory.missing_details, inventory.caveat_details)
    )
    return replace(
        inventory,
        missing=tuple(caveat.message for caveat in missing),
        caveats=sentences(caveats),
        missing_details=missing,
        caveat_details=caveats,
    )


def besides_findings(report: Report) -> Sequence[str]:
    """The caveats that are not among the findings already."""
    findings = report.policy.findings if report.policy else ()
    found = {finding.caveat for finding in findings if finding.caveat is not None}
    if not found:
        return report.caveats
    return sentences([caveat for caveat in report.caveat_details if caveat not in found])


def sentences(caveats: Sequence[Caveat]) -> tuple[str, ...]:
    """Sentences for all caveats. Missing kinds are combined into one sentence, and so are nodes that might be added."""
    absent_kinds = [caveat for caveat in caveats if is_absent(caveat)]
    not_added = [caveat for caveat in caveats if isinstance(caveat, NodesNotAdded)]

    def said(caveat: Caveat) -> str:
        if is_absent(caveat):
            return absent(absent_kinds)[1]
        if isinstance(caveat, NodesNotAdded):
            return nodes_not_added([each for each in not_added if each.sign == caveat.sign])
        return sentence(caveat)

    return tuple(dict.fromkeys(map(said, caveats)))


def sentence(caveat: Caveat) -> str:
    """What is left out, or was assumed."""
    return wording(caveat)[1]


def in_short(caveats: Iterable[Caveat]) -> str:
    """The first caveat in a few words, and the number of others; "" if there are none."""
    found = sorted(caveats, key=_urgency)
    absent_kinds = [caveat for caveat in found if is_absent(caveat)]
    words = list(dict.fromkeys((absent(absent_kinds) if is_absent(caveat) else wording(caveat))[0] for caveat in found))
    shown = words[:_MOST]
    if len(words) > _MOST:
        shown.append(plural(len(words) - _MOST, "more caveat"))
    return "; ".join(shown)


def _urgency(caveat: Caveat) -> int:
    """Sort key: caveats after which nothing was judged come first, the age last."""
    return -isinstance(caveat, NothingJudged) + isinstance(caveat, StaleSnapshot)


def wording(caveat: Caveat) -> tuple[str, str]:
    """What is left out, or was assumed: in a few words, for the line of a verdict; and in a sentence."""
    if isinstance(caveat, LackingCaveat):
        return of_lacking(caveat)
    if isinstance(caveat, ReadingCaveat):
        return of_reading(caveat)
    if isinstance(caveat, ManifestsCaveat):
        return of_manifests(caveat)
    if isinstance(caveat, WorkloadsCaveat):
        return of_workloads(caveat)
    if isinstance(caveat, SchedulingCaveat):
        return of_scheduling(caveat)
    if isinstance(caveat, DeschedulingCaveat):
        return of_descheduling(caveat)
    if isinstance(caveat, AutoscalingCaveat):
        return of_autoscaling(caveat)
    assert_never(caveat)
