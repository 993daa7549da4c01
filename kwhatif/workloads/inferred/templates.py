"""The template that a pod was made of: the pod without what its controller, its node and admission have added."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from kwhatif.admission.label_keys import without_label_keys
from kwhatif.admission.plugins import DEFAULT_TOLERATIONS
from kwhatif.kube.model.node import REGION, ZONE
from kwhatif.kube.model.pod import Pod, PodMeta, PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Affinity, Toleration
from kwhatif.workloads.stateful_set import INDEX_LABEL, NAME_LABEL, REVISION_LABEL
from kwhatif.workloads.template_fields import ADDED_LABELS

#: Of DaemonSets and StatefulSets, of Jobs; and of the node, which the API server copies when a pod is bound.
_NOT_OF_TEMPLATE = frozenset(
    {
        *ADDED_LABELS,
        REVISION_LABEL,
        "pod-template-generation",
        NAME_LABEL,
        INDEX_LABEL,
        "batch.kubernetes.io/job-completion-index",
        REGION,
        ZONE,
    }
)
#: What the admission of service accounts adds: a volume with the token, under a name that ends differently each time.
_TOKEN = "kube-api-access-"  # noqa: S105 - a volume's name
_ADDED = frozenset(DEFAULT_TOLERATIONS)


def template_from(pod: Pod, others: Iterable[Pod], added: Iterable[Toleration] = ()) -> PodTemplateSpec:
    """The template.

    Args:
        pod: one that was made of it.
        others: all others that were: a label that one of them lacks was added to the others by hand.
        added: tolerations of the controller.
    """
    notes = replace(
        pod.metadata.annotations,
        deletion_cost="",
        completion_index="",
        index_failures="",
        index_ignored_failures="",
    )
    meta = PodMeta(labels=common_labels([pod, *others]), annotations=notes)
    spec = without_label_keys(pod.spec, pod.metadata.labels)
    return PodTemplateSpec(metadata=meta, spec=_spec(spec, frozenset(added) | _ADDED))


def common_labels(pods: Iterable[Pod]) -> dict[str, str]:
    """The labels that all of these have, but for those that are not of their template."""
    found: dict[str, str] | None = None
    for pod in pods:
        labels = pod.metadata.labels
        if found is None:
            found = {key: value for key, value in labels.items() if key not in _NOT_OF_TEMPLATE}
        elif not found.items() <= labels.items():
            found = {key: value for key, value in found.items() if labels.get(key) == value}
    return found or {}


def _spec(spec: PodSpec, added: frozenset[Toleration]) -> PodSpec:
    """A number beside the name of a class is what admission has made of the class, and so is an overhead."""
    return replace(
        spec,
        node_name="",
        priority=None,
        preemption_policy="" if spec.priority_class_name else spec.preemption_policy,
        overhead=None,
        tolerations=tuple(each for each in spec.tolerations if each not in added),
        volumes=tuple(volume for volume in spec.volumes if not volume.name.startswith(_TOKEN)),
    )


def without_pinning(spec: PodSpec) -> PodSpec:
    """The spec of a DaemonSet's pod without the name of its node, which stands in place of the template's affinity."""
    affinity = spec.affinity or Affinity()
    node = affinity.node_affinity
    if node is None:
        return spec
    node = replace(node, required=None) if node.preferred is not None else None
    affinity = replace(affinity, node_affinity=node)
    return replace(spec, affinity=None if affinity == Affinity() else affinity)
