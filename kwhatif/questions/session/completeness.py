"""What a dump lacks: kinds without any object, and objects that others refer to.

`snapshot info` lists all of it (`gaps`). A report says what matters to its decisions (`lacking_for`): a small cluster
that was written by hand has what the question needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kwhatif.admission.pod_security import enforced, fills_in_contexts
from kwhatif.admission.quota_scopes import KNOWN_SCOPES
from kwhatif.kube.matching.volumes import claim_class, claim_names
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.manifests import PodSecurityNotChecked, UnknownQuotaScope
from kwhatif.kube.model.caveat.reading import (
    DanglingReference,
    NoBudgets,
    NodesNotInInput,
    NoLimits,
    NoNamespaces,
    NoPods,
    NoPriorityClasses,
    NoServices,
    NoStorage,
    OwnersInferred,
    VersionNotDefault,
)
from kwhatif.kube.model.caveat.scheduling import GangsNotModelled, HugeAmounts
from kwhatif.kube.model.caveat.workloads import ReplicaSetsInferred
from kwhatif.kube.model.cluster import Cluster, key_of, lacks, lacks_node
from kwhatif.kube.model.meta import Model, controller_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.pod_group import PodGroup, has_groups
from kwhatif.kube.model.policy import LimitRange, PodDisruptionBudget, PriorityClass, ResourceQuota
from kwhatif.kube.model.resource import ResourceClaim
from kwhatif.kube.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from kwhatif.kube.model.workload import Deployment, Namespace, ReplicaSet, ReplicationController, Service, StatefulSet
from kwhatif.report.decision import Decision
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State
from kwhatif.workloads.inferred_owners import Inferred

_CONTROLLERS: Mapping[str, type[Model]] = {
    "ReplicaSet": ReplicaSet,
    "ReplicationController": ReplicationController,
    "StatefulSet": StatefulSet,
}


#: What objects of one kind refer to: kind and key of each.
References = Callable[[Any], Iterable[tuple[type[Model], str]]]


def gaps(cluster: Cluster) -> Iterator[Caveat]:
    """All that is missing."""
    yield from _dangling(cluster)
    if cluster.all(Node):
        yield from _absent(cluster, _ABSENT)
        if cluster.all(PersistentVolume) and _lacks(cluster, CSINode):
            yield NoStorage(kinds=("CSINode",))


def lacking_for(cluster: Cluster, decisions: Sequence[Decision], *, makes_pods: bool) -> Iterator[Caveat]:
    """The missing objects that these decisions depend on; none if the cluster was read completely.

    Args:
        cluster: it.
        decisions: the report's.
        makes_pods: whether they are about pods that are new: then what bounds new pods matters.
    """
    judged = [decision for decision in decisions if decision.outcome in _JUDGED]
    if not cluster.all(Node) or not judged:
        return
    matters = dict(_ABSENT)
    if not any(decision.preemption and decision.preemption.candidates for decision in judged):
        del matters[NoBudgets]
    if not any(map(_depends_on_classes, judged)):
        del matters[NoPriorityClasses]
    if not any(decision.outcome == "Placed" for decision in judged):
        del matters[NoServices]
    if not makes_pods:
        del matters[NoLimits]
    yield from _absent(cluster, matters)


def nodes_not_in_input(state: State) -> Iterator[Caveat]:
    """A caveat about pods on nodes that the input lacks."""
    found = {name: len(pods) for name, pods in state.strays.items() if lacks_node(name, state.cluster)}
    if found:
        yield NodesNotInInput(nodes=tuple(sorted(found)), count=sum(found.values()))


def said_of(inferred: Inferred, cluster: Cluster) -> Iterator[Caveat]:
    """A caveat about objects that were inferred from pods, as the input lacks them, or they could not be read."""
    names = {f"{each.metadata.namespace}/{each.metadata.owner_references[0].name}" for each in inferred.sets}
    # The controller of a custom resource makes no ReplicaSets: none is lacking.
    real = {name for name in names if (known := cluster.get(Deployment, name)) is None or not known.metadata.stands_for}
    if real:
        yield ReplicaSetsInferred(workloads=tuple(f"Deployment {name}" for name in sorted(real)))
    reasons: dict[str, list[type]] = {}
    for kind in inferred.owners:
        reasons.setdefault(cluster.facts.unread.get(kind.__name__, ""), []).append(kind)
    for reason, kinds in reasons.items():
        count = sum(len(inferred.owners[kind]) for kind in kinds)
        yield OwnersInferred(kinds=tuple(kind.__name__ for kind in kinds), reason=reason, count=count)


def lacking_for_story(
    cluster: Cluster, *, evicts: bool, makes_pods: bool = False, uses_volumes: bool = False
) -> Iterator[Caveat]:
    """The missing objects that a simulation of this cluster depends on.

    Args:
        cluster: it.
        evicts: whether it evicts pods: then budgets matter.
        makes_pods: whether more pods are there in the end than before: then what bounds new pods matters.
        uses_volumes: whether it makes pods with claims: then it matters where their volumes are.
    """
    if not cluster.all(Node):
        return
    matters: dict[Callable[..., Caveat], bool] = {NoPods: True, NoBudgets: evicts, NoLimits: makes_pods}
    yield from _absent(cluster, {each: _ABSENT[each] for each, counts in matters.items() if counts})
    storage = [kind.__name__ for kind in _STORAGE if uses_volumes and _lacks(cluster, kind)]
    if storage:
        yield NoStorage(kinds=tuple(storage))


_STORAGE = (PersistentVolumeClaim, PersistentVolume, StorageClass)
_JUDGED = ("Placed", "Preempts", "Unschedulable")
#: What is said about a dump without any object of some kinds.
_ABSENT: Mapping[Callable[..., Caveat], Sequence[type[Model]]] = {
    NoPods: (Pod,),
    NoBudgets: (PodDisruptionBudget,),
    NoPriorityClasses: (PriorityClass,),
    NoLimits: (LimitRange, ResourceQuota),
    NoNamespaces: (Namespace,),
    NoServices: (Service,),
}


def _depends_on_classes(decision: Decision) -> bool:
    """Whether another default class could change the answer: where a pod fits, its priority does not matter to it."""
    return decision.outcome != "Placed" and not decision.priority_class_name and not decision.priority


def _absent(cluster: Cluster, kinds: Mapping[Callable[..., Caveat], Sequence[type[Model]]]) -> Iterator[Caveat]:
    for lacking, wanted in kinds.items():
        missing = tuple(kind.__name__ for kind in wanted if _lacks(cluster, kind))
        if missing:
            yield lacking(kinds=missing)


def _lacks(cluster: Cluster, kind: type[Model]) -> bool:
    """Whether the input has none of the kind, which may be right or a gap; unread kinds are reported elsewhere."""
    return kind.__name__ not in cluster.facts.unread and lacks(kind, cluster)


def _dangling(cluster: Cluster) -> Iterator[DanglingReference]:
    for referrer, references in _RULES:
        missing: dict[type[Model], dict[str, str]] = {}
        for key, obj in cluster.all(referrer).items():  # type: ignore[type-var]
            for kind, wanted in references(obj):
                if wanted not in cluster.all(kind):  # type: ignore[type-var]
                    missing.setdefault(kind, {}).setdefault(wanted, f"{referrer.__name__} {key}")
        for kind, names in missing.items():
            if kind.__name__ not in cluster.facts.unread:
                name, user = next(iter(names.items()))
                yield DanglingReference(kind=kind.__name__, example=name, count=len(names), user=user)


def _node(pod: Pod) -> Iterator[tuple[type[Model], str]]:
    if pod.spec.node_name and not is_terminal(pod):
        yield Node, pod.spec.node_name


def _namespace(pod: Pod) -> Iterator[tuple[type[Model], str]]:
    yield Namespace, pod.metadata.namespace


def _controller(pod: Pod) -> Iterator[tuple[type[Model], str]]:
    owner = controller_of(pod.metadata)
    if owner is not None and owner.kind in _CONTROLLERS:
        yield _CONTROLLERS[owner.kind], f"{pod.metadata.namespace}/{owner.name}"


def _claims(pod: Pod) -> Iterator[tuple[type[Model], str]]:
    if is_terminal(pod):
        return
    for claim in claim_names(pod):
        yield PersistentVolumeClaim, f"{pod.metadata.namespace}/{claim.name}"
    for device in pod.spec.resource_claims:
        if device.resource_claim_name:
            yield ResourceClaim, f"{pod.metadata.namespace}/{device.resource_claim_name}"


def _storage(claim: PersistentVolumeClaim) -> Iterator[tuple[type[Model], str]]:
    if claim.spec.volume_name:
        yield PersistentVolume, claim.spec.volume_name
    elif claim_class(claim):
        yield StorageClass, claim_class(claim)


_RULES: tuple[tuple[type[Model], References], ...] = (
    (Pod, _node),
    (Pod, _namespace),
    (Pod, _controller),
    (Pod, _claims),
    (PersistentVolumeClaim, _storage),
)


# --- what is not modelled ------------------------------------------------------------------------------------------


def unmodelled_for(cluster: Cluster, decisions: Sequence[Decision]) -> Iterator[Caveat]:
    """Caveats about objects of the input that matter to these decisions and are not modelled.

    `cluster` has what the manifests bring.
    """
    pods: dict[str, list[str]] = {}
    for decision in decisions:
        if decision.outcome != "Denied":
            pods.setdefault(decision.pod.partition("/")[0], []).append(decision.pod)
    levels = {name: enforced(name, cluster).level for name in sorted(pods)}
    checked = tuple((name, level) for name, level in levels.items() if level != "privileged")
    if checked and fills_in_contexts(cluster):
        about = tuple(pod for name, _ in checked for pod in pods[name])
        yield PodSecurityNotChecked(namespaces=checked, pods=about)
    for quota in cluster.all(ResourceQuota).values():
        for scope in _scopes(quota) if quota.metadata.namespace in pods else ():
            if scope not in KNOWN_SCOPES:
                yield UnknownQuotaScope(quota=key_of(quota), scope=scope)


def huge_amounts(nodes: Iterable[NodeInfo]) -> Iterator[Caveat]:
    """A caveat about amounts of these nodes that are too large for floats, or whose products exceed 64 bits."""
    names = tuple([node.name for node in nodes if node.is_huge])
    if names:
        yield HugeAmounts(nodes=names)


def _scopes(quota: ResourceQuota) -> Iterator[str]:
    yield from quota.spec.scopes
    if quota.spec.scope_selector is not None:
        yield from (requirement.scope_name for requirement in quota.spec.scope_selector.match_expressions)


def without_modelled(caveats: Iterable[Caveat], cluster: Cluster) -> Iterator[Caveat]:
    """The caveats without those about groups of pods, if these are placed as a whole."""
    for caveat in caveats:
        if isinstance(caveat, GangsNotModelled) and has_groups(cluster):
            if caveat.groups:
                yield GangsNotModelled(groups=caveat.groups)
        elif isinstance(caveat, VersionNotDefault) and caveat.kind == PodGroup.__name__ and has_groups(cluster):
            continue  # the gate asks for this version
        else:
            yield caveat
