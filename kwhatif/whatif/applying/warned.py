"""What the API server warns of when the objects are applied: violations of a Pod Security Standard (`admission.go`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kwhatif.admission.pod_defaults import default_pod
from kwhatif.admission.pod_security.policy import check_pod_security, fills_in_contexts, standards_of, violations
from kwhatif.model.bystanders import CustomResource
from kwhatif.model.caveat.manifests import PodSecurityWarns
from kwhatif.model.cluster import Cluster
from kwhatif.model.pod import Pod, PodMeta
from kwhatif.whatif.applying.applied import Applied
from kwhatif.workloads.applied_template import template_of


def warnings_of(applied: Sequence[Applied], cluster: Cluster) -> Iterator[PodSecurityWarns]:
    """Objects of the same words are one caveat; where the pods are refused, the refusal says it already."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in () if fills_in_contexts(cluster) else applied:
        pod = None if each.anew or not each.is_workload else _pod_of(each.object)
        if pod is None:
            continue
        standard = standards_of(cluster.namespace_labels(pod.metadata.namespace)).warn
        violation = violations(pod, standard, cluster.minor)
        if violation and check_pod_security(pod, cluster) is None:
            found.setdefault((standard.text, violation), []).append(each.source.object)
    for (standard_text, violation), objects in found.items():
        yield PodSecurityWarns(objects=tuple(objects), standard=standard_text, violation=violation)


def _pod_of(obj: Any) -> Pod | None:
    """The pod that it is, or that its template is of; None of a custom resource."""
    if isinstance(obj, Pod | CustomResource):
        return default_pod(obj) if isinstance(obj, Pod) else None
    template = template_of(obj)
    if template is None:
        return None
    meta = PodMeta(namespace=obj.metadata.namespace, annotations=template.metadata.annotations)
    return default_pod(Pod(metadata=meta, spec=template.spec))
