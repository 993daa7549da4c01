"""How many more pods fit of each of the most frequent kinds in a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

import msgspec

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.capacity.filling import Filling, Part
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.rows import owner_and_workload
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.report.capacity import CapacityRow, ShapeRow
from kwhatif.report.decision import Decision
from kwhatif.report.inputs import SourceRow
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: The most kinds to count, those with most pods.
MOST_SHAPES = 10

#: JSON, as MessagePack ends at 64 bits, and a quantity may be an integer of any length.
_encode = msgspec.json.Encoder(order="deterministic").encode
_BY_KIND: Mapping[str, type[KubernetesObject]] = {each.kind: each.type for each in RESOURCES.values()}


def ask_headroom(session: Session, limit: int, template_paths: Mapping[str, Sequence[str]]) -> Report:
    """Count more pods of each kind, as if it were the only one; the session is not changed.

    Args:
        session: the cluster.
        limit: the most pods to count of each kind.
        template_paths: kind of custom resources -> where their pod templates are.
    """
    found = shapes(session.state)
    rows: list[ShapeRow] = []
    decisions: list[Decision] = []
    caveats: dict[Caveat, None] = dict.fromkeys(session.caveats)
    for pods in found[:MOST_SHAPES]:
        counts = Counter(owner_and_workload(info.pod)[1] or f"Pod {info.key}" for info in pods)
        names = sorted(counts, key=lambda name: (-counts[name], name))
        filling = Filling(session, [Part(_representative(names[0], pods, session.cluster))], (), template_paths)
        fit = filling.fill(limit)
        stop = [] if fit.stop is None else [fit.stop]
        rows.append(ShapeRow(running=len(pods), workloads=tuple(names), fit=fit.row))
        decisions += stop
        caveats.update(dict.fromkeys(filling.left_out(stop)))
    report = session.report("capacity", decisions, (*caveats, *session.remarks()), groups=False)
    left_out = found[MOST_SHAPES:]
    row = CapacityRow(limit=limit, shapes=tuple(rows), other_shapes=len(left_out), other_pods=sum(map(len, left_out)))
    return msgspec.structs.replace(report, capacity=row)


def shapes(state: State) -> list[list[PodInfo]]:
    """Groups of bound pods that are the same for the scheduler, except for labels; the largest groups first.

    Without pods that are tied to a node: those of DaemonSets, and static ones.
    """
    found: dict[Hashable, list[PodInfo]] = {}
    for info in state.pods.values():
        pod = info.pod
        owner = controller_of(pod.metadata)
        is_tied = pod.metadata.annotations.mirror is not None or (
            owner is not None and owner.kind in ("DaemonSet", "Node")
        )
        if pod.spec.node_name and pod.metadata.deletion_timestamp is None and not is_tied:
            found.setdefault(_shape(info), []).append(info)
    return sorted(found.values(), key=lambda pods: (-len(pods), min(info.key for info in pods)))


def _shape(info: PodInfo) -> Hashable:
    """What the scheduler reads: requests, priority, and placement rules."""
    spec = info.pod.spec
    where = (spec.node_selector, spec.affinity, spec.tolerations, spec.topology_spread_constraints)
    has_claims = any(volume.persistent_volume_claim or volume.ephemeral for volume in spec.volumes)
    rest = (spec.scheduler_name, spec.preemption_policy, bool(spec.resource_claims), has_claims)
    return info.resources.requested, info.priority, info.ports, _encode(where), rest


def _representative(name: str, pods: Sequence[PodInfo], cluster: Cluster) -> Applied:
    """The workload of that name, else the first of the pods."""
    kind, _, key = name.partition(" ")
    type_ = _BY_KIND.get(kind)
    found = None if type_ is None or type_ is Pod else cluster.get(type_, key)
    if found is None:
        found = min((info for info in pods if _belongs(info, name)), key=lambda info: info.key).pod
        name = f"Pod {found.metadata.namespace}/{found.metadata.name}"
    return Applied(found, SourceRow(file=name, object=name), restarted=True)


def _belongs(info: PodInfo, name: str) -> bool:
    return (owner_and_workload(info.pod)[1] or f"Pod {info.key}") == name
