"""What cannot be changed about a pod (`ValidatePodUpdate` in `pkg/apis/core/validation/validation.go`)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.admission.outcome import Denied
from kwhatif.admission.validation.errors import FieldErrors
from kwhatif.kube.matching.contents import plain
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.pod_spec import Affinity, Container, NodeAffinity, NodeSelectorTerm

#: Upstream prints a comparison of the two in Go's notation behind it, which is left out here.
_OTHER_FIELDS = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_TERMS = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


def validate_pod_update(new: Pod, known: Pod) -> Denied | None:
    """The API server's refusal of a change of a pod's spec; None where it takes it."""
    errors = FieldErrors()
    if not _may_become(new.spec, known.spec, errors.within("spec")):
        errors.forbidden("spec", _OTHER_FIELDS)
    return errors.refusal(new)


def _may_become(new: PodSpec, old: PodSpec, errors: FieldErrors) -> bool:
    """Whether nothing changes but what may; what is wrong with that is an error of its own."""
    for field, one, other in (
        ("containers", new.containers, old.containers),
        ("initContainers", new.init_containers, old.init_containers),
    ):
        if len(one) != len(other):
            errors.forbidden(field, "pod updates may not add or remove containers")
            return True
    if not _check_deadline(new.active_deadline_seconds, old.active_deadline_seconds, errors):
        return True
    _check_tolerations(new, old, errors)
    gates = {gate.name for gate in old.scheduling_gates}
    for at, gate in enumerate(new.scheduling_gates):
        if gate.name not in gates:
            reason = f"only deletion is allowed, but found new scheduling gate '{gate.name}'"
            errors.forbidden(f"schedulingGates[{at}].name", reason)
    left = _without_what_may_change(new, old)
    if old.scheduling_gates:
        left = _of_gated(left, old, errors)
    return plain(left) == plain(old)


def _check_deadline(new: int | None, old: int | None, errors: FieldErrors) -> bool:
    """Whether the rest is looked at."""
    field = "activeDeadlineSeconds"
    if new is None:
        if old is not None:
            errors.invalid_object(field, None, "must not update from a positive integer to nil value")
    elif not 0 <= new < 2**31:
        errors.invalid(field, new, "must be between 0 and 2147483647, inclusive")
        return False
    elif old is not None and old < new:
        errors.invalid(field, new, "must be less than or equal to previous value")
        return False
    return True


def _check_tolerations(new: PodSpec, old: PodSpec, errors: FieldErrors) -> None:
    there = [replace(each, toleration_seconds=None) for each in new.tolerations]
    if any(replace(each, toleration_seconds=None) not in there for each in old.tolerations):
        errors.forbidden("tolerations", "existing toleration can not be modified except its tolerationSeconds")


def _without_what_may_change(new: PodSpec, old: PodSpec) -> PodSpec:
    grace = new.termination_grace_period_seconds
    if grace == 1 and old.termination_grace_period_seconds < 0:
        grace = old.termination_grace_period_seconds
    return replace(
        new,
        containers=_with_images(new.containers, old.containers),
        init_containers=_with_images(new.init_containers, old.init_containers),
        active_deadline_seconds=old.active_deadline_seconds,
        scheduling_gates=old.scheduling_gates,
        tolerations=old.tolerations,
        termination_grace_period_seconds=grace,
    )


def _with_images(new: Sequence[Container], old: Sequence[Container]) -> tuple[Container, ...]:
    return tuple(replace(each, image=known.image) for each, known in zip(new, old, strict=True))


def _of_gated(new: PodSpec, old: PodSpec, errors: FieldErrors) -> PodSpec:
    """A pod that waits at a gate may still get a narrower choice of nodes: selectors are added to."""
    selector = new.node_selector or {}
    if any(selector.get(key) != value for key, value in (old.node_selector or {}).items()):
        reason = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        errors.invalid_object("nodeSelector", new.node_selector, reason)
    before, after = _node_affinity(old), _node_affinity(new)
    if before != after:
        _check_terms(_terms(after), _terms(before), errors)
    affinity = new.affinity or Affinity()
    affinity = replace(affinity, node_affinity=before)
    return replace(
        new,
        node_selector=old.node_selector,
        affinity=None if old.affinity is None and affinity == Affinity() else affinity,
    )


def _node_affinity(spec: PodSpec) -> NodeAffinity | None:
    return None if spec.affinity is None else spec.affinity.node_affinity


def _terms(affinity: NodeAffinity | None) -> Sequence[NodeSelectorTerm] | None:
    """None: nothing is demanded."""
    return None if affinity is None or affinity.required is None else affinity.required.node_selector_terms


def _check_terms(
    new: Sequence[NodeSelectorTerm] | None, old: Sequence[NodeSelectorTerm] | None, errors: FieldErrors
) -> None:
    if not old:
        return
    if new is None or len(new) != len(old):
        reason = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        errors.invalid_object(_TERMS, msgspec.to_builtins(new or ()), reason)
        return
    for at, (one, other) in enumerate(zip(new, old, strict=True)):
        if not _is_narrower(one, other):
            reason = "only additions are allowed (no mutations or deletions)"
            errors.invalid_object(f"{_TERMS}[{at}]", msgspec.to_builtins(one), reason)


def _is_narrower(new: NodeSelectorTerm, old: NodeSelectorTerm) -> bool:
    """`validateNodeSelectorTermHasOnlyAdditions`; a term without requirements matches nothing, and stays so."""
    if not old.match_expressions and not old.match_fields:
        return not new.match_expressions and not new.match_fields
    return (
        new.match_expressions[: len(old.match_expressions)] == old.match_expressions
        and new.match_fields[: len(old.match_fields)] == old.match_fields
    )
