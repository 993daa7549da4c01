"""The engine with the workloads' own controllers."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.controllers.contract import Create, Remove, Update
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Container, ResourceRequirements
from kwhatif.kube.model.policy import ResourceQuota, ResourceQuotaSpec
from kwhatif.kube.model.workload import Deployment, Job, JobSpec, ReplicaSet
from tests.builders import node
from tests.unit.controllers.test_deployment import web
from tests.unit.simulation.test_engine import do, engine, new

QUOTA = ResourceQuota(metadata=ObjectMeta(name="pods", namespace="shop"), spec=ResourceQuotaSpec(hard={"pods": "3"}))


def running(made: Any) -> int:
    return len([pod for pod in made.api_server.state.cluster.all(Pod).values() if pod.status.phase == "Running"])


def test_what_a_quota_holds_back_for_good_is_settled() -> None:
    made = engine(node("n1").build(), QUOTA)
    do(made, Create(web(5)))
    made.settle()
    assert running(made) == 3
    assert made.clock.now < 60
    # When something else changes, it is tried again.
    do(made, Update(replace(QUOTA, spec=ResourceQuotaSpec(hard={"pods": "5"}))))
    made.settle()
    assert running(made) == 5


def test_pods_that_go_with_their_deployment_were_the_deployments() -> None:
    made = engine(node("n1").build())
    do(made, Create(web(2)))
    made.settle()
    do(made, Remove(Deployment, "shop/web"))
    made.settle()
    assert not made.api_server.state.cluster.all(ReplicaSet)
    assert not made.api_server.state.cluster.all(Pod)
    assert {gone.owner for gone in made.api_server.history.gone.values()} == {"Deployment shop/web"}


@pytest.mark.parametrize(("deadline", "place"), [(300, True), (3000, False)])
def test_a_deadline_that_is_near_is_waited_for_where_it_makes_room(deadline: int, place: bool) -> None:
    template = PodTemplateSpec(spec=asks("3").spec)
    made = engine(node("n1").allocatable(cpu="4").build())
    spec = JobSpec(template=template, active_deadline_seconds=deadline, backoff_limit=0, parallelism=1, completions=1)
    do(made, Create(Job(metadata=ObjectMeta(name="etl", namespace="shop"), spec=spec)))
    made.settle()
    assert made.clock.now < 60  # nothing hangs on it yet
    do(made, Create(asks("2")))
    made.settle()
    waiting = made.api_server.state.cluster.all(Pod)["shop/p"]
    assert (waiting.spec.node_name, made.clock.now > deadline) == ("n1" if place else "", place)


def asks(cpu: str) -> Pod:
    made = new("p", restart_policy="Never")
    requests = ResourceRequirements(requests={"cpu": cpu})
    container = Container(name="c", image="i", resources=requests)
    meta = replace(made.metadata, namespace="shop")
    return replace(made, metadata=meta, spec=replace(made.spec, containers=(container,)))
