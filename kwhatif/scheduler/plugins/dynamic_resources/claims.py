"""The claims of a pod: those in its spec, and one for extended resources that devices provide.

(`foreachPodResourceClaim` in `dynamicresources.go`, `extendeddynamicresources.go`, and
`staging/src/k8s.io/dynamic-resource-allocation/resourceclaim/resourceclaim.go`.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kwhatif.dra.devices import IMPLICIT_PREFIX, classes_under, device_classes_by_resource
from kwhatif.dra.requests import ClaimToAllocate, RulesOf, base_rules, compile_claim
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.requests import is_extended_resource, pod_requests, to_resources
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import AnnotatedMeta, controller_of
from kwhatif.kube.model.pod import PodResourceClaim, PodSpec
from kwhatif.kube.model.pod_spec import Container, is_sidecar
from kwhatif.kube.model.quantity import NANO, fits, parse_quantity
from kwhatif.kube.model.resource import (
    EXACT_COUNT,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from kwhatif.scheduler.framework.evidence import InsufficientResource
from kwhatif.scheduler.framework.status import Status, unresolvable
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


def is_dra_resource(name: str) -> bool:
    """Whether devices may provide a resource with this name (`IsDRAExtendedResourceName`)."""
    return is_extended_resource(name) or name.startswith(IMPLICIT_PREFIX)


def extended_resource_requests(spec: PodSpec, classes: Mapping[str, DeviceClass]) -> tuple[DeviceRequest, ...]:
    """Device requests for the pod's extended resources; `classes` is by resource name (`createRequestsAndMappings`)."""
    requests = [request for name in classes for request in _requests(spec, name, classes[name].metadata.name)]
    return tuple(sorted(requests, key=lambda request: request.name))


def _requests(spec: PodSpec, resource: str, class_name: str) -> list[DeviceRequest]:
    """One request for each container and sidecar, and one for all init containers.

    An init container uses the devices of the containers that start after it. It requests only the number of devices
    beyond these. Init containers run one at a time, so the largest of their requests is enough for all.
    """
    first_lasting = len(spec.init_containers)
    containers = (*spec.init_containers, *spec.containers)
    lasting: dict[int, int] = {}
    for index, container in enumerate(containers):
        amount = _amount(container, resource)
        if amount and (index >= first_lasting or is_sidecar(container)):
            lasting[index] = amount
    excess: dict[int, int] = {}
    for index, container in enumerate(spec.init_containers):
        reusable = sum(amount for place, amount in lasting.items() if place >= index)
        missing = _amount(container, resource) - reusable
        if missing > 0 and not is_sidecar(container):
            excess[index] = missing
    if excess:
        greediest = max(excess, key=lambda index: (excess[index], -index))
        lasting[greediest] = excess[greediest]
    return [_request(index, containers[index], resource, class_name, amount) for index, amount in lasting.items()]


def _amount(container: Container, resource: str) -> int:
    """The requested number of devices (`Quantity.AsInt64`).

    QUIRK: (extendeddynamicresources.go) a fraction of a device, or an amount that overflows an int64, counts as 0.
    """
    whole, fraction = divmod(parse_quantity(container.resources.requests.get(resource, 0)), NANO)
    return 0 if fraction or not fits(whole) else whole


def _request(index: int, container: Container, resource: str, class_name: str, count: int) -> DeviceRequest:
    place = sorted(container.resources.requests).index(resource)
    asked = ExactDeviceRequest(device_class_name=class_name, allocation_mode=EXACT_COUNT, count=count)
    return DeviceRequest(name=f"container-{index}-request-{place}", exactly=asked)


#: The name of the claim for extended resources while it is only in the scheduler's memory.
IN_MEMORY_NAME = "<extended-resources>"
#: The annotation of a claim for extended resources (`ExtendedResourceClaimAnnotation`).
EXTENDED_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


class ClaimRules(NamedTuple):
    """Rules and messages that differ between releases."""

    #: The message after the name of a claim that was created for another pod (`IsForPod` in `resourceclaim.go`).
    not_owner: str = "was not created for Pod {pod} (Pod is not owner)"
    #: Whether a timeout of the search on one node fails the whole attempt; otherwise only the node is rejected.
    timeout_is_error: bool = True
    #: PostFilter's message for a pod without claims; "" for none.
    no_claims: str = "no new claims to deallocate"
    #: PostFilter's message if no deallocation would help; "" for none.
    no_help: str = "still not schedulable"
    allocator: RulesOf = base_rules


RULES = ClaimRules()


def user_claims(pod: PodInfo, cluster: Cluster, rules: ClaimRules = RULES) -> tuple[ResourceClaim, ...] | Status:
    """The claims in the pod's spec, in order; or why the pod cannot be scheduled yet."""
    found = []
    for entry in pod.pod.spec.resource_claims:
        claim = _claim(pod, entry, cluster, rules)
        if isinstance(claim, str):
            return unresolvable(claim)
        if claim is not None:
            found.append(claim)
    return tuple(found)


def _claim(pod: PodInfo, entry: PodResourceClaim, cluster: Cluster, rules: ClaimRules) -> ResourceClaim | str | None:
    """The claim of one entry of the spec; an error message; or None if the entry needs no claim."""
    name = entry.resource_claim_name
    generated = name is None
    if name is None:
        if entry.resource_claim_template_name is None:
            return f'pod "{pod.key}", spec.resourceClaim "{entry.name}": none of the supported fields are set'
        statuses = pod.pod.status.resource_claim_statuses
        status = next((status for status in statuses if status.name == entry.name), None)
        if status is None:
            return f'pod "{pod.key}": ResourceClaim not created yet'
        name = status.resource_claim_name
        if name is None:
            return None
    claim = cluster.get(ResourceClaim, f"{pod.namespace}/{name}")
    if claim is None:
        return f'could not find ResourceClaim "{pod.namespace}/{name}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'resourceclaim "{name}" is being deleted'
    if generated:
        owner = controller_of(claim.metadata)
        if owner is None or owner.uid != pod.uid:
            return f"ResourceClaim {pod.namespace}/{name} {rules.not_owner.format(pod=pod.key)}"
    return claim


class ExtendedResources:
    """A pod's requests for extended resources, at least one of which has a device class."""

    def __init__(
        self,
        pod: PodInfo,
        wanted: Mapping[str, int],
        left_over: ResourceClaim | None,
        cluster: Cluster,
        gates: Gates = BASE_GATES,
        rules: ClaimRules = RULES,
    ) -> None:
        self._gates = gates
        self._rules = rules.allocator(gates)
        self._pod = pod
        self._wanted = wanted
        #: The claim that an earlier failed attempt left: it must be deleted before the pod can be scheduled.
        self.left_over = left_over
        self._cluster = cluster
        self._classes = device_classes_by_resource(cluster)
        self._compiled: dict[tuple[str, ...], ClaimToAllocate] = {}

    def on(self, node: NodeInfo) -> tuple[str, ...] | Status:
        """The resources that the node must provide as devices; or why it cannot (`filterExtendedResources`)."""
        if self.left_over is not None:
            return unresolvable("cannot schedule extended resource claim")
        own = dict(node.allocatable.scalars)
        by_devices = []
        for name, amount in self._wanted.items():
            if name in self._classes and not own.get(name, 0):
                by_devices.append(name)
            elif name not in own:
                return unresolvable("cannot fit resource", InsufficientResource(name, amount, 0, 0))
        return tuple(by_devices)

    def claim_for(self, names: tuple[str, ...]) -> ClaimToAllocate:
        """The claim for these resources."""
        compiled = self._compiled.get(names)
        if compiled is None:
            compiled = self._compiled[names] = compile_claim(
                self.make_claim(IN_MEMORY_NAME, names), self._cluster, self._gates, self._rules
            )
        return compiled

    def make_claim(self, name: str, names: tuple[str, ...]) -> ResourceClaim:
        """The claim for these resources as an object."""
        requests = extended_resource_requests(self._pod.pod.spec, {name: self._classes[name] for name in names})
        return ResourceClaim(
            metadata=AnnotatedMeta(name=name, namespace=self._pod.namespace, annotations={EXTENDED_ANNOTATION: "true"}),
            spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests)),
        )


def extended_resources(
    pod: PodInfo, cluster: Cluster, gates: Gates = BASE_GATES, rules: ClaimRules = RULES
) -> ExtendedResources | None:
    """The pod's extended resources; None if none of them has a device class."""
    classes = classes_under(gates)(cluster)
    if not classes:
        return None
    scalars = to_resources(pod_requests(pod.pod)).scalars
    wanted = {name: amount for name, amount in scalars if amount and is_dra_resource(name)}
    if not any(name in classes for name in wanted):
        return None
    left_over = next((claim for claim in cluster.all(ResourceClaim).values() if _is_for(claim, pod)), None)
    return ExtendedResources(pod, wanted, left_over, cluster, gates, rules)


def _is_for(claim: ResourceClaim, pod: PodInfo) -> bool:
    if claim.metadata.annotations.get(EXTENDED_ANNOTATION) != "true":
        return False
    return any(
        owner.controller and owner.uid == pod.uid and owner.name == pod.name
        for owner in claim.metadata.owner_references
    )
