"""Groups of pods (`scheduling.k8s.io/v1beta1`, gate GenericWorkload): PodGroup and Workload."""

from __future__ import annotations

from kwhatif.kube.gates import GROUPS_GATE
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import ApiObject, Int32, Model
from kwhatif.kube.model.pod import Pod, PodCondition


class NoFields(Model):
    """A choice without fields: it is present, or it is absent."""


class GangPolicy(Model):
    """`schedulingPolicy.gang`: at least `min_count` pods are placed together, or no pod is placed."""

    #: Required, and at least 1 (`admission/pod_group.py`).
    min_count: Int32 = 0


class SchedulingPolicy(Model):
    """`spec.schedulingPolicy`: exactly one of the two fields is set."""

    basic: NoFields | None = None
    gang: GangPolicy | None = None


class TopologyConstraint(Model):
    """`schedulingConstraints.topology[]`: all pods go to nodes with the same value of this label."""

    key: str = ""


class SchedulingConstraints(Model):
    """`spec.schedulingConstraints`."""

    topology: tuple[TopologyConstraint, ...] = ()


class DisruptionMode(Model):
    """`spec.disruptionMode`: whether pods are evicted separately (`single`, the default) or all together."""

    single: NoFields | None = None
    all: NoFields | None = None


class PodGroupResourceClaim(Model):
    """`spec.resourceClaims[]`: a claim that the pods of the group share."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class WorkloadTemplateReference(Model):
    """`spec.workloadRef`: the Workload from which the group was created, and the template in the Workload."""

    workload_name: str = ""
    template_name: str = ""


class GroupFields(Model):
    """The common fields of a PodGroup and of its template in a Workload."""

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str = ""


class PodGroupSpec(GroupFields):
    """`spec` of a PodGroup."""

    workload_ref: WorkloadTemplateReference | None = None
    parent_composite_pod_group_name: str = ""
    #: Set for a PodGroup of another scheduler, until the decoder has recognized that group.
    min_member: Int32 = 0


class PodGroupStatus(Model):
    """`status` of a PodGroup: the condition PodGroupInitiallyScheduled, after the first attempt."""

    conditions: tuple[PodCondition, ...] = ()


class PodGroup(ApiObject):
    """`scheduling.k8s.io/v1beta1 PodGroup`; pods refer to it in `spec.schedulingGroup`."""

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def priority(self) -> int:
        """The group's priority, which applies to all its pods (`PodGroupPriority`)."""
        return self.spec.priority or 0

    @property
    def min_count(self) -> int:
        """The minimum number of pods that must be placed together (`getMinCount`)."""
        gang = self.spec.scheduling_policy.gang
        return 1 if gang is None else gang.min_count

    @property
    def topology_key(self) -> str:
        """The label of the topology constraint: its values are the topology domains; "" without a constraint."""
        constraints = self.spec.scheduling_constraints
        return constraints.topology[0].key if constraints is not None and constraints.topology else ""

    @property
    def is_evicted_whole(self) -> bool:
        """Whether its pods are evicted all together or not at all."""
        mode = self.spec.disruption_mode
        return mode is not None and mode.all is not None


class PodGroupTemplate(GroupFields):
    """`podGroupTemplates[]` of a Workload."""

    name: str = ""


class CompositePodGroupTemplate(Model):
    """`compositePodGroupTemplates[]` of a Workload: groups of groups (gate CompositePodGroup) are not modelled."""

    name: str = ""


class ControllerReference(Model):
    """`controllerRef` of a Workload: the controller that owns the pods of its groups."""

    api_group: str = ""
    kind: str = ""
    name: str = ""


class WorkloadSpec(Model):
    """`spec` of a Workload: templates from which a controller creates PodGroups. The scheduler does not read it."""

    controller_ref: ControllerReference | None = None
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()
    composite_pod_group_templates: tuple[CompositePodGroupTemplate, ...] = ()


class Workload(ApiObject):
    """`scheduling.k8s.io/v1beta1 Workload`."""

    spec: WorkloadSpec = WorkloadSpec()


#: The first minor release whose groups are modelled: up to 1.36 the API is different.
GROUPS_SINCE = 37


def has_groups(cluster: Cluster) -> bool:
    """Whether the cluster's scheduler places pod groups by the modelled rules."""
    return GROUPS_GATE in cluster.facts.gates and cluster.facts.minor >= GROUPS_SINCE


def group_of(pod: Pod) -> str:
    """The key of the pod's PodGroup, `namespace/name`; "" if the pod has no group."""
    named = pod.spec.scheduling_group
    return "" if named is None or not named.pod_group_name else f"{pod.metadata.namespace}/{named.pod_group_name}"


def priority_of(pod: Pod, cluster: Cluster) -> int:
    """The priority of the pod as a possible victim: the priority of its group, if it has a group (`GetPodPriority`)."""
    key = group_of(pod)
    group = cluster.get(PodGroup, key) if key else None
    return (pod.spec.priority or 0) if group is None else group.priority
