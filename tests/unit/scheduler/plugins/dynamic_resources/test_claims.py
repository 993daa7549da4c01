"""Extended resources behind which devices stand."""

import pytest

from kwhatif.scheduler.plugins.dynamic_resources.claims import extended_resource_requests, is_dra_resource
from tests.builders import PodBuilder, pod
from tests.devices import device_class

GPU = "example.com/gpu"
NIC = "example.com/nic"
CLASSES = {GPU: device_class("gpu-class"), NIC: device_class("nic-class")}


def asked(by: PodBuilder) -> list[str]:
    requests = extended_resource_requests(by.build().spec, CLASSES)
    return [f"{one.name}: {one.exactly.count} {one.exactly.device_class_name}" for one in requests if one.exactly]


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        pytest.param(pod().requests({GPU: "2"}), ["container-0-request-0: 2 gpu-class"], id="one container"),
        pytest.param(
            pod().requests({"cpu": "1", GPU: "2", NIC: "1"}),
            ["container-0-request-1: 2 gpu-class", "container-0-request-2: 1 nic-class"],
            id="numbered by the container's resources in order",
        ),
        pytest.param(
            pod().requests({GPU: "1"}).container("b").requests({NIC: "3"}),
            ["container-0-request-0: 1 gpu-class", "container-1-request-0: 3 nic-class"],
            id="numbered by container",
        ),
        pytest.param(pod().requests({GPU: "0"}), [], id="nothing is asked with zero"),
        pytest.param(pod().requests({GPU: "500m"}), [], id="nor with a part of a device"),
        pytest.param(
            pod()
            .requests({GPU: "2"})
            .init_container("i", resources=pod().requests({GPU: "2"}).build().spec.containers[0].resources),
            ["container-1-request-0: 2 gpu-class"],
            id="an init container uses the devices of the containers after it",
        ),
    ],
)
def test_requests(by: PodBuilder, expected: list[str]) -> None:
    assert asked(by) == expected


def init(by: PodBuilder, name: str, count: int, *, sidecar: bool = False) -> PodBuilder:
    resources = pod().requests({GPU: str(count)}).build().spec.containers[0].resources
    return by.init_container(name, resources=resources, restart_policy="Always" if sidecar else "")


def test_init_containers_ask_for_what_the_others_leave_wanting() -> None:
    by = init(init(pod().requests({GPU: "1"}), "a", 3), "b", 4)
    assert asked(by) == ["container-1-request-0: 3 gpu-class", "container-2-request-0: 1 gpu-class"]


def test_of_equally_greedy_init_containers_the_first_asks() -> None:
    by = init(init(pod().requests({GPU: "1"}), "a", 3), "b", 3)
    assert asked(by) == ["container-0-request-0: 2 gpu-class", "container-2-request-0: 1 gpu-class"]


def test_a_sidecar_keeps_its_devices() -> None:
    by = init(init(init(pod().requests({GPU: "1"}), "a", 2), "s", 1, sidecar=True), "b", 2)
    # "a" may use the sidecar's and the container's devices, "b" comes after the sidecar and has only the container's.
    assert asked(by) == [
        "container-1-request-0: 1 gpu-class",
        "container-2-request-0: 1 gpu-class",
        "container-3-request-0: 1 gpu-class",
    ]


def test_requests_are_sorted_as_texts() -> None:
    by = pod()
    for index in range(11):
        by = by.container(f"c{index}").requests({GPU: "1"})
    assert [line.split(":")[0] for line in asked(by)][:3] == [
        "container-1-request-0",
        "container-10-request-0",
        "container-11-request-0",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (GPU, True),
        ("deviceclass.resource.kubernetes.io/gpu", True),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("kubernetes.io/other", False),
    ],
)
def test_names_that_devices_may_stand_behind(name: str, *, expected: bool) -> None:
    assert is_dra_resource(name) is expected
