"""The part of a pod's status that rules read, and what Events say about a pending pod."""

from __future__ import annotations

from kwhatif.kube.model.container import ResourceList, ResourceRequirements
from kwhatif.kube.model.meta import Int32, Model


class PodCondition(Model):
    """`status.conditions[]`."""

    type: str = ""
    status: str = ""
    reason: str = ""
    last_transition_time: str | None = None


class ContainerStateWaiting(Model):
    """`state.waiting` of a container."""

    reason: str = ""


class ContainerStateTerminated(Model):
    """`state.terminated` of a container."""

    exit_code: Int32 = 0
    reason: str = ""
    finished_at: str | None = None


class ContainerState(Model):
    """`state` of a container; a running one has neither."""

    waiting: ContainerStateWaiting | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Model):
    """`status.containerStatuses[]`: its state, and the resources that an in-place resize has granted."""

    name: str = ""
    restart_count: Int32 = 0
    state: ContainerState | None = None
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None


class PodResourceClaimStatus(Model):
    """`status.resourceClaimStatuses[]`: the claim generated for a template entry."""

    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(Model):
    """One mapping of `status.extendedResourceClaimStatus.requestMappings[]`."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class ExtendedResourceClaimStatus(Model):
    """`status.extendedResourceClaimStatus`."""

    resource_claim_name: str = ""
    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()


class PodStatus(Model):
    """`status` of a pod."""

    phase: str = ""
    reason: str = ""
    qos_class: str = ""
    start_time: str | None = None
    nominated_node_name: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: ExtendedResourceClaimStatus | None = None


class SchedulingEvents(Model):
    """The attempts to schedule one pending pod, as far as Events show them.

    Times are RFC 3339 in UTC. The API server keeps Events for an hour (`--event-ttl`), so there may have been more.
    """

    #: How often the pod was rejected, at least.
    attempts: int = 0
    #: The last known rejection; "" if not known.
    last_attempt: str = ""
    #: Whether no later attempt can be missing: the scheduler keeps the count of a series in memory, and writes it every
    #: 30 minutes, or after 6 minutes without a new event (`client-go/tools/events/event_broadcaster.go`).
    is_last: bool = True
    #: Whether the last attempt ended with an error, or without nodes: the pod is tried again without an event.
    errored: bool = False
    #: Pods that it has preempted, `namespace/name`.
    evicted: tuple[str, ...] = ()
    #: Whether it was scheduled after the pods were listed.
    scheduled: bool = False
