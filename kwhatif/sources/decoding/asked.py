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

    @property
    def name(self) -> str:
        """What the progress of the list is called."""
        return f"{self.kind} {self.reason}" if self.reason else self.kind

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
)
_BY_KIND = {asked.kind: asked for asked in ASKED}


def by_group(kinds: Iterable[str]) -> str:
    """The resources of these kinds in words, group by group: `limitranges in the core group, jobs in batch`."""
    groups: dict[str, list[str]] = {}
    for kind in kinds:
        groups.setdefault(_BY_KIND[kind].group, []).append(_BY_KIND[kind].plural)
    return ", ".join(f"{' and '.join(_pairs(plurals))} in {group or _CORE}" for group, plurals in groups.items())


def _pairs(words: list[str]) -> list[str]:
    return [", ".join(words[:-1]), words[-1]] if len(words) > 1 else words
