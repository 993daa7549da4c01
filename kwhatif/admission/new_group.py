"""What the API server makes of a new PodGroup (`plugin/pkg/admission/priority`, `registry/scheduling/podgroup`)."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.admission.outcome import Denied, forbidden
from kwhatif.admission.priority import DEFAULT_POLICY, PriorityClasses
from kwhatif.kube.gates import GROUP_POLICY_GATE, TOPOLOGY_GATE
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod_group import PodGroup, PodGroupStatus
from kwhatif.kube.model.policy import PriorityClass


def admit_group(group: PodGroup, cluster: Cluster) -> PodGroup | Denied:
    """The group as it is stored, or why it is refused."""
    group = without_disabled(group, cluster)
    spec = group.spec
    name = spec.priority_class_name
    classes = PriorityClasses(cluster.all(PriorityClass).values())
    found = cluster.get(PriorityClass, name) if name else classes.default
    if found is None and name:
        return forbidden(group, f"no PriorityClass with name {name} was found")
    value, policy = (0, DEFAULT_POLICY) if found is None else (found.value, found.preemption_policy)
    if spec.priority not in (None, value):
        return forbidden(
            group,
            f"priority set in the pod group ({spec.priority}) must match the priority computed ({value})"
            " based on the priority class set in the spec",
        )
    spec = replace(spec, priority=value, priority_class_name=name or ("" if found is None else found.metadata.name))
    if GROUP_POLICY_GATE in cluster.gates:
        if spec.preemption_policy not in ("", policy):
            return forbidden(
                group,
                f"the string value of PreemptionPolicy ({spec.preemption_policy}) must not be provided in pod group"
                f" spec; priority admission controller computed {policy} from the given PriorityClass name",
            )
        spec = replace(spec, preemption_policy=policy)
    return replace(group, spec=spec, status=PodGroupStatus())


def without_disabled(group: PodGroup, cluster: Cluster) -> PodGroup:
    """The group without the fields that the API server drops as their gates are off."""
    spec = group.spec
    if TOPOLOGY_GATE not in cluster.gates and spec.scheduling_constraints is not None:
        spec = replace(spec, scheduling_constraints=None)
    if GROUP_POLICY_GATE not in cluster.gates and spec.preemption_policy:
        spec = replace(spec, preemption_policy="")
    return group if spec is group.spec else replace(group, spec=spec)
