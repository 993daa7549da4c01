"""The kinds that kwhatif reads: type, API group and versions of each; and the API's lists of them.

A kind is only itself in its own group: `serving.knative.dev/v1 Service` is not a `v1 Service`. Versions are accepted
where the fields that scheduling reads have the same shape and meaning.

`ASKED` has the lists that a live cluster is asked for: the kinds that scheduling reads, and those that stand beside
them. The role of `kwhatif rbac` is made of this table, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from msgspec.structs import replace

from kwhatif.kube.model.bystanders import METRICS_API_VERSION, NodeMetrics, PodMetrics
from kwhatif.kube.model.kinds import RESOURCES as KNOWN
from kwhatif.kube.model.kinds import Resource
from kwhatif.kube.model.meta import ApiObject, Model
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, Workload
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.resource import (
    BasicDevice,
    Device,
    DeviceRequest,
    DeviceTaintRule,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceSlice,
)
from kwhatif.kube.model.saved import SAVED_API_VERSION, SavedSnapshot
from kwhatif.kube.model.workload import CronJob

# --- older versions, whose fields have another place or meaning ----------------------------------------


def _budget(budget: PodDisruptionBudget) -> PodDisruptionBudget:
    """An empty selector of v1beta1 selects nothing, one of v1 everything (`pkg/apis/policy/v1beta1/conversion.go`)."""
    selector = budget.spec.selector
    if selector is None or selector.match_labels or selector.match_expressions:
        return budget
    return replace(budget, spec=replace(budget.spec, selector=None))


def _fields(model: Model, kind: type[Model]) -> dict[str, Any]:
    return {field: getattr(model, field) for field in kind.__struct_fields__}


def _request(request: DeviceRequest) -> DeviceRequest:
    """In v1beta1, the fields of `exactly` stand in the request itself (`pkg/apis/resource/v1beta1/conversion.go`)."""
    exactly = ExactDeviceRequest(**_fields(request, ExactDeviceRequest))
    asks = exactly != ExactDeviceRequest()
    return DeviceRequest(name=request.name, exactly=exactly if asks else None, first_available=request.first_available)


def _claim_spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    return replace(spec, devices=replace(spec.devices, requests=tuple(map(_request, spec.devices.requests))))


def _claim(claim: ResourceClaim) -> ResourceClaim:
    return replace(claim, spec=_claim_spec(claim.spec))


def _template(template: ResourceClaimTemplate) -> ResourceClaimTemplate:
    return replace(template, spec=replace(template.spec, spec=_claim_spec(template.spec.spec)))


def _device(device: Device) -> Device:
    """In v1beta1, all of a device but its name stands in `basic`."""
    return Device(name=device.name, **({} if device.basic is None else _fields(device.basic, BasicDevice)))


def _slice(found: ResourceSlice) -> ResourceSlice:
    return replace(found, spec=replace(found.spec, devices=tuple(map(_device, found.spec.devices))))


#: Type -> `apiVersion` -> what makes the current version of an object.
CONVERSIONS: Mapping[type[Model], Mapping[str, Callable[[Any], Any]]] = {
    PodDisruptionBudget: {"policy/v1beta1": _budget},
    ResourceClaim: {"resource.k8s.io/v1beta1": _claim},
    ResourceClaimTemplate: {"resource.k8s.io/v1beta1": _template},
    ResourceSlice: {"resource.k8s.io/v1beta1": _slice},
}


class Kind(NamedTuple):
    """A kind that is read, and the `apiVersion`s of it that are."""

    type: type[Model]
    api_versions: frozenset[str]
    namespaced: bool
    #: Other versions, of the same shape but of another meaning -> what makes the current one of it.
    conversions: Mapping[str, Callable[[Any], Any]]

    def reads(self, api_version: str) -> bool:
        """Whether objects of that version are read."""
        return api_version in self.api_versions or api_version in self.conversions

    @property
    def group(self) -> str:
        """The API group; "" is the core group."""
        return group_of(min(self.api_versions))


def group_of(api_version: str) -> str:
    """The group of an `apiVersion`."""
    return api_version.rpartition("/")[0]


#: Groups of which beta versions say the same as v1, unless there is a conversion.
_BETA = {
    "node.k8s.io": ("v1beta1",),
    "resource.k8s.io": ("v1beta1", "v1beta2"),
    "scheduling.k8s.io": ("v1beta1",),
    "storage.k8s.io": ("v1beta1",),
}


#: Kinds that are exceptions to their group.
_BETA_OF: Mapping[type[Model], tuple[str, ...]] = {
    CronJob: ("v1beta1",),
    DeviceTaintRule: ("v1alpha3", "v1beta2"),
    PodGroup: (),
    Workload: (),
}


def _kind(resource: Resource) -> Kind:
    betas = _BETA_OF.get(resource.type, _BETA.get(resource.group, ()))
    conversions = CONVERSIONS.get(resource.type, {})
    versions = {resource.api_version, *(f"{resource.group}/{beta}" for beta in betas)} - conversions.keys()
    return Kind(resource.type, frozenset(versions), resource.namespaced, conversions)


#: By name.
KINDS: Mapping[str, Kind] = {resource.kind: _kind(resource) for resource in KNOWN.values()} | {
    type_.__name__: Kind(type_, frozenset({api_version}), namespaced, conversions={})
    for type_, api_version, namespaced in (
        (SavedSnapshot, SAVED_API_VERSION, False),
        (NodeMetrics, METRICS_API_VERSION, False),
        (PodMetrics, METRICS_API_VERSION, True),
    )
}

#: All types as one union, distinguished by their `kind`.
AnyObject: Any = reduce(or_, (kind.type for kind in KINDS.values()))

#: The largest lists come first.
RESOURCES: tuple[Resource, ...] = tuple(sorted(KNOWN.values(), key=lambda resource: resource.type not in (Node, Pod)))
BY_KIND = {resource.kind: resource for resource in RESOURCES}

#: Without these there is no answer at all.
ESSENTIAL = frozenset({"Node", "Pod"})


#: Pages of a list of Events: 50,000 of one reason, of the hour for which they are kept.
MAX_EVENT_PAGES = 100

_CORE = "the core group"


class Asked(NamedTuple):
    """One list."""

    kind: str
    #: API group; "" is the core group.
    group: str
    #: The name in URLs and in roles.
    plural: str
    #: What its objects are; None for a bystander: it is looked at as one of a dump is (`decoding/bystanders`).
    type: type[ApiObject] | None = None
    #: The first of these that is served is asked for.
    versions: tuple[str, ...] = ("v1",)
    #: Whether every API server of a modelled release serves it.
    is_everywhere: bool = True
    #: Of which `reason` Events are asked for.
    reason: str = ""
    #: The most pages that are read, the rest is left out; 0: no limit of its own.
    max_pages: int = 0
    #: Whether its objects are custom resources of which pods are made; another group may have that kind, too.
    is_custom: bool = False

    @property
    def name(self) -> str:
        """What the progress of the list is called."""
        return f"{self.subject} {self.reason}" if self.reason else self.subject

    @property
    def subject(self) -> str:
        """What `ClusterFacts.unread` calls it: the kind, or `rollouts.argoproj.io`."""
        return f"{self.plural}.{self.group}" if self.is_custom else self.kind

    def api_version(self, version: str) -> str:
        """Group and version, as objects write them."""
        return f"{self.group}/{version}" if self.group else version

    def path(self, version: str) -> str:
        """Where the API serves the objects of all namespaces."""
        return f"/{'apis' if self.group else 'api'}/{self.api_version(version)}/{self.plural}"


_ADMISSION = "admissionregistration.k8s.io"
_KARPENTER = "karpenter.sh"
_AUTOSCALING = "autoscaling.x-k8s.io"
_GROUPS = "scheduling.k8s.io"
_EVENTS = Asked("Event", "", "events", max_pages=MAX_EVENT_PAGES)
#: Never asked for, though a dump may have them: Leases, which only date a dump; ConfigMaps; metrics.
BYSTANDER_LISTS: tuple[Asked, ...] = (
    *(_EVENTS._replace(reason=reason) for reason in ("FailedScheduling", "Scheduled", "Preempted")),
    Asked("ServiceAccount", "", "serviceaccounts"),
    Asked("HorizontalPodAutoscaler", "autoscaling", "horizontalpodautoscalers", versions=("v2", "v1")),
    Asked(
        "VerticalPodAutoscaler",
        "autoscaling.k8s.io",
        "verticalpodautoscalers",
        versions=("v1", "v1beta2"),
        is_everywhere=False,
    ),
    Asked("MutatingWebhookConfiguration", _ADMISSION, "mutatingwebhookconfigurations"),
    Asked("ValidatingWebhookConfiguration", _ADMISSION, "validatingwebhookconfigurations"),
    Asked("ValidatingAdmissionPolicy", _ADMISSION, "validatingadmissionpolicies"),
    Asked("ValidatingAdmissionPolicyBinding", _ADMISSION, "validatingadmissionpolicybindings"),
    *(
        Asked(kind, _ADMISSION, plural, versions=("v1", "v1beta1", "v1alpha1"), is_everywhere=False)
        for kind, plural in (
            ("MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
            ("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"),
        )
    ),
    Asked("NodePool", _KARPENTER, "nodepools", versions=("v1", "v1beta1"), is_everywhere=False),
    Asked("NodeClaim", _KARPENTER, "nodeclaims", versions=("v1", "v1beta1"), is_everywhere=False),
    # Not modelled: an answer about an autoscaler says that they are there.
    Asked("NodeOverlay", _KARPENTER, "nodeoverlays", versions=("v1alpha1",), is_everywhere=False),
    Asked("CapacityBuffer", _AUTOSCALING, "capacitybuffers", versions=("v1beta1", "v1alpha1"), is_everywhere=False),
    Asked("CapacityQuota", _AUTOSCALING, "capacityquotas", versions=("v1alpha1",), is_everywhere=False),
    Asked("ProvisioningRequest", _AUTOSCALING, "provisioningrequests", versions=("v1", "v1beta1"), is_everywhere=False),
    # In 1.35 and 1.36, in versions that are not read: each release serves only its own.
    Asked("Workload", _GROUPS, "workloads", versions=("v1alpha2", "v1alpha1"), is_everywhere=False),
    Asked("PodGroup", _GROUPS, "podgroups", versions=("v1alpha2",), is_everywhere=False),
    Asked("CompositePodGroup", _GROUPS, "compositepodgroups", versions=("v1alpha3",), is_everywhere=False),
)
#: Custom resources that control pods themselves (`workload_kinds.yaml`, which is not read for this): where the
#: controller of a kind makes objects of Kubernetes' own, these are read.
CUSTOM_LISTS: tuple[Asked, ...] = tuple(
    Asked(kind, group, plural, versions=versions, is_everywhere=False, is_custom=True)
    for kind, group, plural, versions in (
        ("Rollout", "argoproj.io", "rollouts", ("v1alpha1",)),
        ("CloneSet", "apps.kruise.io", "clonesets", ("v1alpha1",)),
        ("StatefulSet", "apps.kruise.io", "statefulsets", ("v1beta1", "v1alpha1")),
        ("RayCluster", "ray.io", "rayclusters", ("v1", "v1alpha1")),
        ("PyTorchJob", "kubeflow.org", "pytorchjobs", ("v1",)),
        ("Cluster", "postgresql.cnpg.io", "clusters", ("v1",)),
        ("KafkaNodePool", "kafka.strimzi.io", "kafkanodepools", ("v1", "v1beta2")),
    )
)
#: Kinds in versions that are never read, but named, with a caveat of their own.
NAMED = frozenset(
    (each.api_version(version), each.kind)
    for each in BYSTANDER_LISTS
    if each.group == _GROUPS
    for version in each.versions
)

#: The largest lists come first.
ASKED: tuple[Asked, ...] = (
    *(
        Asked(
            resource.kind,
            resource.group,
            resource.plural,
            resource.type,
            versions=(resource.version,),
            is_everywhere=resource.version == "v1",
        )
        for resource in RESOURCES
    ),
    *BYSTANDER_LISTS,
    *CUSTOM_LISTS,
)
_BY_SUBJECT = {asked.subject: asked for asked in ASKED}


def by_group(kinds: Iterable[str]) -> str:
    """The resources of these kinds in words, group by group: `limitranges in the core group, jobs in batch`.

    Of custom kinds that a user's file has, the names are `widgets.example.com`.
    """
    groups: dict[str, list[str]] = {}
    for kind in kinds:
        asked = _BY_SUBJECT.get(kind)
        plural, _, group = kind.partition(".")
        plural, group = (plural, group) if asked is None else (asked.plural, asked.group)
        groups.setdefault(group, []).append(plural)
    return ", ".join(f"{' and '.join(_pairs(plurals))} in {group or _CORE}" for group, plurals in groups.items())


def _pairs(words: list[str]) -> list[str]:
    return [", ".join(words[:-1]), words[-1]] if len(words) > 1 else words
