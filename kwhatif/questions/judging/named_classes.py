"""Classes that manifests name and the input lacks, as the pods of the cluster show them that name them, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.policy import PriorityClass, RuntimeClass
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.session.session import Session
from kwhatif.state.change import Upsert
from kwhatif.workloads.applied_template import template_of
from kwhatif.workloads.inferred.classes import missing_classes


def with_named_classes(session: Session, applied: Sequence[Applied]) -> Session:
    """The session with these classes; itself, where it has all that are named, or no pod shows them."""
    cluster = session.cluster
    named = {
        (kind, name)
        for spec in _specs(applied)
        for kind, name in ((PriorityClass, spec.priority_class_name), (RuntimeClass, spec.runtime_class_name or ""))
        if name and cluster.get(kind, name) is None
    }
    found = [each for each in missing_classes(cluster) if (type(each), each.metadata.name) in named] if named else []
    if not found:
        return session
    state = session.state.fork()
    state.apply(*map(Upsert, found))
    state.cluster.made_up |= {type(each).__name__ for each in found}
    return session.at(state)


def _specs(applied: Sequence[Applied]) -> Iterator[PodSpec]:
    for each in applied:
        if not each.is_workload or isinstance(each.object, CustomResource):
            continue
        template = each.object if isinstance(each.object, Pod) else template_of(each.object)
        if template is not None:
            yield template.spec
