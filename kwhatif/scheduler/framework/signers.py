"""Signatures: pods with equal ones get the same verdicts and scores on the same state (KEP-5598).

Follows `framework/signers.go` of kube-scheduler and `SignPod` in `pkg/scheduler/framework/runtime/framework.go`.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping
from typing import Protocol, runtime_checkable

import msgspec
from msgspec.structs import replace

from kwhatif.kube.matching.requests import pod_requests, to_resources
from kwhatif.kube.model.meta import Requirement
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import NodeSelectorTerm
from kwhatif.kube.model.storage import Volume
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

IMAGE_NAMES = "v1.Pod.Spec.CanonicalImageNames()"
LABELS = "v1.Pod.Labels"
NODE_NAME = "v1.Pod.Spec.NodeName"
NODE_AFFINITY = "v1.Pod.Spec.Affinity.NodeAffinity"
NODE_SELECTOR = "v1.Pod.Spec.Affinity.NodeSelector"
HOST_PORTS = "v1.Pod.Spec.HostPorts()"
RESOURCES = "v1.Pod.Spec.ContainerRequestsAndOverheads()"
SCHEDULER_NAME = "v1.Pod.Spec.SchedulerName"
TOLERATIONS = "v1.Pod.Spec.Tolerations"
VOLUMES = "v1.Pod.Spec.Volumes.NonSyntheticSources()"
FEATURES = "v1.Pod.Spec.RequiredFeatures()"

#: What a plugin reads of a pod, by the name of the fragment; plugins that read the same share one.
Fragments = Mapping[str, Hashable]
PodSignature = frozenset[tuple[str, Hashable]]


@runtime_checkable
class SignPlugin(Protocol):
    """A plugin that can say what it reads of a pod."""

    def sign(self, pod: PodInfo, state: State) -> Fragments | None:
        """Everything of the pod that the plugin's verdicts and scores depend on; None: the pod cannot be signed."""


def sign_pod(profile: Profile, pod: PodInfo, state: State) -> PodSignature | None:
    """The pod's signature; None if the profile has extenders, or a plugin that does not sign it."""
    if profile.extenders:
        return None
    fragments: dict[str, Hashable] = {SCHEDULER_NAME: pod.pod.spec.scheduler_name}
    asked = (*profile.pre_filter, *profile.filter, *profile.pre_score, *profile.score)
    for plugin in {plugin.name: plugin for plugin in asked}.values():
        signed = plugin.sign(pod, state) if isinstance(plugin, SignPlugin) else None
        if signed is None:
            return None
        fragments |= signed
    return frozenset(fragments.items())


def signs_any_pod(profile: Profile, state: State) -> bool:
    """Whether the profile signs any pods: with a default spread constraint it signs none."""
    return sign_pod(profile, PodInfo(Pod()), state) is not None


def host_ports(pod: PodInfo, _state: State) -> Fragments:
    """The numbers of the host ports, whatever their protocol and address."""
    containers = (*pod.pod.spec.containers, *pod.pod.spec.init_containers)
    return {HOST_PORTS: frozenset(port.host_port for each in containers for port in each.ports if port.host_port)}


def tolerations(pod: PodInfo, _state: State) -> Fragments:
    """The tolerations; upstream sorts them, by key and value alone."""
    ordered = sorted(pod.pod.spec.tolerations, key=lambda each: (each.key or "", each.value or ""))
    return {TOLERATIONS: msgspec.json.encode(ordered)}


def resources(pod: Pod, classes: Container[str]) -> Fragments | None:
    """The spec's requests; None if a requested scalar is backed by a device class."""
    requested = to_resources(pod_requests(pod))
    return None if any(amount and name in classes for name, amount in requested.scalars) else {RESOURCES: requested}


def node_affinity(pod: PodInfo, _state: State) -> Fragments:
    """Required and preferred terms, in no order, and the node selector."""
    affinity = pod.pod.spec.affinity.node_affinity if pod.pod.spec.affinity else None
    selector = frozenset((pod.pod.spec.node_selector or {}).items())
    if affinity is None:
        return {NODE_AFFINITY: None, NODE_SELECTOR: selector}
    required = sorted(map(_term, affinity.required.node_selector_terms)) if affinity.required else []
    preferred = sorted((each.weight, _term(each.preference)) for each in affinity.preferred or ())
    return {NODE_AFFINITY: (tuple(required), tuple(preferred)), NODE_SELECTOR: selector}


def _term(term: NodeSelectorTerm) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    return _requirements(term.match_expressions), _requirements(term.match_fields)


def _requirements(requirements: Iterable[Requirement]) -> tuple[bytes, ...]:
    sorted_values = (replace(each, values=tuple(sorted(each.values))) for each in requirements)
    return tuple(sorted(map(msgspec.json.encode, sorted_values)))


def volumes(pod: PodInfo, _state: State) -> Fragments:
    """The sources of the volumes, in no order.

    Upstream leaves out config maps and secrets; kwhatif's model has only sources that a rule reads, so no `hostPath`.
    """
    sources = (replace(volume, name="") for volume in pod.pod.spec.volumes)
    return {VOLUMES: tuple(sorted(msgspec.json.encode(source) for source in sources if source != _NO_SOURCE))}


_NO_SOURCE = Volume()
