"""Admission of a new pod, step by step as the API server does it.

First what changes pods (decoding with defaults, then the admission plugins in the order of
`pkg/kubeapiserver/options/plugins.go`, then `pkg/registry/core/pod/strategy.go`), then validation, then what only says
yes or no, ResourceQuota last. Left out is what scheduling does not read: service accounts, pod security, images. Of
webhooks and admission policies, only what running pods show of them is known (`injection.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kwhatif.admission.changes import changes_between
from kwhatif.admission.default_tolerations import add_default_tolerations
from kwhatif.admission.defaults import default_object
from kwhatif.admission.injection import inject
from kwhatif.admission.label_keys import merge_label_keys
from kwhatif.admission.left_out import with_pod_images
from kwhatif.admission.limit_ranger import check_limits, fill_in_limits
from kwhatif.admission.namespaces import check_namespace
from kwhatif.admission.outcome import AdmissionStep, Admitted, Denied, forbidden, run_steps
from kwhatif.admission.pod_level import complete_pod_level, default_before_plugins
from kwhatif.admission.pod_security.policy import check_pod_security
from kwhatif.admission.priority import PriorityClasses, admit_priority, resolve_priority
from kwhatif.admission.quota.state import QuotaUsage
from kwhatif.admission.runtime_class import apply_runtime_class, check_overhead
from kwhatif.admission.validation.pod import validate_pod
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.policy import LimitRange, PriorityClass, RuntimeClass
from kwhatif.kube.model.workload import Namespace
from kwhatif.scheduler.framework.reference import is_reference


def admit_pod(pod: Pod, cluster: Cluster, usage: QuotaUsage) -> Admitted[Pod] | Denied:
    """What the API server makes of a new pod, or why it refuses it; the pod is charged to `usage`."""
    return next(admit_replicas(pod, (pod.metadata.name,), cluster, usage))


def admit_replicas(
    pod: Pod, names: Sequence[str], cluster: Cluster, usage: QuotaUsage
) -> Iterator[Admitted[Pod] | Denied]:
    """What the API server makes of pods that differ in nothing but their names, one after the other.

    It costs little more than admitting one. Each is charged to `usage` when the caller asks for it. Where the API
    server makes the names (`generateName`), `pod` has none yet.
    """
    prepared = run_steps(_STEPS, pod, cluster)
    if isinstance(prepared, Denied):
        yield from (prepared for _ in names)
        return
    unmerged = prepared.object
    # Validation merges the label keys itself: it wants to see whether they repeat what a selector says already.
    merged = merge_label_keys(unmerged)
    changes = (*prepared.changes, *changes_between("MatchLabelKeys", unmerged, merged))
    valid = False
    for name in names:
        refusal = None if valid else _refusal(_named(unmerged, name), cluster)
        valid = refusal is None
        named = _named(merged, name)
        refusal = refusal or usage.charge(named)
        yield Admitted(named, changes) if refusal is None else refusal


class ReplicaAdmission:
    """Admits pods one by one, most of which differ from the one before in nothing but their names."""

    def __init__(self) -> None:
        #: The last pod's spec, what else it was like and what it was judged by, and what it became.
        self._last: tuple[PodSpec, tuple[object, ...], Admitted[Pod]] | None = None

    def admit(self, pod: Pod, cluster: Cluster, usage: QuotaUsage) -> Admitted[Pod] | Denied:
        """What the API server makes of the pod, or why it refuses it; the pod is charged to `usage`."""
        meta, last = pod.metadata, self._last
        like = replace(meta, name="", uid=""), pod.status, *map(cluster.generation, _READ)
        if is_reference() or last is None or last[0] is not pod.spec or last[1] != like:
            admitted = _admit_one(pod, cluster, usage)
            if not isinstance(admitted, Denied):
                self._last = pod.spec, like, admitted
            return admitted
        known = last[2].object
        named = replace(known, metadata=replace(known.metadata, name=meta.name, uid=meta.uid))
        return usage.charge(named) or replace(last[2], object=named)


def _admit_one(pod: Pod, cluster: Cluster, usage: QuotaUsage) -> Admitted[Pod] | Denied:
    """A name that the API server makes it makes late: plugins that change the pod do not see it."""
    meta, owner = pod.metadata, controller_of(pod.metadata)
    if not meta.generate_name or (owner is not None and owner.kind == "StatefulSet"):  # which names its pods itself
        return admit_pod(pod, cluster, usage)
    return next(admit_replicas(replace(pod, metadata=replace(meta, name="")), (meta.name,), cluster, usage))


def complete_pod(pod: Pod, cluster: Cluster) -> Pod | Denied:
    """The pod with all that admission adds, whether or not it would be let in then."""
    prepared = run_steps(_STEPS, pod, cluster)
    return prepared if isinstance(prepared, Denied) else merge_label_keys(prepared.object)


def without_webhooks(pod: Pod, cluster: Cluster) -> Pod | Denied:
    """The pod with all that the API server itself adds."""
    prepared = run_steps((*_FIRST, *_BUILT_IN), pod, cluster)
    return prepared if isinstance(prepared, Denied) else merge_label_keys(prepared.object)


def stored_pod(pod: Pod, cluster: Cluster) -> Pod | Denied:
    """A pod that the API server has admitted already, with what it would read back: defaults, priority, label keys.

    A number in `spec.priority` is taken as it stands. Only a class that is not there is refused: without a number the
    priority would not be known.
    """
    classes = _classes_of(cluster)
    pod = _complete(_default(pod, cluster), cluster)
    if classes.lacks(pod):
        return forbidden(pod, f"no PriorityClass with name {pod.spec.priority_class_name} was found")
    return resolve_priority(merge_label_keys(pod), classes)


def _default(pod: Pod, cluster: Cluster) -> Pod:
    return default_before_plugins(pod, cluster.gates, default_object)


def _complete(pod: Pod, cluster: Cluster) -> Pod:
    return complete_pod_level(pod, cluster.gates)


def _priority_classes(cluster: Cluster) -> PriorityClasses:
    return PriorityClasses(cluster.all(PriorityClass).values())


def _classes_of(cluster: Cluster) -> PriorityClasses:
    return cluster.derived(_priority_classes, PriorityClass)


#: The kinds that the steps, and what follows them, look at; quotas aside.
_READ = (LimitRange, Namespace, PriorityClass, RuntimeClass)
_FIRST: tuple[AdmissionStep[Pod], ...] = (
    AdmissionStep("Defaults", _default),
    AdmissionStep("NamespaceLifecycle", lambda pod, cluster: check_namespace(pod, cluster) or pod),
)
_BUILT_IN: tuple[AdmissionStep[Pod], ...] = (
    AdmissionStep("LimitRanger", fill_in_limits),
    AdmissionStep("Priority", lambda pod, cluster: admit_priority(pod, _classes_of(cluster))),
    AdmissionStep("DefaultTolerationSeconds", lambda pod, _: add_default_tolerations(pod)),
    AdmissionStep("RuntimeClass", apply_runtime_class),
    AdmissionStep("PodLevelResources", _complete),
)
#: Webhooks are called after the built-in plugins, which then run once more: so they see what webhooks have added.
_STEPS = (*_FIRST, AdmissionStep("MutatingAdmissionWebhook", inject), *_BUILT_IN)


def _refusal(pod: Pod, cluster: Cluster) -> Denied | None:
    """What follows when the pod is complete; quotas come last."""
    return (
        validate_pod(with_pod_images(pod))
        or check_limits(pod, cluster)
        or check_pod_security(pod, cluster)
        or check_overhead(pod, cluster)
    )


def _named(pod: Pod, name: str) -> Pod:
    return pod if pod.metadata.name == name else replace(pod, metadata=replace(pod.metadata, name=name))
