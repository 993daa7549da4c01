"""Pools of devices, and how many devices of a class a node has."""

import pytest

from kwhatif.dra.pools import DeviceUsage, Pool, inventory
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.resource import DeviceClass
from tests.builders import ZONE, cluster, node, requirement
from tests.devices import GPU, NIC, allocated, claim, device, device_class, gpus, held, nodes_where, result, slice_

N1 = node("n1")
SETS = {"memory": {"bytes": "40Gi"}}


def pools(*objects: KubernetesObject, name: str = "n1") -> dict[str, Pool]:
    found = inventory(cluster(N1, node("n2"), *objects)).pools(node(name).info())
    return {str(pool): pool for pool in found}


def devices(pool: Pool) -> list[str]:
    return [one.model.name for one in pool.devices]


def test_a_pool_is_known_by_driver_and_name() -> None:
    assert list(pools(gpus("n1", 1), gpus("n1", 1, driver=NIC))) == [f"{GPU}/n1", f"{NIC}/n1"]


def test_a_pool_without_devices_for_the_node_is_not_there() -> None:
    assert pools(gpus("n2", 1)) == {}


def test_slices_of_a_pool_for_other_nodes_complete_it() -> None:
    here, there = gpus("n1", 1, pool="p", name="a", count=2), gpus("n2", 2, pool="p", name="b", count=2)
    (pool,) = pools(here, there).values()
    assert not pool.incomplete
    assert devices(pool) == ["gpu-0"]
    assert [one.model.name for one in pool.elsewhere] == ["gpu-0", "gpu-1"]


def test_a_pool_that_misses_slices_is_incomplete() -> None:
    (pool,) = pools(gpus("n1", 1, count=2)).values()
    assert pool.incomplete
    assert devices(pool) == []


def test_older_generations_are_ignored() -> None:
    old, new = gpus("n1", 3, name="z"), gpus("n1", 1, name="a", generation=2)
    for order in ((old, new), (new, old)):
        (pool,) = pools(*order).values()
        assert devices(pool) == ["gpu-0"]


def test_a_pool_whose_newest_generation_has_nothing_for_the_node_is_obsolete() -> None:
    old = gpus("n1", 1, pool="p", name="a", count=2)
    new = gpus("n2", 1, pool="p", name="b", generation=2)
    assert pools(old, new) == {}


def test_a_complete_old_generation_hides_that_there_is_a_newer_one_elsewhere() -> None:
    # As long as the counts agree, upstream does not look at slices of other nodes.
    old = gpus("n1", 1, pool="p", name="a")
    new = gpus("n2", 1, pool="p", name="b", generation=2)
    assert list(pools(old, new)) == [f"{GPU}/p"]


@pytest.mark.parametrize(
    ("objects", "problem"),
    [
        pytest.param(
            [slice_("n1", device("x"), name="a", count=2), slice_("n1", device("x"), name="b", count=2)],
            "duplicate device name x",
            id="a device name twice",
        ),
        pytest.param(
            [
                slice_("n1", device("x"), name="a", count=3),
                slice_("n1", name="b", count=3, counters=SETS),
                slice_("n1", name="c", count=3, counters=SETS),
            ],
            "duplicate counter set name memory",
            id="a counter set twice",
        ),
        pytest.param(
            [slice_("n1", device("x", uses={"other": {"bytes": "1Gi"}}))],
            "counter set other not found",
            id="an unknown counter set",
        ),
        pytest.param(
            [
                slice_("n1", device("x", uses={"memory": {"pages": "1"}}), name="a", count=2),
                slice_("n1", name="b", count=2, counters=SETS),
            ],
            "counter pages not found in counter set memory",
            id="an unknown counter",
        ),
        pytest.param(
            [
                slice_("n1", device("x"), name="a", count=2, pool="p"),
                slice_("n2", device("y", uses={"other": {}}), name="b", count=2, pool="p"),
            ],
            "counter set other not found",
            id="an unknown counter set of a device elsewhere",
        ),
    ],
)
def test_broken_pools(objects: list[KubernetesObject], problem: str) -> None:
    (pool,) = pools(*objects).values()
    assert pool.problem == problem
    assert devices(pool) == []


def test_names_of_devices_elsewhere_may_repeat() -> None:
    objects = [slice_(name, device("x"), name=name, count=2, pool="p") for name in ("n1", "n2")]
    (pool,) = pools(*objects).values()
    assert pool.problem == ""


def test_slices_with_counters_count_on_every_node() -> None:
    objects = [
        slice_("n1", device("x", uses={"memory": {"bytes": "1Gi"}}), name="a", count=2, pool="p"),
        slice_("n2", name="b", count=2, pool="p", counters=SETS),
    ]
    (pool,) = pools(*objects).values()
    assert devices(pool) == ["x"]
    assert pool.counter_sets == {"memory": {"bytes": 40 * 1024**3 * 10**9}}


def test_what_is_known_follows_the_cluster() -> None:
    within = cluster(N1, gpus("n1", 1))
    assert len(inventory(within).pools(N1.info())) == 1
    within.add(gpus("n1", 1, driver=NIC))
    assert len(inventory(within).pools(N1.info())) == 2


# --- How many devices of a class a node has, for scores -----------------------------------------------


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
