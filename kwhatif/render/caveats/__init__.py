"""Sentences for caveats: each in the module of its subject; some are combined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from msgspec.structs import replace

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import AutoscalingCaveat
from kwhatif.kube.model.caveat.manifests import ManifestsCaveat
from kwhatif.kube.model.caveat.reading import LackingCaveat, ReadingCaveat, is_absent
from kwhatif.kube.model.caveat.scheduling import DeschedulingCaveat, SchedulingCaveat
from kwhatif.kube.model.caveat.workloads import NodesNotAdded, WorkloadsCaveat
from kwhatif.questions.session.inventory import Inventory
from kwhatif.render.caveats import autoscaling, manifests, reading, scheduling, workloads
from kwhatif.report import Report


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
    """Sentences for all caveats; missing kinds are combined to one sentence, and so is what an autoscaler would add."""
    absent = [caveat for caveat in caveats if is_absent(caveat)]
    not_added = [caveat for caveat in caveats if isinstance(caveat, NodesNotAdded)]

    def said(caveat: Caveat) -> str:
        if is_absent(caveat):
            return reading.absent(absent)
        if isinstance(caveat, NodesNotAdded):
            return workloads.not_added([each for each in not_added if each.sign == caveat.sign])
        return sentence(caveat)

    return tuple(dict.fromkeys(map(said, caveats)))


def sentence(caveat: Caveat) -> str:
    """What is left out, or was assumed."""
    if isinstance(caveat, LackingCaveat):
        return reading.lacking_sentence(caveat)
    if isinstance(caveat, ReadingCaveat):
        return reading.sentence(caveat)
    if isinstance(caveat, ManifestsCaveat):
        return manifests.sentence(caveat)
    if isinstance(caveat, WorkloadsCaveat):
        return workloads.sentence(caveat)
    if isinstance(caveat, SchedulingCaveat):
        return scheduling.sentence(caveat)
    if isinstance(caveat, DeschedulingCaveat):
        return scheduling.descheduling_sentence(caveat)
    if isinstance(caveat, AutoscalingCaveat):
        return autoscaling.sentence(caveat)
    assert_never(caveat)
