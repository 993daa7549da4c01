"""Priority: what a pod of a cluster counts as, and what the API server says about a new one."""

import pytest

from kwhatif.admission.outcome import Denied, Forbidden, ObjectNotFound
from kwhatif.admission.plugins import PriorityClasses, admit_priority, resolve_priority
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.policy import PriorityClass
from tests.builders import PodBuilder, pod


def priority_class(
    name: str, value: int, *, default: bool = False, policy: str = "PreemptLowerPriority"
) -> PriorityClass:
    return PriorityClass(metadata=ObjectMeta(name=name), value=value, global_default=default, preemption_policy=policy)


HIGH = priority_class("high", 1000)
PATIENT = priority_class("patient", 500, policy="Never")
DEFAULTS = priority_class("usual", 50, default=True, policy="Never"), priority_class("older", 70, default=True)


def classes(*more: PriorityClass) -> PriorityClasses:
    return PriorityClasses(Cluster([HIGH, PATIENT, *more]).all(PriorityClass).values())


def of(name: str = "", priority: int | None = None, policy: str = "") -> PodBuilder:
    return pod("p").spec(priority_class_name=name, priority=priority, preemption_policy=policy)


LOWER, NEVER = "PreemptLowerPriority", "Never"

RESOLVED = {
    "nothing said": (of(), (), (0, LOWER, "")),
    "a class": (of("high"), (), (1000, LOWER, "high")),
    "a class with a policy": (of("patient"), (), (500, NEVER, "patient")),
    "a built-in class": (of("system-node-critical"), (), (2000001000, LOWER, "system-node-critical")),
    "of two global defaults the lower one": (of(), DEFAULTS, (50, NEVER, "usual")),
    "a number": (of(priority=7), DEFAULTS, (7, "", "")),
    "a number beats the class": (of("high", 7, NEVER), (), (7, NEVER, "high")),
    "a number without a policy takes the class's": (of("patient", 7), (), (7, NEVER, "patient")),
    "a policy beats the class": (of("high", policy=NEVER), (), (1000, NEVER, "high")),
    "an unknown class": (of("nope"), DEFAULTS, (0, LOWER, "nope")),
    "an unknown class with a number": (of("nope", 7), (), (7, "", "nope")),
}


@pytest.mark.parametrize(("builder", "more", "expected"), RESOLVED.values(), ids=RESOLVED.keys())
def test_resolve(builder: PodBuilder, more: tuple[PriorityClass, ...], expected: tuple[int, str, str]) -> None:
    spec = resolve_priority(builder.build(), classes(*more)).spec
    assert (spec.priority, spec.preemption_policy, spec.priority_class_name) == expected


@pytest.mark.parametrize(
    "builder", [of(priority=7), of("high", 1000, LOWER), of("nope", 7)], ids=["number", "all", "unknown class"]
)
def test_a_resolved_pod_stays_the_same_object(builder: PodBuilder) -> None:
    made = builder.build()
    assert resolve_priority(made, classes(*DEFAULTS)) is made


def test_which_pods_lack_their_class() -> None:
    lacks = {
        name: classes().lacks(of(name, priority).build())
        for name, priority in [("nope", None), ("high", None), ("", None)]
    }
    assert lacks == {"nope": True, "high": False, "": False}
    assert not classes().lacks(of("nope", 7).build())


ADMITTED = {
    "nothing said": (of(), (), (0, LOWER, "")),
    "the global default is written down": (of(), DEFAULTS, (50, NEVER, "usual")),
    "the same number as the class": (of("high", 1000), (), (1000, LOWER, "high")),
    "the same policy as the class": (of("patient", policy=NEVER), (), (500, NEVER, "patient")),
    "the number 0 where there is no class": (of(priority=0), (), (0, LOWER, "")),
}


@pytest.mark.parametrize(("builder", "more", "expected"), ADMITTED.values(), ids=ADMITTED.keys())
def test_admit(builder: PodBuilder, more: tuple[PriorityClass, ...], expected: tuple[int, str, str]) -> None:
    made = admit_priority(builder.build(), classes(*more))
    assert not isinstance(made, Denied)
    assert (made.spec.priority, made.spec.preemption_policy, made.spec.priority_class_name) == expected


DENIED = {
    "an unknown class": (of("nope"), 'pods "p" is forbidden: no PriorityClass with name nope was found'),
    "another number than the class's": (
        of("high", 7),
        'pods "p" is forbidden: the integer value of priority (7) must not be provided in pod spec; '
        "priority admission controller computed 1000 from the given PriorityClass name",
    ),
    "a number without a class": (
        of(priority=7),
        'pods "p" is forbidden: the integer value of priority (7) must not be provided in pod spec; '
        "priority admission controller computed 0 from the given PriorityClass name",
    ),
    "another policy than the class's": (
        of("high", policy=NEVER),
        'pods "p" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; '
        "priority admission controller computed PreemptLowerPriority from the given PriorityClass name",
    ),
    "a pod whose name is still to be made": (
        of("nope").meta(name="", generate_name="web-"),
        'pods "web-" is forbidden: no PriorityClass with name nope was found',
    ),
}


@pytest.mark.parametrize(("builder", "message"), DENIED.values(), ids=DENIED.keys())
def test_deny(builder: PodBuilder, message: str) -> None:
    cause = ObjectNotFound("PriorityClass", "nope") if "no PriorityClass" in message else Forbidden("Priority")
    assert admit_priority(builder.build(), classes()) == Denied(message, cause)
