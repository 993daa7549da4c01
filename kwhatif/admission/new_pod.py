"""Admission of a new pod, in the same steps as the API server.

First the steps that change pods (decoding with defaults, then the admission plugins in the order of
`pkg/kubeapiserver/options/plugins.go`, then `pkg/registry/core/pod/strategy.go`), then validation, then the steps that
only allow or reject, with ResourceQuota last. What scheduling does not read is left out: service accounts, images.

Of webhooks and admission policies, only what running pods show is known (`pkg/admission/plugin/webhook/mutating`).
Existing parts with the same name are kept, because webhooks recognize their own changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.admission.defaults import complete_pod_level, default_before_plugins, default_object
from kwhatif.admission.label_keys import merge_label_keys
from kwhatif.admission.load import with_pod_images
from kwhatif.admission.outcome import (
    AdmissionStep,
    Admitted,
    Denied,
    Forbidden,
    ObjectNotFound,
    changes_between,
    forbidden,
    run_steps,
)
from kwhatif.admission.plugins import (
    PriorityClasses,
    add_default_tolerations,
    admit_priority,
    check_limits,
    check_namespace,
    fill_in_limits,
    no_priority_class,
    resolve_priority,
)
from kwhatif.admission.pod_security import check_pod_security
from kwhatif.admission.same import each as each_of
from kwhatif.admission.same import with_parts
from kwhatif.admission.validation.pod import validate_pod
from kwhatif.admission.vertical_autoscaler import recommend, recommended_for_new, with_resources
from kwhatif.kube.matching.nodes import NO_EXECUTE
from kwhatif.kube.matching.owners import root_of
from kwhatif.kube.matching.requests import resource_nanos
from kwhatif.kube.model.bystanders import VerticalPodAutoscaler
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.pod_spec import Container, ResourceList, ResourceRequirements, Toleration
from kwhatif.kube.model.policy import (
    InjectedContainers,
    Injection,
    KnownInjection,
    LimitRange,
    PriorityClass,
    RuntimeClass,
    RuntimeClassScheduling,
)
from kwhatif.kube.model.storage import Volume
from kwhatif.kube.model.workload import Namespace
from kwhatif.scheduler.framework.reference import is_reference


def inject(pod: Pod, cluster: Cluster) -> Pod:
    """The pod with what webhooks add; the pod itself if no webhooks are known."""
    known = injection_of(pod, cluster)
    return pod if known is None else replace(pod, spec=_injected(pod.spec, known.injection))


def injection_of(pod: Pod, cluster: Cluster) -> KnownInjection | None:
    """What webhooks add to a pod that is created now; None if it already has that.

    Requests that its VerticalPodAutoscaler sets are left out: they follow from the autoscaler's recommendation.
    """
    if cluster.facts.webhooks is None:
        return None
    owner = root_of(pod, cluster, through_jobs=True)
    known = cluster.facts.webhooks.injection(pod, owner)
    rows = recommended_for_new(pod, owner, cluster) if known is not None and known.injection.resources else {}
    if known is not None and rows:
        resources = {name: _besides(row, rows.get(name)) for name, row in known.injection.resources.items()}
        resources = {name: row for name, row in resources.items() if row.requests or row.limits}
        known = replace(known, injection=replace(known.injection, resources=resources))
    return None if known is None or _injected(pod.spec, known.injection) is pod.spec else known


def _besides(shown: ResourceRequirements, own: ResourceRequirements | None) -> ResourceRequirements:
    """The resources in `shown`, without the resources that `own` sets anyway."""
    if own is None:
        return shown
    requests = {name: text for name, text in shown.requests.items() if name not in own.requests}
    limits = {name: text for name, text in shown.limits.items() if name not in own.limits}
    return ResourceRequirements(requests=requests, limits=limits)


def _injected(spec: PodSpec, injection: Injection) -> PodSpec:
    names = {each.name for each in (*spec.containers, *spec.init_containers)}
    selector = {**injection.node_selector, **(spec.node_selector or {})}
    new = [each for each in injection.tolerations if each not in spec.tolerations]
    return with_parts(
        spec,
        containers=_with(spec.containers, injection.containers, names, injection.resources),
        init_containers=_with(spec.init_containers, injection.init_containers, names, injection.resources),
        volumes=_with_new(spec.volumes, injection.volumes),
        tolerations=(*spec.tolerations, *new) if new else spec.tolerations,
        node_selector=spec.node_selector if len(selector) == len(spec.node_selector or {}) else selector,
    )


def _with(
    own: tuple[Container, ...], more: InjectedContainers, names: set[str], resources: Mapping[str, ResourceRequirements]
) -> tuple[Container, ...]:
    if resources:
        own = each_of(lambda each: with_resources(each, resources[each.name]) if each.name in resources else each, own)
    first = [each for each in more.first if each.name not in names]
    last = [each for each in more.last if each.name not in names]
    return (*first, *own, *last) if first or last else own


def _with_new(own: tuple[Volume, ...], more: Iterable[Volume]) -> tuple[Volume, ...]:
    names = {each.name for each in own}
    new = [each for each in more if each.name not in names]
    return (*own, *new) if new else own


_BY_RUNTIME_CLASS = Forbidden("RuntimeClass")
_OTHER_OVERHEAD = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_OWN_OVERHEAD = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


def apply_runtime_class(pod: Pod, cluster: Cluster) -> Pod | Denied:
    """The pod with the fields that its RuntimeClass adds (`plugin/pkg/admission/runtimeclass`), or its rejection."""
    runtime_class = _class_of(pod, cluster)
    if isinstance(runtime_class, Denied):
        return runtime_class
    if runtime_class is not None and runtime_class.overhead is not None:
        overhead = runtime_class.overhead.pod_fixed
        if pod.spec.overhead and not _same(pod.spec.overhead, overhead):
            return forbidden(pod, _OTHER_OVERHEAD, _BY_RUNTIME_CLASS)
        pod = replace(pod, spec=replace(pod.spec, overhead=overhead))
    if runtime_class is None or runtime_class.scheduling is None:
        return pod
    return _apply_scheduling(pod, runtime_class.scheduling)


def check_overhead(pod: Pod, cluster: Cluster) -> Denied | None:
    """Check that the pod has the overhead of its RuntimeClass, and no other."""
    runtime_class = _class_of(pod, cluster)
    if isinstance(runtime_class, Denied):
        return runtime_class
    if runtime_class is None or runtime_class.overhead is None:
        return None if pod.spec.overhead is None else forbidden(pod, _OWN_OVERHEAD, _BY_RUNTIME_CLASS)
    same = _same(pod.spec.overhead, runtime_class.overhead.pod_fixed)
    return None if same else forbidden(pod, _OTHER_OVERHEAD, _BY_RUNTIME_CLASS)


def _class_of(pod: Pod, cluster: Cluster) -> RuntimeClass | Denied | None:
    name = pod.spec.runtime_class_name
    if name is None:
        return None
    found = cluster.get(RuntimeClass, name)
    if found is not None:
        return found
    return forbidden(pod, f'pod rejected: RuntimeClass "{name}" not found', ObjectNotFound("RuntimeClass", name))


def _same(overhead: ResourceList | None, other: ResourceList) -> bool:
    return resource_nanos(overhead) == resource_nanos(other)


def _apply_scheduling(pod: Pod, scheduling: RuntimeClassScheduling) -> Pod | Denied:
    selector = pod.spec.node_selector or {}
    for key, value in scheduling.node_selector.items():
        if selector.get(key, value) != value:
            conflict = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}"
            reason = f"conflict: {conflict}; pod.spec.nodeSelector[{key}] = {selector[key]}"
            return forbidden(pod, reason, _BY_RUNTIME_CLASS)
    both = {**selector, **scheduling.node_selector}
    tolerations = merge_tolerations((*pod.spec.tolerations, *scheduling.tolerations))
    spec = replace(pod.spec, node_selector=both or pod.spec.node_selector, tolerations=tolerations)
    return replace(pod, spec=spec)


def merge_tolerations(tolerations: Sequence[Toleration]) -> tuple[Toleration, ...]:
    """Drop tolerations that another one covers (`MergeTolerations` in `pkg/util/tolerations/tolerations.go`)."""
    merged: list[Toleration] = []
    for index, toleration in enumerate(tolerations):
        later = (other for other in tolerations[index + 1 :] if other != toleration)
        if not any(_covers(other, toleration) for other in (*merged, *later)):
            merged.append(toleration)
    return tuple(merged)


def _covers(wide: Toleration, narrow: Toleration) -> bool:
    """Whether the first tolerates everything that the second does (`isSuperset`)."""
    if wide == narrow:
        return True
    if narrow.key != wide.key and (wide.key or wide.operator != "Exists"):
        return False
    if wide.effect not in ("", narrow.effect):
        return False
    if wide.effect == NO_EXECUTE and _ends_before(wide, narrow):
        return False
    if wide.operator in ("", "Equal"):
        # QUIRK: an unset operator, which means Equal, is not covered by Equal.
        return narrow.operator == "Equal" and narrow.value == wide.value
    return wide.operator == "Exists"


def _ends_before(first: Toleration, second: Toleration) -> bool:
    """Whether the first ends earlier; a toleration without seconds never ends."""
    if first.toleration_seconds is None:
        return False
    return second.toleration_seconds is None or second.toleration_seconds > first.toleration_seconds


def admit_pod(pod: Pod, cluster: Cluster, name: str = "") -> Admitted[Pod] | Denied:
    """The pod as the API server would store it, or its rejection. Quotas are not checked here.

    `name`: the name of a pod that only has a `generateName`. The API server generates it late: plugins that change the
    pod do not see it.
    """
    prepared = run_steps(_STEPS, pod, cluster)
    if isinstance(prepared, Denied):
        return prepared
    unmerged = prepared.object
    # Validation merges the label keys itself, to see whether they repeat a requirement of the selector.
    merged = merge_label_keys(unmerged)
    changes = (*prepared.changes, *changes_between("MatchLabelKeys", unmerged, merged))
    named = _named(merged, name or pod.metadata.name)
    refusal = _refusal(_named(unmerged, named.metadata.name), cluster)
    return Admitted(named, changes) if refusal is None else refusal


class ReplicaAdmission:
    """Admits pods one at a time; most differ from the previous one only in their names."""

    def __init__(self) -> None:
        #: The last pod's spec, all else that the result depends on, and the result.
        self._last: tuple[PodSpec, tuple[object, ...], Admitted[Pod]] | None = None
        #: Whether the last pod was like the one before it.
        self.is_repeated = False

    def admit(self, pod: Pod, cluster: Cluster) -> Admitted[Pod] | Denied:
        """The pod as the API server would store it, or its rejection. Quotas are not checked here."""
        meta, last = pod.metadata, self._last
        like = replace(meta, name="", uid=""), pod.status, *map(cluster.generation, _READ)
        self.is_repeated = not (is_reference() or last is None or last[0] is not pod.spec or last[1] != like)
        if last is None or not self.is_repeated:
            admitted = _admit_one(pod, cluster)
            if not isinstance(admitted, Denied):
                self._last = pod.spec, like, admitted
            return admitted
        known = last[2].object
        named = replace(known, metadata=replace(known.metadata, name=meta.name, uid=meta.uid))
        return replace(last[2], object=named)


def _admit_one(pod: Pod, cluster: Cluster) -> Admitted[Pod] | Denied:
    meta, owner = pod.metadata, controller_of(pod.metadata)
    if not meta.generate_name or (owner is not None and owner.kind == "StatefulSet"):  # it names its pods itself
        return admit_pod(pod, cluster)
    return admit_pod(replace(pod, metadata=replace(meta, name="")), cluster, meta.name)


def complete_pod(pod: Pod, cluster: Cluster) -> Pod | Denied:
    """The pod with all that admission adds, whether or not it would then be admitted."""
    prepared = run_steps(_STEPS, pod, cluster)
    return prepared if isinstance(prepared, Denied) else merge_label_keys(prepared.object)


def without_webhooks(pod: Pod, cluster: Cluster) -> Pod | Denied:
    """The pod with all that the API server itself adds."""
    prepared = run_steps((*_FIRST, *_BUILT_IN), pod, cluster)
    return prepared if isinstance(prepared, Denied) else merge_label_keys(prepared.object)


def stored_pod(pod: Pod, cluster: Cluster) -> Pod | Denied:
    """A pod that the API server has already admitted, completed with defaults, priority and label keys.

    A number in `spec.priority` is kept. The pod is rejected only if it has no number and names a missing class,
    because then its priority is not known.
    """
    classes = _classes_of(cluster)
    pod = _complete(_default(pod, cluster), cluster)
    if classes.lacks(pod):
        return no_priority_class(pod, pod.spec.priority_class_name)
    return resolve_priority(merge_label_keys(pod), classes)


def with_priority(pod: Pod, cluster: Cluster) -> Pod:
    """The pod with its priority alone, as a refused pod is reported."""
    return resolve_priority(pod, _classes_of(cluster))


def _default(pod: Pod, cluster: Cluster) -> Pod:
    return default_before_plugins(pod, cluster.facts.gates, default_object)


def _complete(pod: Pod, cluster: Cluster) -> Pod:
    return complete_pod_level(pod, cluster.facts.gates)


def _priority_classes(cluster: Cluster) -> PriorityClasses:
    return PriorityClasses(cluster.all(PriorityClass).values())


def _classes_of(cluster: Cluster) -> PriorityClasses:
    return cluster.derived(_priority_classes, PriorityClass)


#: The kinds that the steps and the later checks read, except quotas.
_READ = (LimitRange, Namespace, PriorityClass, RuntimeClass, VerticalPodAutoscaler)
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
#: Webhooks are called after the built-in plugins, which then run again to see what webhooks have added.
_STEPS = (
    *_FIRST,
    AdmissionStep("MutatingAdmissionWebhook", inject),
    AdmissionStep(
        "VerticalPodAutoscaler", lambda pod, cluster: recommend(pod, root_of(pod, cluster, through_jobs=True), cluster)
    ),
    *_BUILT_IN,
)


def _refusal(pod: Pod, cluster: Cluster) -> Denied | None:
    """The checks of the complete pod; quotas come last."""
    return (
        validate_pod(with_pod_images(pod))
        or check_limits(pod, cluster)
        or check_pod_security(pod, cluster)
        or check_overhead(pod, cluster)
    )


def _named(pod: Pod, name: str) -> Pod:
    return pod if pod.metadata.name == name else replace(pod, metadata=replace(pod.metadata, name=name))
