"""Objects of the input that would matter and are not modelled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kwhatif.admission.pod_security.policy import enforced, fills_in_contexts
from kwhatif.admission.quota.scopes import KNOWN_SCOPES
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.manifests import PodSecurityNotChecked, UnknownQuotaScope
from kwhatif.kube.model.caveat.scheduling import HugeAmounts
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.policy import ResourceQuota
from kwhatif.kube.model.quantity import LARGEST_EXACT
from kwhatif.report.decision import Decision
from kwhatif.state.node_info import NodeInfo


def unmodelled_for(cluster: Cluster, decisions: Sequence[Decision]) -> Iterator[Caveat]:
    """Caveats about where the pods of these decisions are made; `cluster` has what the manifests bring."""
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
    """That amounts of these nodes are so large that floats do not hold them, and 64 bits not their products."""
    names = tuple(node.name for node in nodes if any(map(_is_huge, _amounts(node))))
    if names:
        yield HugeAmounts(nodes=names)


def _amounts(node: NodeInfo) -> Iterator[int]:
    cpu, memory, ephemeral, scalars = node.allocatable
    yield from (cpu, memory, ephemeral, node.nonzero_cpu, node.nonzero_memory, node.ephemeral, *node.scalars.values())
    yield from (amount for _, amount in scalars)


def _is_huge(amount: int) -> bool:
    return amount >= LARGEST_EXACT


def _scopes(quota: ResourceQuota) -> Iterator[str]:
    yield from quota.spec.scopes
    if quota.spec.scope_selector is not None:
        yield from (requirement.scope_name for requirement in quota.spec.scope_selector.match_expressions)
