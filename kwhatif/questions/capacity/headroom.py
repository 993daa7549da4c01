"""How many more pods of each of the most frequent kinds fit in a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from kwhatif.edits.edit import ScaleToMax, SourcedEdit
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import Cluster, ObjectRef, key_of
from kwhatif.kube.model.kinds import find
from kwhatif.kube.model.pod import Pod, is_node_bound
from kwhatif.kube.model.pod_group import PodGroup, group_of, has_groups
from kwhatif.kube.model.workload import SCALABLE
from kwhatif.questions.capacity.filling import CapacityCount, CountedPart
from kwhatif.questions.capacity.more import members_of
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.differences import Differences
from kwhatif.questions.manifests.edited import edit_session
from kwhatif.questions.rows import owner_and_workload
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.report.capacity import CapacityRow, PeakRow, PeakWorkloadRow, ShapeRow
from kwhatif.report.decision import Decision
from kwhatif.report.inputs import SourceRow
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.owners import pods_of

#: The most kinds to count, those with most pods.
MOST_SHAPES = 10

#: JSON, as MessagePack ends at 64 bits, and a quantity may be an integer of any length.
_encode = msgspec.json.Encoder(order="deterministic").encode


def ask_headroom(session: Session, limit: int, peak: PeakRow | None = None) -> Report:
    """Count more pods of each kind, as if it were the only one; the session is not changed.

    Args:
        session: the cluster.
        limit: the most pods to count of each kind.
        peak: how the cluster is at the peak of all workloads; None: it is as it was read.
    """
    found = shapes(session.state)
    rows: list[ShapeRow] = []
    decisions: list[Decision] = []
    caveats: dict[Caveat, None] = dict.fromkeys(session.caveats)
    for shape in found[:MOST_SHAPES]:
        names = _names(shape)
        filling = CapacityCount(session, _parts(names[0], shape, session))
        fit = filling.fill(limit)
        stop = [] if fit.stop is None else [fit.stop]
        rows.append(ShapeRow(running=len(shape.pods), workloads=names, fit=fit.row, gangs=len(shape.groups)))
        decisions += stop
        caveats.update(dict.fromkeys(filling.left_out(stop)))
    report = session.report("capacity", decisions, (*caveats, *session.remarks()))
    left_out = found[MOST_SHAPES:]
    others = sum(len(shape.pods) for shape in left_out)
    row = CapacityRow(limit=limit, shapes=tuple(rows), other_shapes=len(left_out), other_pods=others, peak=peak)
    return msgspec.structs.replace(report, capacity=row)


class Shape(NamedTuple):
    """Pods that are the same for the scheduler."""

    pods: list[PodInfo]
    #: The keys of their groups, if these are placed as a whole; the groups are the same, too.
    groups: Sequence[str] = ()


def _names(shape: Shape) -> tuple[str, ...]:
    """The workloads of the pods, or their groups; those with most pods first."""
    if shape.groups:
        return tuple(f"PodGroup {key}" for key in shape.groups)
    counts = Counter(owner_and_workload(info.pod)[1] or f"Pod {info.key}" for info in shape.pods)
    return tuple(sorted(counts, key=lambda name: (-counts[name], name)))


def _parts(name: str, shape: Shape, session: Session) -> list[CountedPart]:
    """One more of the first workload, or of the first group."""
    if shape.groups:
        return [CountedPart(each) for each in members_of(shape.groups[0], session.state, name)]
    return [CountedPart(_representative(name, shape.pods, session.cluster))]


def shapes(state: State) -> list[Shape]:
    """Kinds of bound pods that are the same for the scheduler, except for labels; the most frequent kinds first.

    Pods that are bound to a node are left out: those of DaemonSets, and static ones. Groups are the same if they and
    their pods ask for the same.
    """
    found: dict[Hashable, list[PodInfo]] = {}
    members: dict[str, list[PodInfo]] = {}
    known = state.cluster.all(PodGroup) if has_groups(state.cluster) else {}
    for info in state.pods.values():
        pod = info.pod
        if not pod.spec.node_name or pod.metadata.deletion_timestamp is not None or is_node_bound(pod):
            continue
        if group_of(pod) in known:
            members.setdefault(group_of(pod), []).append(info)
        else:
            found.setdefault(_shape(info), []).append(info)
    groups: dict[Hashable, list[str]] = {}
    for key in sorted(members):
        groups.setdefault(_shape_of_group(known[key], state.members_of(key).values()), []).append(key)
    of_groups = (Shape([pod for key in keys for pod in members[key]], keys) for keys in groups.values())
    made = (*map(Shape, found.values()), *of_groups)
    return sorted(made, key=lambda shape: (-len(shape.pods), min(info.key for info in shape.pods)))


def _shape_of_group(group: PodGroup, pods: Iterable[PodInfo]) -> Hashable:
    """What the scheduler reads of a group, and of each of its pods."""
    spec = group.spec
    whole = (spec.scheduling_policy, spec.scheduling_constraints, spec.disruption_mode, group.priority)
    return _encode(whole), frozenset(Counter(map(_shape, pods)).items())


def _shape(info: PodInfo) -> Hashable:
    """What the scheduler reads: requests, priority, and placement rules."""
    spec = info.pod.spec
    where = (spec.node_selector, spec.affinity, spec.tolerations, spec.topology_spread_constraints)
    has_claims = any(volume.persistent_volume_claim or volume.ephemeral for volume in spec.volumes)
    rest = (spec.scheduler_name, spec.preemption_policy, bool(spec.resource_claims), has_claims)
    return info.resources.requested, info.priority, info.ports, _encode(where), rest


def _representative(name: str, pods: Sequence[PodInfo], cluster: Cluster) -> Applied:
    """The workload of that name, else the first of the pods."""
    found = find(ObjectRef.parse(name), cluster)
    if found is None or isinstance(found, Pod):
        found = min((info for info in pods if _belongs(info, name)), key=lambda info: info.key).pod
        name = f"Pod {found.metadata.namespace}/{found.metadata.name}"
    return Applied(found, SourceRow(file=name, object=name), restarted=True)


def _belongs(info: PodInfo, name: str) -> bool:
    return (owner_and_workload(info.pod)[1] or f"Pod {info.key}") == name


class AtPeak(NamedTuple):
    """The session at the peak, and the row about it."""

    session: Session
    row: PeakRow


def at_peak(session: Session) -> AtPeak:
    """Scale as the edit `scale hpa to max` does, and place the pending pods, which may evict others.

    Raises:
        InputError: no HorizontalPodAutoscaler scales a workload.
    """
    edit = ScaleToMax(text="scale hpa to max")
    scaled = edit_session(session, [SourcedEdit("--peak", edit)])
    filling = CapacityCount(scaled, ())
    filling.end()
    messages = {each.pod: each.message for each in filling.earlier}
    state = filling.state
    row = PeakRow(
        workloads=tuple(_workloads(session, scaled, filling, messages)),
        evicted=tuple(sorted(key for key in scaled.state.pods.keys() - state.pods.keys())),
    )
    return AtPeak(scaled.at(state), row)


def _workloads(
    before: Session, after: Session, filling: CapacityCount, messages: dict[str, str]
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
                message=next((messages[key] for key in waiting if messages.get(key)), ""),
            )
