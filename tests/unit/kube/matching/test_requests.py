"""A pod's request: containers, initialisation, pod level, overhead, resize; and what counts as a resource."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.gates import BASE_GATES, BASE_RESIZES, ResizeRules, resize_rules
from kwhatif.kube.matching.requests import (
    MISSING_REQUESTS,
    Resources,
    is_extended_resource,
    is_scalar_resource,
    limited,
    pod_requests,
    pod_resources,
    resource_nanos,
    to_resources,
    units,
)
from kwhatif.kube.model.pod import ContainerStatus, Pod, PodCondition
from kwhatif.kube.model.pod_spec import Container, ResourceRequirements
from tests.builders import PodBuilder, pod

NANO = 10**9
MIB = 1024**2


def asking(**requests: Any) -> ResourceRequirements:
    return ResourceRequirements(requests=requests)


def in_units(pod: Pod, **options: Any) -> dict[str, int]:
    return {name: units(name, nanos) for name, nanos in pod_requests(pod, **options).items()}


def init(cpu: str, *, sidecar: bool = False) -> Container:
    return Container(name=f"init-{cpu}", resources=asking(cpu=cpu), restart_policy="Always" if sidecar else "")


def with_inits(cpu: str, *inits: Container) -> Pod:
    return pod().cpu(cpu).spec(init_containers=inits).build()


SPEC = {
    "nothing asked": (pod().build(), {}),
    "containers are summed": (
        pod().cpu("1").container("b").cpu("500m").memory("1Mi").build(),
        {"cpu": 1500, "memory": MIB},
    ),
    "the sum is rounded, not its parts": (pod().memory("500m").container("b").memory("500m").build(), {"memory": 1}),
    "an explicit zero is a request": (pod().cpu("0").build(), {"cpu": 0}),
    "the largest init container": (with_inits("1", init("3"), init("2")), {"cpu": 3000}),
    "init containers smaller than the containers": (with_inits("4", init("3"), init("2")), {"cpu": 4000}),
    "a sidecar runs beside the containers": (with_inits("1", init("2", sidecar=True)), {"cpu": 3000}),
    "a sidecar runs beside the init containers after it": (
        with_inits("1", init("1", sidecar=True), init("5")),
        {"cpu": 6000},
    ),
    "but not beside those before it": (with_inits("1", init("5"), init("1", sidecar=True)), {"cpu": 5000}),
    "sidecars add up while they start": (
        with_inits("0", init("1", sidecar=True), init("2", sidecar=True), init("2")),
        {"cpu": 5000},
    ),
    "a resource that only an init container asks": (
        pod().cpu("1").init_container(resources=asking(memory="1Mi")).build(),
        {"cpu": 1000, "memory": MIB},
    ),
    "overhead comes on top": (
        pod().cpu("1").spec(overhead={"cpu": "250m", "memory": "1Mi"}).build(),
        {"cpu": 1250, "memory": MIB},
    ),
    "the pod's own request replaces the containers', per resource": (
        pod().cpu("3").memory("9Mi").spec(resources=asking(cpu="1")).build(),
        {"cpu": 1000, "memory": 9 * MIB},
    ),
    "overhead comes on top of that too": (
        pod().cpu("3").spec(resources=asking(cpu="1"), overhead={"cpu": "1"}).build(),
        {"cpu": 2000},
    ),
    "hugepages can be asked for the pod": (
        pod().spec(resources=asking(**{"hugepages-2Mi": "4Mi"})).build(),
        {"hugepages-2Mi": 4 * MIB},
    ),
    "other resources cannot": (pod().spec(resources=asking(**{"a.io/b": "1", "ephemeral-storage": "1"})).build(), {}),
    "limits alone mean nothing here": (
        pod().container("b", resources=ResourceRequirements(limits={"cpu": "1"})).build(),
        {},
    ),
    "finer than a milli-unit is rounded up": (pod().cpu("0.0001").build(), {"cpu": 1}),
}


@pytest.mark.parametrize(("pod", "expected"), SPEC.values(), ids=SPEC.keys())
def test_spec(pod: Pod, expected: dict[str, int]) -> None:
    assert in_units(pod) == expected


def test_without_the_pod_level() -> None:
    made = pod().cpu("3").spec(resources=asking(cpu="1"), overhead={"cpu": "1"}).build()
    assert in_units(made, pod_level=False) == {"cpu": 4000}


MISSING = {
    "a container that says nothing": (pod(), {"cpu": 100, "memory": 200 * MIB}),
    "per container": (pod().container("b").cpu("1"), {"cpu": 1100, "memory": 400 * MIB}),
    "an explicit zero stays": (pod().cpu("0").memory("0"), {"cpu": 0, "memory": 0}),
    "init containers too": (pod().cpu("0").memory("0").init_container(), {"cpu": 100, "memory": 200 * MIB}),
}


@pytest.mark.parametrize(("builder", "expected"), MISSING.values(), ids=MISSING.keys())
def test_assumed_for_containers_that_do_not_say(builder: PodBuilder, expected: dict[str, int]) -> None:
    assert in_units(builder.build(), missing=MISSING_REQUESTS) == expected


# --- in-place resize ----------------------------------------------------------------------------------


def status(name: str = "main", *, actual: str | None = None, allocated: str | None = None) -> ContainerStatus:
    return ContainerStatus(
        name=name,
        resources=None if actual is None else asking(cpu=actual),
        allocated_resources=None if allocated is None else {"cpu": allocated},
    )


def pending(reason: str) -> tuple[PodCondition, ...]:
    return (PodCondition(type="PodResizePending", status="True", reason=reason),)


def resized(*statuses: ContainerStatus, inits: tuple[ContainerStatus, ...] = (), reason: str = "") -> PodBuilder:
    conditions = pending(reason) if reason else ()
    return pod().cpu("2").status(container_statuses=statuses, init_container_statuses=inits, conditions=conditions)


RESIZED = {
    "still running with more than the spec": (resized(status(actual="3", allocated="1")), 3000),
    "more is allocated than runs": (resized(status(actual="1", allocated="4")), 4000),
    "asked for more, not granted yet": (resized(status(actual="1", allocated="1")), 2000),
    "asked for more, which is deferred": (resized(status(actual="1", allocated="1"), reason="Deferred"), 2000),
    "asked for more, which can never be": (resized(status(actual="1", allocated="1500m"), reason="Infeasible"), 1500),
    "a status that says nothing of resources": (resized(status(allocated="9")), 2000),
    "the status of another container": (resized(status("other", actual="9")), 2000),
    "a sidecar": (
        resized(inits=(status("s", actual="3"),)).init_container(
            "s", restart_policy="Always", resources=asking(cpu="1")
        ),
        5000,
    ),
    "a plain init container is not resized": (
        resized(inits=(status("i", actual="9"),)).init_container("i", resources=asking(cpu="3")),
        3000,
    ),
    "the pod as a whole": (
        pod().spec(resources=asking(cpu="2")).status(resources=asking(cpu="3"), allocated_resources={"cpu": "1"}),
        3000,
    ),
    "the pod as a whole, infeasible": (
        pod()
        .spec(resources=asking(cpu="9"))
        .status(resources=asking(cpu="3"), allocated_resources={"cpu": "4"}, conditions=pending("Infeasible")),
        4000,
    ),
    "only what the spec asks of the pod": (
        pod().cpu("1").spec(resources=asking(memory="1")).status(resources=asking(cpu="3")),
        1000,
    ),
    "allocated to the pod, but no actual resources": (
        pod().spec(resources=asking(cpu="2")).status(allocated_resources={"cpu": "9"}),
        2000,
    ),
}


@pytest.mark.parametrize(("builder", "cpu"), RESIZED.values(), ids=RESIZED.keys())
def test_resize(builder: PodBuilder, cpu: int) -> None:
    made = builder.build()
    assert in_units(made, resizes=BASE_RESIZES)["cpu"] == cpu
    assert pod_resources(made).requested.cpu == cpu


SUMS_FIRST = ResizeRules(sums_first=True)

SINCE_1_37 = {
    "a container without resources in its status is as allocated": (resized(status(allocated="9")), 9000),
    "the largest of each container is not what is summed": (
        resized(status(actual="3", allocated="1"), status("b", actual="1", allocated="1")).container(
            "b", resources=asking(cpu="4")
        ),
        6000,
    ),
    "infeasible, and nothing granted that is known": (resized(reason="Infeasible"), 0),
    "infeasible, and allocated": (resized(status(allocated="1500m"), reason="Infeasible"), 1500),
    "a plain init container counts as granted": (
        resized(inits=(status("i", actual="9"),)).init_container("i", resources=asking(cpu="3")),
        9000,
    ),
    "what the pod was granted stands for its containers": (
        resized(status(actual="9", allocated="9")).status(
            container_statuses=(status(actual="9", allocated="9"),),
            resources=asking(cpu="3"),
            allocated_resources={"cpu": "4"},
        ),
        4000,
    ),
    "granted to the pod, but only half known": (
        pod().cpu("2").status(container_statuses=(status(actual="9", allocated="9"),), resources=asking(cpu="3")),
        9000,
    ),
    "more than the spec asks of the pod": (
        pod().cpu("1").spec(resources=asking(memory="1")).status(resources=asking(cpu="3")),
        3000,
    ),
}


@pytest.mark.parametrize(("builder", "cpu"), SINCE_1_37.values(), ids=SINCE_1_37.keys())
def test_resize_since_1_37(builder: PodBuilder, cpu: int) -> None:
    made = builder.build()
    assert in_units(made, resizes=SUMS_FIRST).get("cpu", 0) == cpu
    assert pod_resources(made, SUMS_FIRST).requested.cpu == cpu


def test_a_gate_that_is_off_leaves_the_spec_alone() -> None:
    container = resized(status(actual="3")).build()
    whole = pod().spec(resources=asking(cpu="2")).status(resources=asking(cpu="3"), allocated_resources={"cpu": "3"})
    of_pod = "InPlacePodLevelResourcesVerticalScaling"
    without = [resize_rules(BASE_GATES - off) for off in ({of_pod}, {"InPlacePodVerticalScaling"})]
    assert [pod_resources(container, rules).requested.cpu for rules in without] == [3000, 2000]
    assert [pod_resources(whole.build(), rules).requested.cpu for rules in without] == [2000, 2000]


def test_a_waiting_pod_is_what_its_spec_says() -> None:
    assert in_units(resized(status(actual="3", allocated="4")).build()) == {"cpu": 2000}


def test_infeasible_drops_what_only_the_spec_of_the_pod_asks() -> None:
    made = pod().spec(resources=asking(cpu="9")).status(resources=asking(memory="1"), conditions=pending("Infeasible"))
    assert in_units(made.build(), resizes=BASE_RESIZES) == {"cpu": 0}


# --- what a pod on a node counts as ---------------------------------------------------------------------

NONZERO = {
    "says nothing": (pod(), 100, 200 * MIB),
    "says one of the two": (pod().cpu("1"), 1000, 200 * MIB),
    "two containers": (pod().cpu("1").container("b"), 1100, 400 * MIB),
    "pod-level cpu: memory is still assumed": (pod().spec(resources=asking(cpu="1")), 1000, 200 * MIB),
    "pod-level cpu, and one container asks memory: that is all": (
        pod().memory("1").container("b").spec(resources=asking(cpu="1")),
        1000,
        1,
    ),
    "pod-level hugepages: cpu and memory are assumed, per container": (
        pod().container("b").spec(resources=asking(**{"hugepages-2Mi": "2Mi"})),
        200,
        400 * MIB,
    ),
    "pod-level limits alone": (pod().spec(resources=ResourceRequirements(limits={"cpu": "1"})), 100, 200 * MIB),
    "overhead counts as having asked, once there are pod-level requests": (
        pod().spec(resources=asking(cpu="1"), overhead={"memory": "7"}),
        1000,
        7,
    ),
    "overhead without them comes on top": (pod().spec(overhead={"memory": "7"}), 100, 200 * MIB + 7),
}


@pytest.mark.parametrize(("builder", "cpu", "memory"), NONZERO.values(), ids=NONZERO.keys())
def test_nonzero(builder: PodBuilder, cpu: int, memory: int) -> None:
    resources = pod_resources(builder.build())
    assert (resources.nonzero_cpu, resources.nonzero_memory) == (cpu, memory)


def test_replicas_share_one_result_and_others_do_not() -> None:
    first, second = pod("a").cpu("1"), pod("b").cpu("1")
    assert pod_resources(first.build()) is pod_resources(second.build())
    assert pod_resources(pod("c").init_container(resources=asking(cpu="2")).build()).requested.cpu == 2000
    sidecar = pod("d").cpu("1").init_container(resources=asking(cpu="1"), restart_policy="Always")
    assert pod_resources(sidecar.build()).requested.cpu == 2000


def test_limits_are_aggregated_as_requests_are() -> None:
    def limit(cpu: str) -> ResourceRequirements:
        return ResourceRequirements(limits={"cpu": cpu})

    made = (
        pod()
        .container("b", resources=limit("1"))
        .init_container("s", restart_policy="Always", resources=limit("2"))
        .init_container("i", resources=limit("4"))
    )
    assert limited(made.build().spec) == {"cpu": 6 * NANO}


# --- names and units --------------------------------------------------------------------------------------

NAMES = {
    "nvidia.com/gpu": (True, True),
    "example.com/a.b_c-d": (True, True),
    "hugepages-1Gi": (False, True),
    "attachable-volumes-csi-x": (False, True),
    "deviceclass.resource.kubernetes.io/gpu": (False, True),
    "kubernetes.io/batch": (False, True),
    "requests.nvidia.com/gpu": (False, False),
    "gpu": (False, False),
    "storage": (False, False),
    "cpu": (False, False),
    "Bad_Domain/x": (False, False),
    "a.io/b/c": (False, False),
    "a.io/-x": (False, False),
    "a.io/" + "x" * 64: (False, False),
    "a." * 123 + "io/x": (False, False),
}


@pytest.mark.parametrize(("name", "kinds"), NAMES.items(), ids=NAMES.keys())
def test_extended_and_scalar_names(name: str, kinds: tuple[bool, bool]) -> None:
    assert (is_extended_resource(name), is_scalar_resource(name)) == kinds


def test_scheduler_units() -> None:
    nanos = resource_nanos(
        {
            "cpu": "1500m",
            "memory": "1500m",
            "ephemeral-storage": "1Ki",
            "a.io/b": "0",
            "gpu": "3",
            "hugepages-2Mi": "2Mi",
        }
    )
    resources = to_resources(nanos)
    assert resources == Resources(1500, 2, 1024, (("a.io/b", 0), ("hugepages-2Mi", 2 * MIB)))
    assert (resources.scalar("hugepages-2Mi"), resources.scalar("a.io/b"), resources.scalar("a.io/c")) == (
        2 * MIB,
        0,
        0,
    )


def test_petabytes_keep_their_value() -> None:
    assert resource_nanos({"memory": "20Pi"}) == {"memory": 20 * 1024**5 * NANO}


# --- a plain model, to compare with -----------------------------------------------------------------------

containers = st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=4)


@given(mains=st.lists(st.integers(0, 50), min_size=1, max_size=3), inits=containers)
def test_the_peak_over_time(mains: list[int], inits: list[tuple[int, bool]]) -> None:
    """Play the start of the pod: each init container beside the sidecars so far, then everything that stays."""
    running, peak = Fraction(0), Fraction(0)
    for amount, sidecar in inits:
        peak = max(peak, running + amount)
        running += amount if sidecar else 0
    peak = max(peak, running + sum(mains))
    made = pod().spec(
        containers=tuple(Container(name=f"c{i}", resources=asking(cpu=amount)) for i, amount in enumerate(mains)),
        init_containers=tuple(init(str(amount), sidecar=sidecar) for amount, sidecar in inits),
    )
    assert pod_requests(made.build())["cpu"] == peak * NANO
