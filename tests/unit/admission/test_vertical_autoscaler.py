"""What a VerticalPodAutoscaler gives a new pod: the tables of its own tests (1.7: `capping`, `limit_and_request_scaling`)."""

from typing import Any

import msgspec
import pytest

from kwhatif.admission.vertical_autoscaler import controlling, recommended
from kwhatif.kube.model.bystanders import VerticalPodAutoscaler
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import LimitRange

Json = dict[str, Any]
Amounts = dict[str, str]
REQUESTS_ONLY: Json = {"containerName": "*", "controlledValues": "RequestsOnly"}


def pod(*containers: Json, **status: Any) -> Pod:
    named = [{"name": f"c{number}", "resources": each} for number, each in enumerate(containers, 1)]
    meta = {"name": "web-1", "namespace": "shop"}
    return msgspec.convert({"kind": "Pod", "metadata": meta, "spec": {"containers": named}, "status": status}, Pod)


def vpa(*targets: Amounts, name: str = "web", mode: str = "", made: str | None = None, policies: Any = ()) -> Any:
    rows = [{"containerName": f"c{number}", "target": each} for number, each in enumerate(targets, 1)]
    meta = {"name": name, "namespace": "shop", "creationTimestamp": made}
    spec = {
        "targetRef": {"kind": "Deployment", "name": "web"},
        "updatePolicy": {"updateMode": mode},
        "resourcePolicy": {"containerPolicies": list(policies)},
    }
    status = {"recommendation": {"containerRecommendations": rows}}
    found = {"kind": "VerticalPodAutoscaler", "metadata": meta, "spec": spec, "status": status}
    return msgspec.convert(found, VerticalPodAutoscaler)


def cluster(*objects: Any, **limits: Json) -> Cluster:
    found = Cluster()
    for each in objects:
        found.add(each)
    if limits:
        item = {"kind": "LimitRange", "metadata": {"name": "l", "namespace": "shop"}}
        spec = {"limits": [{"type": kind, **row} for kind, row in limits.items()]}
        found.add(msgspec.convert(item | {"spec": spec}, LimitRange))
    return found


def of(cpu: str = "", limit: str = "", memory: str = "", memory_limit: str = "") -> Json:
    return {
        "requests": {name: text for name, text in (("cpu", cpu), ("memory", memory)) if text},
        "limits": {name: text for name, text in (("cpu", limit), ("memory", memory_limit)) if text},
    }


@pytest.mark.parametrize(
    ("resources", "target", "default", "limits"),
    [
        (of("1", "2"), {"cpu": "10"}, {}, {"cpu": "20"}),
        (of("1"), {"cpu": "10"}, {"cpu": "2"}, {"cpu": "20"}),
        (of("1"), {"cpu": "10"}, {}, {}),
        (of("", "2"), {"cpu": "10"}, {}, {"cpu": "10"}),
        (of("1", "1"), {"cpu": "10"}, {}, {"cpu": "10"}),
        (of("1500m", "2"), {"cpu": "1"}, {}, {"cpu": "1333m"}),
        (of(memory="3", memory_limit="4"), {"memory": "2"}, {}, {"memory": "2"}),
        (of(memory="1Gi", memory_limit="2Gi"), {"memory": "3Gi"}, {}, {"memory": "6Gi"}),
    ],
)
def test_limits_keep_their_proportion(resources: Json, target: Amounts, default: Amounts, limits: Amounts) -> None:
    known = cluster(Container={"default": default}) if default else cluster()
    found = recommended(pod(resources), vpa(target), known)["c1"]
    assert found.requests == target
    assert found.limits == limits


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"containerName": "c1", "minAllowed": {"cpu": "400", "memory": "40000"}}, {"cpu": "400", "memory": "50000"}),
        (
            {
                "containerName": "c1",
                "minAllowed": {"cpu": "400", "memory": "40000"},
                "maxAllowed": {"cpu": "450", "memory": "45000"},
            },
            {"cpu": "400", "memory": "45000"},
        ),
        ({"containerName": "*", "maxAllowed": {"cpu": "40m"}}, {"cpu": "40m", "memory": "50000"}),
        ({"containerName": "*", "controlledResources": ["memory"]}, {"memory": "50000"}),
        ({"containerName": "*", "mode": "Off"}, None),
        ({"containerName": "other", "mode": "Off"}, {"cpu": "300", "memory": "50000"}),
    ],
)
def test_a_policy_bounds_it(policy: Json, expected: Amounts | None) -> None:
    found = recommended(pod(of()), vpa({"cpu": "300", "memory": "50000"}, policies=[policy]), cluster())
    assert (found["c1"].requests if found else None) == expected


def test_a_policy_of_its_own_goes_before_that_of_all_others() -> None:
    policies = [{"containerName": "*", "maxAllowed": {"cpu": "1"}}, {"containerName": "c1", "maxAllowed": {"cpu": "2"}}]
    found = recommended(pod(of(), of()), vpa({"cpu": "9"}, {"cpu": "9"}, policies=policies), cluster())
    assert {name: row.requests["cpu"] for name, row in found.items()} == {"c1": "2", "c2": "1"}


def test_where_only_requests_are_controlled_limits_stay_and_bound_them() -> None:
    target = {"cpu": "20", "memory": "80000"}
    found = recommended(pod(of("", "30", "", "70000")), vpa(target, policies=[REQUESTS_ONLY]), cluster())["c1"]
    assert (found.requests, found.limits) == ({"cpu": "20", "memory": "70000"}, {})


def test_what_the_kubelet_has_granted_goes_before_the_spec() -> None:
    granted = {"name": "c1", "resources": {"limits": {"cpu": "2500m", "memory": "60000"}}}
    running = pod(of("", "30", "", "70000"), containerStatuses=[granted])
    found = recommended(running, vpa({"cpu": "20", "memory": "80000"}, policies=[REQUESTS_ONLY]), cluster())
    assert found["c1"].requests == {"cpu": "2500m", "memory": "60000"}


def test_it_stays_within_a_limit_range_of_containers() -> None:
    bounds = cluster(Container={"max": {"cpu": "1"}, "min": {"memory": "500M"}})
    found = recommended(pod(of("1", "1", "1G", "1G")), vpa({"cpu": "2", "memory": "200M"}), bounds)
    assert found["c1"].requests == {"cpu": "1", "memory": "500000000"}


@pytest.mark.parametrize(
    ("containers", "targets", "bound", "expected"),
    [
        ((of("1", "1"), of("1", "1")), ({"cpu": "1"}, {"cpu": "1"}), {"max": {"cpu": "1"}}, ["500m", "500m"]),
        ((of("1", "1"), of("1", "1")), ({"cpu": "1"}, {"cpu": "1"}), {"min": {"cpu": "4"}}, ["2", "2"]),
        ((of("1", "2"), of("1", "2")), ({"cpu": "1"}, {"cpu": "3"}), {"max": {"cpu": "4"}}, ["500m", "1500m"]),
        ((of("1"), of("1")), ({"cpu": "1"}, {"cpu": "1"}), {"max": {"cpu": "1"}}, ["1", "1"]),
        ((of("1", "1"), of("1", "1")), ({"cpu": "3"},), {"max": {"cpu": "2"}}, ["1500m", "500m"]),
    ],
)
def test_the_sum_over_a_pod_stays_within_its_limit_range(
    containers: tuple[Json, ...], targets: tuple[Amounts, ...], bound: Json, expected: list[str]
) -> None:
    found = recommended(pod(*containers), vpa(*targets), cluster(Pod=bound))
    assert [row.requests["cpu"] for row in found.values()] == expected


def test_the_earliest_that_is_not_off_is_in_control() -> None:
    off, late, early = (
        vpa({"cpu": "1"}, name=name, mode=mode, made=f"2026-01-0{day}T00:00:00Z")
        for name, mode, day in (("off", "Off", 1), ("late", "Initial", 3), ("early", "", 2))
    )
    assert controlling("Deployment shop/web", cluster(off, late, early)) == early
    assert controlling("Deployment shop/web", cluster(off)) is None
    assert controlling("StatefulSet shop/web", cluster(early)) is None
