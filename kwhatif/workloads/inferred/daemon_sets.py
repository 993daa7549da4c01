"""DaemonSets that the input lacks: what their pods show of them, and on which nodes they want some."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec.structs import replace

from kwhatif.kube.matching.node_affinity import NAME_FIELD
from kwhatif.kube.model.affinity import Affinity, NodeAffinity, NodeSelector, NodeSelectorTerm
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta, Requirement
from kwhatif.kube.model.node import HOSTNAME, Node
from kwhatif.kube.model.pod import PodSpec, PodTemplateSpec
from kwhatif.kube.model.workload import DaemonSet, DaemonSetSpec, UpdateStrategy
from kwhatif.workloads.daemon_set import eligible_nodes, node_of, own_tolerations
from kwhatif.workloads.inferred.groups import OwnedPods, pods_by_owner
from kwhatif.workloads.inferred.templates import template_from, without_pinning

#: Differs from node to node, so that it says nothing about nodes to come.


def missing_daemon_sets(cluster: Cluster) -> Iterator[DaemonSet]:
    """A DaemonSet for every owner of that kind."""
    return (_made(pods, cluster) for pods in pods_by_owner(DaemonSet, cluster))


def _made(pods: OwnedPods, cluster: Cluster) -> DaemonSet:
    """It wants a pod where it has one, be that terminating or at its end: its controller makes another there.

    What the template's affinity demands of nodes is not known: the controller puts the name of the node in its place.
    """
    pod = pods.newest
    template = template_from(pod, pods.of_revision(pod), own_tolerations(pod.spec))
    template = replace(template, spec=without_pinning(template.spec))
    strategy = UpdateStrategy(type="OnDelete") if _stays(pods) else UpdateStrategy()
    made = DaemonSet(
        api_version="apps/v1",
        metadata=ObjectMeta(
            namespace=pods.namespace, name=pods.owner.name, uid=pods.owner.uid, creation_timestamp=pods.created
        ),
        # One without a selector is not touched by its controller.
        spec=DaemonSetSpec(
            selector=pods.selector or LabelSelector(match_labels=template.metadata.labels),
            template=template,
            update_strategy=strategy,
        ),
    )
    wanted = {node_of(each) for each in pods.pods}
    return _only_on(made, template, wanted, cluster)


def _stays(pods: OwnedPods) -> bool:
    """Whether pods of several templates are there to stay: nothing is being replaced, or none says of which it is."""
    return "" in pods.revisions or (len(pods.revisions) > 1 and pods.is_at_rest)


def _only_on(daemon_set: DaemonSet, template: PodTemplateSpec, wanted: Collection[str], cluster: Cluster) -> DaemonSet:
    """It with an affinity that keeps its pods from nodes that could take one, and have none."""
    eligible = eligible_nodes(daemon_set, cluster)
    without = [name for name in eligible if name not in wanted]
    if not without:
        return daemon_set
    nodes = cluster.all(Node)
    inside = {name: nodes[name] for name in eligible if name in wanted}
    outside = {name: nodes[name] for name in without}
    terms = _by_label(inside, outside) or _by_name(inside, outside)
    spec = replace(template.spec, affinity=_with_terms(template.spec, terms))
    return replace(daemon_set, spec=replace(daemon_set.spec, template=replace(template, spec=spec)))


def _with_terms(spec: PodSpec, terms: tuple[NodeSelectorTerm, ...]) -> Affinity:
    affinity = spec.affinity or Affinity()
    node = replace(affinity.node_affinity or NodeAffinity(), required=NodeSelector(node_selector_terms=terms))
    return replace(affinity, node_affinity=node)


def _by_label(inside: Mapping[str, Node], outside: Mapping[str, Node]) -> tuple[NodeSelectorTerm, ...]:
    """One label that divides the nodes as the pods do: then new nodes get one, too, as their labels say.

    Of several the one with the fewest values is taken; none that has a value for nearly every node.
    """
    found: list[tuple[int, str, Requirement]] = []
    keys = {key for node in (*inside.values(), *outside.values()) for key in node.metadata.labels} - {HOSTNAME}
    for key in sorted(keys):
        ours = {node.metadata.labels.get(key) for node in inside.values()}
        theirs = {node.metadata.labels.get(key) for node in outside.values()}
        if not ours.isdisjoint(theirs):
            continue
        if None not in ours:
            values = _sorted(ours)
            found.append((len(values), key, Requirement(key=key, operator="In", values=values)))
        elif None not in theirs:
            values = _sorted(theirs)
            found.append((len(values), key, Requirement(key=key, operator="NotIn", values=values)))
    few = [each for each in found if 2 * each[0] <= max(2, len(inside) if each[2].operator == "In" else len(outside))]
    return (NodeSelectorTerm(match_expressions=(min(few)[2],)),) if few else ()


def _sorted(values: Collection[str | None]) -> tuple[str, ...]:
    return tuple(sorted(value for value in values if value is not None))


def _by_name(inside: Mapping[str, Node], outside: Mapping[str, Node]) -> tuple[NodeSelectorTerm, ...]:
    """The nodes themselves, or all but the others, whichever are fewer; of these new nodes are, and get one."""
    if len(outside) <= len(inside):
        fields = (Requirement(key=NAME_FIELD, operator="NotIn", values=(name,)) for name in sorted(outside))
        return (NodeSelectorTerm(match_fields=tuple(fields)),)
    return tuple(
        NodeSelectorTerm(match_fields=(Requirement(key=NAME_FIELD, operator="In", values=(name,)),))
        for name in sorted(inside)
    )
