"""What is there, would have a say, and is not modelled: caveats about the namespaces that pods are made in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.admission.quota.scopes import KNOWN_SCOPES
from kwhatif.model.caveat import Caveat, PodSecurityNotChecked, UnknownQuotaScope
from kwhatif.model.cluster import Cluster, key_of
from kwhatif.model.policy import ResourceQuota
from kwhatif.report import Decision

#: A namespace's label (`k8s.io/pod-security-admission/api/constants.go`); `privileged` lets everything pass.
_ENFORCE = "pod-security.kubernetes.io/enforce"
_PRIVILEGED = "privileged"


def unmodelled_for(cluster: Cluster, decisions: Sequence[Decision]) -> Iterator[Caveat]:
    """Caveats about where the pods of these decisions are made; `cluster` has what the manifests bring."""
    pods: dict[str, list[str]] = {}
    for decision in decisions:
        if decision.outcome != "Denied":
            pods.setdefault(decision.pod.partition("/")[0], []).append(decision.pod)
    levels = {name: cluster.namespace_labels(name).get(_ENFORCE, _PRIVILEGED) for name in sorted(pods)}
    checked = tuple((name, level) for name, level in levels.items() if level != _PRIVILEGED)
    if checked:
        about = tuple(pod for name, _ in checked for pod in pods[name])
        yield PodSecurityNotChecked(namespaces=checked, pods=about)
    for quota in cluster.all(ResourceQuota).values():
        for scope in _scopes(quota) if quota.metadata.namespace in pods else ():
            if scope not in KNOWN_SCOPES:
                yield UnknownQuotaScope(quota=key_of(quota), scope=scope)


def _scopes(quota: ResourceQuota) -> Iterator[str]:
    yield from quota.spec.scopes
    if quota.spec.scope_selector is not None:
        yield from (requirement.scope_name for requirement in quota.spec.scope_selector.match_expressions)
