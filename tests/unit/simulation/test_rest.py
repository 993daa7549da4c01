"""The reference mode: what saves time in a simulation is not used, and what was given up is tried once more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from kwhatif.admission.new_pod import ReplicaAdmission
from kwhatif.admission.outcome import Admitted, Denied
from kwhatif.admission.quota import QuotaAdmission
from kwhatif.controllers import deployment
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.policy import ResourceQuota, ResourceQuotaSpec
from kwhatif.questions.advise.change import in_cluster
from kwhatif.questions.advise.pod_attempt import PodAttempt
from kwhatif.scheduler.framework.reference import use_reference
from kwhatif.simulation.engine import Engine, NotAtRestError, prove_rest
from kwhatif.state.change import Delete, Upsert
from tests.builders import node, pod, snapshot
from tests.unit.questions.test_drain import web
from tests.unit.simulation.test_engine import engine, new


@pytest.fixture
def _reference() -> Iterator[None]:
    use_reference(on=True)
    yield
    use_reference(on=False)


def quota(pods: int) -> ResourceQuota:
    spec = ResourceQuotaSpec(hard={"pods": str(pods)})
    return ResourceQuota(metadata=ObjectMeta(name="few", namespace="shop"), spec=spec)


def refused() -> Engine:
    """One of two pods is there, and the quota allows no other one."""
    made, replicas, first, _ = web("n1", "n1")
    return engine(node("n1"), quota(1), made, replicas, first)


@pytest.mark.usefixtures("_reference")
def test_who_is_refused_again_is_at_rest() -> None:
    made = refused()
    assert [each.obj.metadata.namespace for each in made.reactions.refusals.values()] == ["shop"]
    prove_rest(made)


@pytest.mark.usefixtures("_reference")
def test_what_would_come_to_something_is_found() -> None:
    made = refused()
    made.api_server.state.apply(Upsert(quota(5)))
    generation = made.api_server.state.generation
    refusals = made.reactions.refusals
    made.reactions.refusals = {place: each._replace(generation=generation) for place, each in refusals.items()}
    with pytest.raises(NotAtRestError, match="ReplicaSet shop/web-1 created Pod"):
        prove_rest(made)
    assert len(made.api_server.state.pods) == 1, "the simulation itself stays as it is"


@pytest.mark.usefixtures("_reference")
def test_keys_that_were_idle_for_long_are_looked_at_again() -> None:
    made = refused()
    number = next(place[0] for place in made.reactions.refusals)
    made.reactions.refusals.clear()
    made.reactions._vain[number, "shop/web-1"] = 99
    made.api_server.state.apply(Delete(ResourceQuota, "shop/few"))
    with pytest.raises(NotAtRestError):
        prove_rest(made)


@pytest.mark.usefixtures("_reference")
def test_admission_does_not_go_by_the_last_pod() -> None:
    state = snapshot(node("n1"))
    admission = ReplicaAdmission()
    one = new("a")
    first = admission.admit(one, state.cluster)
    assert isinstance(first, Admitted)
    assert admission._last is not None
    wrong = replace(first, object=replace(first.object, spec=replace(first.object.spec, node_name="nowhere")))
    admission._last = (*admission._last[:2], wrong)
    again = admission.admit(replace(one, metadata=replace(one.metadata, name="b")), state.cluster)
    assert isinstance(again, Admitted)
    assert again.object.spec.node_name == ""


@pytest.mark.usefixtures("_reference")
def test_quotas_do_not_go_by_the_last_pod() -> None:
    state = snapshot(quota(5))
    quotas, ours = QuotaAdmission(), pod("a", "shop").build()
    assert not isinstance(quotas.charge(ours, state.cluster), Denied)
    last = quotas._last
    quotas.charge(replace(ours, metadata=replace(ours.metadata, name="b")), state.cluster)
    assert quotas._last is not last


@pytest.mark.usefixtures("_reference")
def test_deployments_are_synced_also_where_they_are_steady(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bool:
        raise AssertionError("nobody asks")

    monkeypatch.setattr(deployment, "_is_steady", fail)
    engine(node("n1"), *web("n1"))


@pytest.mark.usefixtures("_reference")
def test_edits_of_an_advice_are_made_anew() -> None:
    from kwhatif.edits.edit import Cordon

    scene = PodAttempt(pod("p").info(), snapshot(node("n1")), {})
    change = in_cluster("uncordon", "n1", Cordon(text="cordon n1", nodes=("n1",)))
    first, second = scene.trial([change]), scene.trial([change])
    assert first is not None
    assert second is not None
    assert first.state is not second.state
