"""PreFilter: counts the pods that match required terms (`interpodaffinity/filtering.go`)."""

from __future__ import annotations

from kwhatif.scheduler.framework.status import SkipUntil, Status
from kwhatif.scheduler.plugins.inter_pod_affinity.filtering import AffinityFilter, Counts
from kwhatif.scheduler.plugins.inter_pod_affinity.incoming import AcceptsNamespace, Incoming, add_by_domain
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


def compile_filter(pod: PodInfo, state: State, accepts: AcceptsNamespace) -> AffinityFilter | Status:
    """Count all pods that match the pod's terms, or whose terms match it; SKIP if none do and it has no terms."""
    incoming = Incoming(pod, state.cluster, accepts)
    relevant: set[str] = set()
    existing = _existing(pod, incoming, state, relevant)
    terms = incoming.terms
    if not existing and not terms.required and not terms.required_anti:
        return SkipUntil(concerns=incoming.is_refused_by)
    for key in incoming.refused_by(terms):
        existing.setdefault(key, {})  # no such pod exists yet, but the next replica will find this one
    wanted: list[Counts] = [{} for _ in incoming.affinity_keys]
    refused: list[Counts] = [{} for _ in terms.required_anti]
    for namespace in filter(incoming.concerns, state.index.labels.namespaces()):
        for group in state.index.labels.groups(namespace):
            match = incoming.match(namespace, group.labels)
            if match is None:
                continue
            relevant.update(group.pods)
            if match.wanted:
                for key, counts in zip(incoming.affinity_keys, wanted, strict=True):
                    add_by_domain(counts, key, group.pods, state)
            for index in match.refused:
                add_by_domain(refused[index], terms.required_anti[index].topology_key, group.pods, state)
    return AffinityFilter(incoming, wanted, refused, existing, state, relevant)


def _existing(pod: PodInfo, incoming: Incoming, state: State, relevant: set[str]) -> dict[str, Counts]:
    """The pods whose own anti-affinity matches the pod, by key and domain; adds their nodes to `relevant`."""
    existing: dict[str, Counts] = {}
    for others, pods in state.index.terms.about(pod.namespace):
        for key in incoming.refused_by(others):
            relevant.update(pods)
            add_by_domain(existing.setdefault(key, {}), key, pods, state)
    return {key: counts for key, counts in existing.items() if counts}
