"""What the API server makes of a PodGroup or a Workload, new or changed.

(`plugin/pkg/admission/priority`, `registry/scheduling/podgroup` and `workload`.) What an admission plugin adds that no
rule reads, such as the finalizer of `podgroupprotection`, is left out.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from kwhatif.admission.outcome import Denied, Forbidden, forbidden
from kwhatif.admission.plugins import DEFAULT_POLICY, PriorityClasses, no_priority_class
from kwhatif.admission.validation.pod_group import validate_pod_group, validate_workload
from kwhatif.kube.gates import COMPOSITE_GROUPS_GATE, GROUP_CLAIMS_GATE, GROUP_POLICY_GATE, TOPOLOGY_GATE, Gates
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.pod_group import DisruptionMode, GroupFields, NoFields, PodGroup, PodGroupStatus, Workload
from kwhatif.kube.model.policy import PriorityClass

Fields = TypeVar("Fields", bound=GroupFields)
_SINGLE = DisruptionMode(single=NoFields())
#: What these rules are about.
GROUP_KINDS = (PodGroup, Workload)


def admit_grouping(obj: PodGroup | Workload, cluster: Cluster) -> PodGroup | Workload | Denied:
    """The object as it is stored, or why it is refused; where the cluster has it, this is a change."""
    return admit_group(obj, cluster) if isinstance(obj, PodGroup) else admit_workload(obj, cluster)


def admit_group(group: PodGroup, cluster: Cluster) -> PodGroup | Denied:
    """The group as it is stored, or why it is refused; where the cluster has it, this is a change."""
    known = cluster.get(PodGroup, key_of(group))
    spec = group.spec if group.spec.disruption_mode is not None else replace(group.spec, disruption_mode=_SINGLE)
    if GROUP_POLICY_GATE in cluster.gates and not spec.preemption_policy:
        spec = replace(spec, preemption_policy=DEFAULT_POLICY)
    given = replace(group, spec=spec)
    prioritized = _with_priority(given, cluster) if known is None else given
    if isinstance(prioritized, Denied):
        return prioritized
    spec = _without_disabled(prioritized.spec, None if known is None else known.spec, cluster.gates)
    if COMPOSITE_GROUPS_GATE not in cluster.gates and not (known and known.spec.parent_composite_pod_group_name):
        spec = replace(spec, parent_composite_pod_group_name="")
    made = replace(group, spec=spec, status=PodGroupStatus() if known is None else known.status)
    return validate_pod_group(made, known, cluster.gates) or made


def admit_workload(workload: Workload, cluster: Cluster) -> Workload | Denied:
    """The same of a Workload."""
    known, spec = cluster.get(Workload, key_of(workload)), workload.spec
    before = () if known is None else known.spec.pod_group_templates
    templates = tuple(
        _without_disabled(each, before[index] if index < len(before) else None, cluster.gates)
        for index, each in enumerate(spec.pod_group_templates)
    )
    spec = replace(spec, pod_group_templates=templates)
    if COMPOSITE_GROUPS_GATE not in cluster.gates and not (known and known.spec.composite_pod_group_templates):
        spec = replace(spec, composite_pod_group_templates=())
    made = replace(workload, spec=spec)
    return validate_workload(made, known, cluster.gates) or made


def _with_priority(group: PodGroup, cluster: Cluster) -> PodGroup | Denied:
    """With the priority and the policy of its class (`admitPodGroup`)."""
    spec = group.spec
    name = spec.priority_class_name
    classes = PriorityClasses(cluster.all(PriorityClass).values())
    found = cluster.get(PriorityClass, name) if name else classes.default
    if found is None and name:
        return no_priority_class(group, name)
    value, policy = (0, DEFAULT_POLICY) if found is None else (found.value, found.preemption_policy)
    if spec.priority not in (None, value):
        return forbidden(
            group,
            f"priority set in the pod group ({spec.priority}) must match the priority computed ({value})"
            " based on the priority class set in the spec",
            Forbidden("Priority"),
        )
    spec = replace(spec, priority=value, priority_class_name=name or ("" if found is None else found.metadata.name))
    if GROUP_POLICY_GATE in cluster.gates:
        if spec.preemption_policy not in ("", policy):
            return forbidden(
                group,
                f"the string value of PreemptionPolicy ({spec.preemption_policy}) must not be provided in pod group"
                f" spec; priority admission controller computed {policy} from the given PriorityClass name",
                Forbidden("Priority"),
            )
        spec = replace(spec, preemption_policy=policy)
    return replace(group, spec=spec)


def _without_disabled(new: Fields, known: Fields | None, gates: Gates) -> Fields:
    """Without the fields that the API server drops as their gates are off; a field that was in use stays."""
    if TOPOLOGY_GATE not in gates and (known is None or known.scheduling_constraints is None):
        new = replace(new, scheduling_constraints=None)
    if GROUP_CLAIMS_GATE not in gates and not (known is not None and known.resource_claims):
        new = replace(new, resource_claims=())
    if GROUP_POLICY_GATE not in gates and not (known is not None and known.preemption_policy):
        new = replace(new, preemption_policy="")
    return new
