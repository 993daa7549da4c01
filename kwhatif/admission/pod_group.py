"""Admission of new and changed PodGroups and Workloads: defaults, priority, validation.

(`plugin/pkg/admission/priority`, `registry/scheduling/podgroup` and `workload`; for validation
`pkg/apis/scheduling/validation/validation.go`, and the code generated from the tags of the API:
`pkg/apis/scheduling/v1beta1/zz_generated.validations.go`.) Groups of groups are not modelled. Fields that an admission
plugin adds and no rule reads, such as the finalizer of `podgroupprotection`, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from kwhatif.admission.outcome import Denied, Forbidden, forbidden
from kwhatif.admission.plugins import DEFAULT_POLICY, PriorityClasses, no_priority_class, not_computed
from kwhatif.admission.validation.errors import FieldErrors
from kwhatif.admission.validation.pod import validate_metadata
from kwhatif.kube.gates import COMPOSITE_GROUPS_GATE, GROUP_CLAIMS_GATE, GROUP_POLICY_GATE, TOPOLOGY_GATE, Gates
from kwhatif.kube.matching.field_errors import dns_label_errors, dns_subdomain_errors, label_key_errors
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.pod_group import (
    ControllerReference,
    DisruptionMode,
    GroupFields,
    NoFields,
    PodGroup,
    PodGroupResourceClaim,
    PodGroupSpec,
    PodGroupStatus,
    PodGroupTemplate,
    SchedulingConstraints,
    SchedulingPolicy,
    Workload,
    WorkloadSpec,
    WorkloadTemplateReference,
)
from kwhatif.kube.model.policy import PriorityClass

Fields = TypeVar("Fields", bound=GroupFields)
_SINGLE = DisruptionMode(single=NoFields())
#: The kinds that are admitted here.
GROUP_KINDS = (PodGroup, Workload)


def admit_grouping(obj: PodGroup | Workload, cluster: Cluster) -> PodGroup | Workload | Denied:
    """The object as it is stored, or its rejection. If the cluster already has it, this is an update."""
    return admit_group(obj, cluster) if isinstance(obj, PodGroup) else admit_workload(obj, cluster)


def admit_group(group: PodGroup, cluster: Cluster) -> PodGroup | Denied:
    """The group as it is stored, or its rejection. If the cluster already has it, this is an update."""
    known = cluster.get(PodGroup, key_of(group))
    spec = group.spec if group.spec.disruption_mode is not None else replace(group.spec, disruption_mode=_SINGLE)
    if GROUP_POLICY_GATE in cluster.facts.gates and not spec.preemption_policy:
        spec = replace(spec, preemption_policy=DEFAULT_POLICY)
    given = replace(group, spec=spec)
    prioritized = _with_priority(given, cluster) if known is None else given
    if isinstance(prioritized, Denied):
        return prioritized
    spec = _without_disabled(prioritized.spec, None if known is None else known.spec, cluster.facts.gates)
    if COMPOSITE_GROUPS_GATE not in cluster.facts.gates and not (known and known.spec.parent_composite_pod_group_name):
        spec = replace(spec, parent_composite_pod_group_name="")
    made = replace(group, spec=spec, status=PodGroupStatus() if known is None else known.status)
    return validate_pod_group(made, known, cluster.facts.gates) or made


def admit_workload(workload: Workload, cluster: Cluster) -> Workload | Denied:
    """The Workload as it is stored, or its rejection. If the cluster already has it, this is an update."""
    known, spec = cluster.get(Workload, key_of(workload)), workload.spec
    before = () if known is None else known.spec.pod_group_templates
    templates = tuple(
        _without_disabled(each, before[index] if index < len(before) else None, cluster.facts.gates)
        for index, each in enumerate(spec.pod_group_templates)
    )
    spec = replace(spec, pod_group_templates=templates)
    if COMPOSITE_GROUPS_GATE not in cluster.facts.gates and not (known and known.spec.composite_pod_group_templates):
        spec = replace(spec, composite_pod_group_templates=())
    made = replace(workload, spec=spec)
    return validate_workload(made, known, cluster.facts.gates) or made


def _with_priority(group: PodGroup, cluster: Cluster) -> PodGroup | Denied:
    """The group with the priority and the preemption policy of its class (`admitPodGroup`)."""
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
    if GROUP_POLICY_GATE in cluster.facts.gates:
        if spec.preemption_policy not in ("", policy):
            given = f"string value of PreemptionPolicy ({spec.preemption_policy})"
            return not_computed(group, given, "pod group spec", policy)
        spec = replace(spec, preemption_policy=policy)
    return replace(group, spec=spec)


def _without_disabled(new: Fields, known: Fields | None, gates: Gates) -> Fields:
    """The spec without fields whose feature gates are off (the API server drops them); a field in use stays."""
    if TOPOLOGY_GATE not in gates and (known is None or known.scheduling_constraints is None):
        new = replace(new, scheduling_constraints=None)
    if GROUP_CLAIMS_GATE not in gates and not (known is not None and known.resource_claims):
        new = replace(new, resource_claims=())
    if GROUP_POLICY_GATE not in gates and not (known is not None and known.preemption_policy):
        new = replace(new, preemption_policy="")
    return new


# --- validation --------------------------------------------------------------------------------------

_MOST_TOPOLOGIES, _MOST_CLAIMS, _MOST_TEMPLATES = 1, 4, 8
#: The highest priority of a class that is not the system's (`HighestUserDefinablePriority`).
_MOST_PRIORITY = 1_000_000_000
_POLICIES = ("Never", "PreemptLowerPriority")


def validate_pod_group(new: PodGroup, known: PodGroup | None, gates: Gates) -> Denied | None:
    """The API server's rejection of a group, or of a change of the known one; None if it is valid."""
    errors = FieldErrors()
    if known is None:
        validate_metadata(new.metadata, dns_subdomain_errors, errors)
        if new.spec.parent_composite_pod_group_name and new.spec.workload_ref is None:
            errors.required("spec.workloadRef", "must be set when parentCompositePodGroupName is set")
    _Fields(errors, gates, is_update=known is not None).group(new.spec, None if known is None else known.spec)
    return errors.refusal(new)


def validate_workload(new: Workload, known: Workload | None, gates: Gates) -> Denied | None:
    """The API server's rejection of a Workload, or of a change of the known one; None if it is valid."""
    errors = FieldErrors()
    if known is None:
        validate_metadata(new.metadata, dns_subdomain_errors, errors)
    templates = new.spec.pod_group_templates
    if len({(each.priority_class_name, each.priority) for each in templates}) > 1:
        errors.invalid_object("spec", None, "detected multiple priority configurations")
    _Fields(errors, gates, is_update=known is not None).workload(new.spec, None if known is None else known.spec)
    return errors.refusal(new)


class _Fields:
    """The rules for fields. Each rule also gets the field's old value; None if there was none."""

    def __init__(self, errors: FieldErrors, gates: Gates, *, is_update: bool) -> None:
        self._errors, self._gates, self._is_update = errors, gates, is_update

    # --- a PodGroup ----------------------------------------------------------------------------------

    def group(self, new: PodGroupSpec, known: PodGroupSpec | None) -> None:
        """The spec of a PodGroup."""
        before = known or PodGroupSpec()
        path, parent = "spec.parentCompositePodGroupName", new.parent_composite_pod_group_name
        if self._goes_on(path, parent, before.parent_composite_pod_group_name, gate=COMPOSITE_GROUPS_GATE):
            self._errors.check(path, parent, dns_subdomain_errors)
        reference = new.workload_ref
        if self._goes_on("spec.workloadRef", reference, before.workload_ref) and reference is not None:
            self._reference(reference)
        self._common("spec", new, before, is_fixed=TOPOLOGY_GATE in self._gates)

    def _reference(self, reference: WorkloadTemplateReference) -> None:
        self._errors.name("spec.workloadRef.workloadName", reference.workload_name, dns_subdomain_errors)
        self._errors.name("spec.workloadRef.templateName", reference.template_name, dns_label_errors)

    # --- a Workload ----------------------------------------------------------------------------------

    def workload(self, new: WorkloadSpec, known: WorkloadSpec | None) -> None:
        """The spec of a Workload."""
        before = known or WorkloadSpec()
        if self._is_update and new == before:
            return
        names = "podGroupTemplates", "compositePodGroupTemplates"
        now, then = (
            (bool(each.pod_group_templates), bool(each.composite_pod_group_templates)) for each in (new, before)
        )
        self._one_of("spec", names, now, then)
        controller = new.controller_ref
        if self._goes_on("spec.controllerRef", controller, before.controller_ref) and controller is not None:
            self._controller(controller)
        self._templates("spec.podGroupTemplates", new.pod_group_templates, before.pod_group_templates)

    def _controller(self, controller: ControllerReference) -> None:
        path = "spec.controllerRef"
        if controller.api_group:
            self._errors.check(f"{path}.apiGroup", controller.api_group, dns_subdomain_errors)
        for field, name in (("kind", controller.kind), ("name", controller.name)):
            self._errors.name(f"{path}.{field}", name, _path_segment_errors)

    def _templates(self, path: str, new: Sequence[PodGroupTemplate], known: Sequence[PodGroupTemplate]) -> None:
        if self._is_update and new == known:
            return
        errors = self._errors
        count = len(errors)
        errors.at_most(path, len(new), _MOST_TEMPLATES)
        now, before = ({each.name: each for each in some} for some in (new, known))
        if self._is_update:
            for index, each in enumerate(new):
                if each.name not in before:
                    errors.forbidden(f"{path}[{index}]", "item may not be added")
            for each in known:
                if each.name not in now:
                    errors.forbidden(path, "item may not be removed")
        if len(errors) > count:
            return
        self._unique(path, new, [_template_as_json(each) for each in new])
        for index, each in enumerate(new):
            there = before.get(each.name)
            if not self._is_update or each != there:
                here = f"{path}[{index}]"
                errors.name(f"{here}.name", each.name, dns_label_errors)
                self._common(here, each, there or PodGroupTemplate(), is_fixed=True)

    # --- what both have ------------------------------------------------------------------------------

    def _common(self, path: str, new: GroupFields, before: GroupFields, *, is_fixed: bool) -> None:
        """Fields that groups and templates share. `is_fixed`: whether the constraints must not change."""
        self._policy(f"{path}.schedulingPolicy", new.scheduling_policy, before.scheduling_policy)
        here, constraints = f"{path}.schedulingConstraints", new.scheduling_constraints
        if self._goes_on(here, constraints, before.scheduling_constraints, gate=TOPOLOGY_GATE, is_fixed=is_fixed):
            self._topology(f"{here}.topology", constraints)
        self._claims(f"{path}.resourceClaims", new.resource_claims, before.resource_claims)
        here, mode = f"{path}.disruptionMode", new.disruption_mode
        if self._goes_on(here, mode, before.disruption_mode):
            self._mode(here, mode or DisruptionMode())
        here, name = f"{path}.priorityClassName", new.priority_class_name
        if self._goes_on(here, name, before.priority_class_name):
            self._errors.check(here, name, dns_subdomain_errors)
        here, priority = f"{path}.priority", new.priority
        if self._goes_on(here, priority, before.priority) and priority is not None and priority > _MOST_PRIORITY:
            self._errors.invalid(here, priority, f"must be less than or equal to {_MOST_PRIORITY}")
        here, policy = f"{path}.preemptionPolicy", new.preemption_policy
        if self._goes_on(here, policy, before.preemption_policy, gate=GROUP_POLICY_GATE):
            self._errors.supported(here, policy, _POLICIES)

    def _policy(self, path: str, new: SchedulingPolicy, before: SchedulingPolicy) -> None:
        if self._is_update and new == before:
            return
        errors = self._errors
        now, then = ((each.basic is not None, each.gang is not None) for each in (new, before))
        self._one_of(path, ("basic", "gang"), now, then)
        self._goes_on(f"{path}.basic", new.basic, before.basic)
        if self._is_update and (new.gang is None) != (before.gang is None):
            detail = "field cannot be cleared once set" if new.gang is None else "field cannot be set once created"
            errors.invalid_object(f"{path}.gang", None, detail)
        elif new.gang is not None and not (self._is_update and new.gang == before.gang):
            if not new.gang.min_count:
                errors.required(f"{path}.gang.minCount")
            elif new.gang.min_count < 1:
                errors.invalid(f"{path}.gang.minCount", new.gang.min_count, "must be greater than or equal to 1")

    def _topology(self, path: str, constraints: SchedulingConstraints | None) -> None:
        keys = [each.key for each in constraints.topology] if constraints is not None else []
        if len(keys) > _MOST_TOPOLOGIES:
            self._errors.at_most(path, len(keys), _MOST_TOPOLOGIES)
            return
        for index, key in enumerate(keys):
            self._errors.name(f"{path}[{index}].key", key, label_key_errors)

    def _claims(self, path: str, new: Sequence[PodGroupResourceClaim], known: Sequence[PodGroupResourceClaim]) -> None:
        goes_on = self._goes_on(path, new, known)
        if self._is_update and new == known:
            return
        self._errors.at_most(path, len(new), _MOST_CLAIMS)
        if not goes_on or len(new) > _MOST_CLAIMS:
            return
        self._unique(path, new, [msgspec.to_builtins(each) for each in new])
        for index, each in enumerate(new):
            here = f"{path}[{index}]"
            names = each.resource_claim_name, each.resource_claim_template_name
            fields = "resourceClaimName", "resourceClaimTemplateName"
            self._one_of(here, fields, [name is not None for name in names], ())
            self._errors.name(f"{here}.name", each.name, dns_label_errors)
            for field, name in zip(fields, names, strict=True):
                if name is not None:
                    self._errors.check(f"{here}.{field}", name, dns_subdomain_errors)

    def _mode(self, path: str, mode: DisruptionMode) -> None:
        self._one_of(path, ("single", "all"), (mode.single is not None, mode.all is not None), ())

    # --- rules ---------------------------------------------------------------------------------------

    def _goes_on(self, path: str, new: object, before: object, *, gate: str = "", is_fixed: bool = True) -> bool:
        """Whether the optional field has a value that must be validated. If it `is_fixed`, it must not change.

        If the feature gate is off, the field is set only if it was set before (`dropDisabled…`).
        """
        if self._is_update and new == before:
            return False
        is_off = bool(gate) and gate not in self._gates
        is_set = new not in (None, "", ())
        if is_off and is_set:
            self._errors.forbidden(path)
        if self._is_update and is_fixed:
            self._errors.immutable(path)
        return is_set and not is_off and not (self._is_update and is_fixed)

    def _one_of(self, path: str, names: Sequence[str], now: Sequence[bool], before: Sequence[bool]) -> None:
        """Exactly one of the fields is set (`validate.Union`); a change that sets the same fields is not checked."""
        if self._is_update and tuple(now) == tuple(before):
            return
        members, given = (
            ", ".join(f"`{name}`" for name in names),
            [name for name, is_set in zip(names, now, strict=True) if is_set],
        )
        if not given:
            self._errors.invalid(path, "", f"must specify one of: {members}")
        elif len(given) > 1:
            self._errors.invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {members}")

    def _unique(self, path: str, items: Sequence[Any], shown: Sequence[object]) -> None:
        seen: set[str] = set()
        for index, each in enumerate(items):
            if each.name in seen:
                self._errors.duplicate_object(f"{path}[{index}]", shown[index])
            seen.add(each.name)


def _path_segment_errors(name: str) -> Iterator[str]:
    """`IsPathSegmentName`."""
    if name in (".", ".."):
        yield f"may not be '{name}'"
        return
    for character in "/%":
        if character in name:
            yield f"may not contain '{character}'"


def _template_as_json(template: PodGroupTemplate) -> dict[str, object]:
    """The template as the API server prints it in errors: these three fields are always printed."""
    shown: dict[str, object] = msgspec.to_builtins(template)
    first: dict[str, object] = {"name": template.name, "schedulingPolicy": {}, "schedulingConstraints": None}
    return first | {name: value for name, value in shown.items() if name != "name"}
