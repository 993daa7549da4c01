"""RemovePodsViolatingInterPodAntiAffinity (`framework/plugins/removepodsviolatinginterpodantiaffinity`)."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.descheduler.arguments import RemovePodsViolatingInterPodAntiAffinityArgs
from kwhatif.descheduler.attempt import BrokenAntiAffinity
from kwhatif.descheduler.handle import Handle, Result, chosen
from kwhatif.descheduler.node_fit import AntiAffinity, required_terms
from kwhatif.descheduler.pods import sort_by_priority
from kwhatif.kube.matching.labels import SelectorError
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod

#: By namespace.
_Pods = dict[str, list[Pod]]


def run(args: RemovePodsViolatingInterPodAntiAffinityArgs, handle: Handle) -> str:
    """Evict pods that violate their anti-affinity to other pods, those of low priority first."""
    choose = chosen(args.namespaces, args.label_selector)
    pods = [pod for pod in handle.world.active_on(handle.nodes) if choose(pod)]
    others: _Pods = {}
    on_node: dict[str, list[Pod]] = {}
    for pod in pods:
        others.setdefault(pod.metadata.namespace, []).append(pod)
        on_node.setdefault(pod.spec.node_name, []).append(pod)
    nodes = {node.metadata.name: node for node in handle.nodes}
    for node in handle.nodes:
        if not _evict_from(on_node.get(node.metadata.name, []), others, nodes, handle):
            break
    return ""


def _evict_from(pods: list[Pod], others: _Pods, nodes: Mapping[str, Node], handle: Handle) -> bool:
    """Evict from one node; returns False if the total limit is reached. Evicted pods no longer count."""
    sort_by_priority(pods)
    for pod in pods:
        why = _broken(pod, others, nodes)
        if why is None or not handle.is_evictable(pod):
            continue
        result = handle.evict(pod, why)
        if result is Result.EVICTED:
            _forget(pod, others)
        elif result is Result.NODE_LIMIT:
            return True
        elif result is Result.TOTAL_LIMIT:
            return False
    return True


def _broken(pod: Pod, others: _Pods, nodes: Mapping[str, Node]) -> BrokenAntiAffinity | None:
    """`CheckPodsWithAntiAffinityExist`: terms after one with an invalid selector are ignored."""
    here = nodes[pod.spec.node_name]
    for each in required_terms(pod):
        try:
            term = AntiAffinity(each, pod)
        except SelectorError:
            return None
        for namespace in sorted(term.namespaces):
            for other in others.get(namespace, ()):
                if other.metadata.name == pod.metadata.name or not term.matches(other):
                    continue
                if _share_domain(here, nodes[other.spec.node_name], term.topology_key):
                    return BrokenAntiAffinity(other=key_of(other), topology_key=term.topology_key)
    return None


def _share_domain(one: Node, other: Node, key: str) -> bool:
    """Whether the nodes are in one domain; a node always is with itself, even without the label."""
    if one.metadata.name == other.metadata.name:
        return True
    labels = one.metadata.labels
    return key in labels and labels[key] == other.metadata.labels.get(key)


def _forget(pod: Pod, others: _Pods) -> None:
    pods = others[pod.metadata.namespace]
    del pods[next(index for index, other in enumerate(pods) if other.metadata.name == pod.metadata.name)]
