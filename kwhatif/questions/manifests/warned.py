"""The API server's warnings (Pod Security) and calls (webhooks) when the objects are applied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kwhatif.admission.pod_defaults import default_pod
from kwhatif.admission.pod_security.policy import check_pod_security, fills_in_contexts, standards_of, violations
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.caveat.manifests import AdmissionNotAsked, PodSecurityWarns
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.pod import Pod, PodMeta
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.session.asked import Subject, admission_not_asked, new_object
from kwhatif.report.decision import Decision
from kwhatif.workloads.applied_template import template_of


def not_asked(
    applied: Sequence[Applied], before: Cluster, cluster: Cluster, decisions: Sequence[Decision]
) -> Iterator[AdmissionNotAsked]:
    """The webhooks that would be called for the objects and their pods; existing pods were already admitted.

    Args:
        applied: what is applied or restarted.
        before: the cluster without it.
        cluster: with it.
        decisions: about the pods.
    """
    yield from admission_not_asked(_subjects(applied, before, decisions), cluster)


def _subjects(applied: Sequence[Applied], before: Cluster, decisions: Sequence[Decision]) -> Iterator[Subject]:
    for each in applied:
        obj: Any = each.object
        if not each.is_workload or (each.restarted and isinstance(obj, Pod)):
            continue
        name = each.source.object
        pods = tuple(row.pod for row in decisions if row.source == each.source and row.outcome != "Denied")
        pod = _pod_of(obj)
        if pod is not None or isinstance(obj, CustomResource):
            meta = PodMeta(namespace=obj.metadata.namespace) if pod is None else pod.metadata
            yield Subject(name, new_object(Pod(metadata=meta)), pods)
        if not (each.restarted or isinstance(obj, Pod | CustomResource)):
            is_there = before.get(type(obj), key_of(obj)) is not None
            yield Subject(name, new_object(obj, "UPDATE" if is_there else "CREATE"), pods)


def warnings_of(applied: Sequence[Applied], cluster: Cluster) -> Iterator[PodSecurityWarns]:
    """Objects with the same warning are one caveat; if the pods are refused, the refusal already has it."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in () if fills_in_contexts(cluster) else applied:
        pod = None if each.restarted or not each.is_workload else _pod_of(each.object)
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
    noted = template.metadata
    meta = PodMeta(namespace=obj.metadata.namespace, labels=noted.labels, annotations=noted.annotations)
    return default_pod(Pod(metadata=meta, spec=template.spec))
