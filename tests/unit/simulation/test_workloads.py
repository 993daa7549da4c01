"""The engine with the workloads' own controllers."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kwhatif.controllers.contract import Create, Remove, Update
from kwhatif.model.meta import ObjectMeta
from kwhatif.model.pod import Pod
from kwhatif.model.policy import ResourceQuota, ResourceQuotaSpec
from kwhatif.model.workload import Deployment, ReplicaSet
from tests.builders import node
from tests.unit.controllers.test_deployment import web
from tests.unit.simulation.test_engine import do, engine

QUOTA = ResourceQuota(metadata=ObjectMeta(name="pods", namespace="shop"), spec=ResourceQuotaSpec(hard={"pods": "3"}))


def running(made: Any) -> int:
    return len([pod for pod in made.world.state.cluster.all(Pod).values() if pod.status.phase == "Running"])


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
    assert not made.world.state.cluster.all(ReplicaSet)
    assert not made.world.state.cluster.all(Pod)
    assert {gone.owner for gone in made.world.history.gone.values()} == {"Deployment shop/web"}
