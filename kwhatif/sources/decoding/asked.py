"""The lists that a live cluster is asked for: the kinds that scheduling reads, and those that stand beside it.

The role of `kwhatif rbac` is made of this table, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kwhatif.kube.model.meta import ApiObject
from kwhatif.sources.decoding.kinds import RESOURCES

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
    #: With more of them, the rest is left out; 0: as far as any list may go.
    max_pages: int = 0
    #: Whether its objects are custom resources of which pods are made; another group may have that kind, too.
    is_custom: bool = False

    @property
    def name(self) -> str:
        """What the progress of the list is called."""
        return f"{self.subject} {self.reason}" if self.reason else self.subject

    @property
    def subject(self) -> str:
        """What `Cluster.unread` calls it: the kind, or `rollouts.argoproj.io`."""
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
