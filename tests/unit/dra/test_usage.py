"""How many devices of a class a node has, for scores."""

from __future__ import annotations

import pytest

from kwhatif.dra.pools import DeviceUsage
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.resource import DeviceClass
from tests.builders import ZONE, cluster, node, requirement
from tests.devices import GPU, allocated, claim, device, device_class, gpus, held, nodes_where, result, slice_

A100 = f'device.attributes["{GPU}"].model == "a100"'
SHARE = allocated(claim("share"), result("r", f"{GPU}/n1/gpu-0", share_id="1"))


def usage(of: DeviceClass, *objects: KubernetesObject) -> tuple[int, int]:
    n1 = node("n1").zone("a")
    return DeviceUsage(cluster(n1, *objects), of).on(n1.info())


@pytest.mark.parametrize(
    ("of", "objects", "expected"),
    [
        pytest.param(device_class(), [], (0, 0), id="none"),
        pytest.param(device_class(), [gpus("n1", 3), gpus("n2", 2)], (3, 0), id="those of the node"),
        pytest.param(device_class(), [gpus("n1", 3), held(f"{GPU}/n1/gpu-1")], (3, 1), id="held ones are counted"),
        pytest.param(device_class(), [gpus("n1", 3), SHARE], (3, 1), id="also when it is but a share"),
        pytest.param(
            device_class("gpu", A100), [slice_("n1", device("x", model="a100"), device("y", model="t4"))], (1, 0),
            id="the class selects",
        ),
        pytest.param(
            device_class("gpu", A100), [slice_("n1", device("x", model="a100"), device("y"))], (0, 0),
            id="nothing counts where a selector fails",
        ),
        pytest.param(
            device_class(), [gpus("", 2, pool="net", node_selector=nodes_where(requirement(ZONE, "In", "a")))], (2, 0),
            id="selected nodes",
        ),
        pytest.param(
            device_class(),
            [
                slice_(
                    "",
                    device("x", fields={"node_name": "n1"}),
                    device("y", fields={"node_name": "n2"}),
                    device("z", fields={"all_nodes": True}),
                    pool="net",
                    per_device_node_selection=True,
                )
            ],
            (2, 0),
            id="devices that say themselves where they are",
        ),
        pytest.param(
            device_class(), [gpus("n1", 2, name="a"), gpus("n1", 3, name="b", generation=2, count=9)], (5, 0),
            id="outdated and incomplete pools count",
        ),
        pytest.param(
            device_class("gpu", "device.allowMultipleAllocations"), [slice_("n1", device("x", shared=True))], (0, 0),
            id="selectors do not see that a device is shared",
        ),
    ],
)  # fmt: skip
def test_devices_of_a_class(of: DeviceClass, objects: list[KubernetesObject], expected: tuple[int, int]) -> None:
    assert usage(of, *objects) == expected
