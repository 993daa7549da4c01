"""`capacity --peak`: the cluster with each workload at its autoscaler's maximum, all those pods placed first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kwhatif.edits.edit import ScaleToMax, SourcedEdit
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.workload import SCALABLE
from kwhatif.questions.capacity.filling import CapacityCount
from kwhatif.questions.manifests.differences import Differences
from kwhatif.questions.manifests.edited import edit_session
from kwhatif.questions.session.session import Session
from kwhatif.report.capacity import PeakRow, PeakWorkloadRow
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.owners import pods_of


class Peak(NamedTuple):
    """The session at the peak, and what it came to."""

    session: Session
    row: PeakRow


def at_peak(session: Session) -> Peak:
    """Scale as the edit `scale hpa to max` does, and place what waits then; pods may evict others on the way.

    Raises:
        InputError: no HorizontalPodAutoscaler scales a workload.
    """
    edit = ScaleToMax(text="scale hpa to max")
    scaled = edit_session(session, [SourcedEdit("--peak", edit)])
    filling = CapacityCount(scaled, ())
    filling.end()
    said = {each.pod: each.message for each in filling.earlier}
    state = filling.state
    row = PeakRow(
        workloads=tuple(_workloads(session, scaled, filling, said)),
        evicted=tuple(sorted(key for key in scaled.state.pods.keys() - state.pods.keys())),
    )
    return Peak(scaled.at(state), row)


def _workloads(
    before: Session, after: Session, filling: CapacityCount, said: dict[str, str]
) -> Iterator[PeakWorkloadRow]:
    differences = Differences(before.state, after.state)
    for kind in SCALABLE:
        for each in differences.of(kind):
            old, new = each.before, each.after
            if old is None or new is None or replicas_of(new) <= replicas_of(old):
                continue
            waiting = [key_of(pod) for pod in pods_of(new, filling.state.cluster) if not pod.spec.node_name]
            yield PeakWorkloadRow(
                workload=f"{kind.__name__} {each.key}",
                replicas=replicas_of(old),
                peak=replicas_of(new),
                pending=len(waiting),
                message=next((said[key] for key in waiting if said.get(key)), ""),
            )
