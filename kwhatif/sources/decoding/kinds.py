"""The kinds that kwhatif reads: type, API group and versions of each; and the API's lists of them.

A kind is only itself in its own group: `serving.knative.dev/v1 Service` is not a `v1 Service`. Versions are accepted
where the fields that scheduling reads have the same shape and meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from kwhatif.kube.model.bystanders import METRICS_API_VERSION, NodeMetrics, PodMetrics
from kwhatif.kube.model.device_taint_rule import DeviceTaintRule
from kwhatif.kube.model.job import CronJob
from kwhatif.kube.model.kinds import RESOURCES as KNOWN
from kwhatif.kube.model.kinds import Resource
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, Workload
from kwhatif.kube.model.saved import SAVED_API_VERSION, SavedSnapshot
from kwhatif.sources.decoding.convert import CONVERSIONS


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


#: Kinds that differ from their group in that.
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
BY_PLURAL = {resource.plural: resource for resource in RESOURCES}

#: Without these there is no answer at all.
ESSENTIAL = frozenset({"Node", "Pod"})
