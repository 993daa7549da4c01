"""The engine with bare pods and ReplicaSets: what happens when, and because of what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kwhatif.admission.new_pod import ReplicaAdmission
from kwhatif.admission.outcome import Admitted, Denied
from kwhatif.admission.quota import QuotaAdmission
from kwhatif.controllers import deployment
from kwhatif.controllers.catalog import all_controllers
from kwhatif.controllers.contract import Create, DeletePod, Update, Write
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta, OwnerReference, parse_time
from kwhatif.kube.model.pod import Pod, PodMeta, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Container, ResourceRequirements
from kwhatif.kube.model.policy import ResourceQuota, ResourceQuotaSpec
from kwhatif.kube.model.workload import ReplicaSet, ReplicaSetMeta, ReplicaSetSpec
from kwhatif.questions.advise.change import in_cluster
from kwhatif.questions.advise.pod_attempt import PodAttempt
from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.reference import use_reference
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.clock import Clock, start_of
from kwhatif.simulation.engine import Engine, NotAtRestError, prove_rest
from kwhatif.simulation.parameters import Chance, Parameters
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.state import State
from tests.builders import PodBuilder, cluster, node, pod, snapshot
from tests.devices import asking, claim, device, device_class, gpus, request, slice_
from tests.unit.questions.maintenance.test_drain import web

QUICK = Parameters(start=1, readiness=0, termination=2)


def engine(*objects: Any, parameters: Parameters = QUICK) -> Engine:
    state = State(cluster(*objects))
    made = Engine(
        state, {"default-scheduler": default_profile()}, all_controllers(), Clock(start_of(state.cluster)), parameters
    )
    made.begin()
    return made


def new(name: str, **spec: Any) -> Pod:
    """A pod that the API server takes."""
    made = pod(name).spec(**spec).build()
    containers = (Container(name="c", image="i"),)
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, containers=containers))


def like(builder: PodBuilder) -> Pod:
    made = builder.build()
    return msgspec.structs.replace(new("p"), metadata=made.metadata)


def do(made: Engine, *writes: Write) -> None:
    def write_all(api_server: ApiServer) -> None:
        for write in writes:
            api_server.write(write, "user", None)

    made.perform(write_all)


def said(made: Engine) -> list[tuple[float, str, str, str | None]]:
    return [(event.at, event.verb, str(event.object), event.node) for event in made.api_server.history.events]


def annotated(name: str, **annotations: str) -> PodBuilder:
    made = pod(name).cpu("1")
    made.meta(
        annotations=msgspec.convert(
            {f"kwhatif.dev/{key}": value for key, value in annotations.items()}, type(Pod().metadata.annotations)
        )
    )
    return made


def test_nothing_happens_where_nothing_is_to_be_done() -> None:
    made = engine(node("a"), pod("p").on("a").status(phase="Running"))
    assert said(made) == []
    assert made.clock.now == 0


def test_a_pod_is_bound_and_runs() -> None:
    made = engine(node("a"))
    do(made, Create(new("p")))
    made.settle()
    assert said(made) == [
        (0.0, "created", "Pod default/p", None),
        (0.0, "bound", "Pod default/p", "a"),
        (1.0, "ready", "Pod default/p", "a"),
    ]
    assert [event.because for event in made.api_server.history.events] == [None, 0, 1]


@pytest.mark.parametrize(
    ("probe", "ready"),
    [
        ({}, 5.0),
        ({"readinessProbe": {}}, 5.0),
        ({"readinessProbe": {"initialDelaySeconds": 3}}, 8.0),
        ({"readinessProbe": {"initialDelaySeconds": 3, "successThreshold": 2, "periodSeconds": 4}}, 12.0),
        ({"readinessProbe": {"initialDelaySeconds": 3}, "startupProbe": {"initialDelaySeconds": 10}}, 18.0),
    ],
)
def test_a_pod_is_ready_when_its_probes_allow(probe: dict[str, Any], ready: float) -> None:
    made = engine(node("a"), parameters=Parameters())
    raw = {
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i", **probe}]},
    }
    do(made, Create(msgspec.convert({"kind": "Pod", **raw}, Pod)))
    made.settle()
    assert said(made)[-1][:2] == (ready, "ready")


@pytest.mark.parametrize(
    ("annotations", "parameters", "end"),
    [
        ({}, QUICK, 2.0),
        ({}, Parameters(), 30.0),
        ({"stop-seconds": "9"}, QUICK, 9.0),
        ({"stop-seconds": "90"}, QUICK, 30.0),
        ({"stop-seconds": "soon"}, QUICK, 2.0),
    ],
)
def test_a_deleted_pod_ends_and_then_is_gone(annotations: dict[str, str], parameters: Parameters, end: float) -> None:
    made = engine(node("a"), annotated("p", **annotations).on("a").status(phase="Running"), parameters=parameters)
    do(made, DeletePod("default/p", "Deleted"))
    made.settle()
    assert said(made)[1:] == [(end, "ended", "Pod default/p", "a"), (end, "removed", "Pod default/p", "a")]
    (gone,) = made.api_server.history.gone.values()
    assert (gone.pod, gone.how, gone.node, gone.initial, gone.at) == ("default/p", "Deleted", "a", True, 0.0)


@pytest.mark.parametrize("build", [lambda: pod("p"), lambda: pod("p").on("a").status(phase="Failed")])
def test_a_pod_that_runs_nowhere_is_gone_at_once(build: Any) -> None:
    made = engine(node("a").cordoned(), build())
    do(made, DeletePod("default/p", "Deleted"))
    assert made.clock.now == 0
    assert "default/p" not in made.api_server.state.cluster.all(Pod)


def test_force_needs_no_kubelet() -> None:
    made = engine(node("a"), pod("p").on("a").status(phase="Running"))
    do(made, DeletePod("default/p", "Deleted", grace=0))
    assert "default/p" not in made.api_server.state.cluster.all(Pod)


def test_a_finalizer_keeps_the_object() -> None:
    made = engine(node("a"), pod("p").meta(finalizers=("example.com/keep",)).on("a").status(phase="Running"))
    do(made, DeletePod("default/p", "Deleted"))
    made.settle()
    there = made.api_server.state.cluster.all(Pod)["default/p"]
    assert there.status.phase == "Failed"
    lifted = msgspec.structs.replace(there, metadata=msgspec.structs.replace(there.metadata, finalizers=()))
    do(made, Update(lifted))
    assert "default/p" not in made.api_server.state.cluster.all(Pod)


def test_a_run_ends_by_itself() -> None:
    made = engine(node("a"))
    do(made, Create(like(annotated("p", **{"run-seconds": "7"}))))
    made.settle()
    assert said(made)[-1] == (8.0, "succeeded", "Pod default/p", "a")


def test_a_pod_may_never_get_ready() -> None:
    made = engine(node("a"))
    do(made, Create(like(annotated("p", ready="false"))))
    made.settle()
    assert said(made)[-1][:2] == (1.0, "running")


def test_a_silent_kubelet_does_nothing_until_it_is_back() -> None:
    made = engine(node("a"), pod("p").on("a").status(phase="Running"))
    made.silence("a")
    do(made, DeletePod("default/p", "Deleted"))
    made.settle()
    assert "default/p" in made.api_server.state.cluster.all(Pod)
    made.recover("a")
    made.settle()
    assert "default/p" not in made.api_server.state.cluster.all(Pod)


def test_the_wait_for_room_is_a_cause() -> None:
    full = pod("old").cpu("4").on("a").status(phase="Running")
    made = engine(node("a").allocatable(cpu="4"), full, pod("new").cpu("4"))
    assert [event.verb for event in made.api_server.history.events] == ["unschedulable"]
    do(made, DeletePod("default/old", "Deleted"))
    made.settle()
    by_verb = {(event.verb, str(event.object)): event for event in made.api_server.history.events}
    ended = by_verb["ended", "Pod default/old"]
    assert by_verb["bound", "Pod default/new"].because == ended.id
    assert by_verb["bound", "Pod default/new"].at == 2.0


def replica_set(replicas: int, cpu: str = "1", **spec: Any) -> ReplicaSet:
    container = Container(name="c", image="i", resources=ResourceRequirements(requests={"cpu": cpu}))
    inner = msgspec.structs.replace(Pod().spec, containers=(container,), **spec)
    template = PodTemplateSpec(metadata=PodMeta(labels={"app": "web"}), spec=inner)
    return ReplicaSet(
        metadata=ReplicaSetMeta(name="web", namespace="default", uid="web"),
        spec=ReplicaSetSpec(replicas=replicas, selector=LabelSelector(match_labels={"app": "web"}), template=template),
    )


def nodes_of(made: Engine) -> Sequence[str]:
    return sorted(each.spec.node_name for each in made.api_server.state.cluster.all(Pod).values())


def test_pods_of_a_replica_set_come_back_elsewhere() -> None:
    made = engine(node("a").allocatable(cpu="2"), node("b").allocatable(cpu="2"))
    do(made, Create(replica_set(2)))
    made.settle()
    victim = next(key for key, each in made.api_server.state.cluster.all(Pod).items() if each.spec.node_name == "a")
    do(made, DeletePod(victim, "Deleted"))
    made.settle()
    assert len(nodes_of(made)) == 2
    assert made.cycle is None
    (gone,) = made.api_server.history.gone.values()
    assert gone.owner == "ReplicaSet default/web"
    assert not gone.initial


def test_a_quota_counts_pods_until_they_have_ended() -> None:
    quota = ResourceQuota(
        metadata=ObjectMeta(name="q", namespace="default"), spec=ResourceQuotaSpec(hard={"pods": "1"})
    )
    made = engine(node("a"), quota)
    do(made, Create(replica_set(1)))
    made.settle()
    (first,) = made.api_server.state.cluster.all(Pod)
    do(made, DeletePod(first, "Deleted"))
    made.settle()
    verbs = [(event.at, event.verb) for event in made.api_server.history.events if event.at >= 1]
    refused = [at for at, verb in verbs if verb == "was refused"]
    created = [at for at, verb in verbs if verb == "created"]
    assert refused
    assert refused[0] == 1.0
    assert created == [3.0]


def test_time_that_is_up_ends_it() -> None:
    made = engine(node("a"), parameters=msgspec.structs.replace(QUICK, start=10, horizon=5))
    do(made, Create(new("p")))
    made.settle()
    assert made.is_over_horizon
    assert made.clock.now == 5


def test_an_error_that_stays_is_not_tried_for_ever() -> None:
    twice = [
        gpus("a", 1, name=name, count=2) for name in ("one", "two")
    ]  # the same device in both: the pool is invalid
    claims = device_class(), claim("c", request(count=None))
    made = engine(node("a"), *twice, *claims, asking("c").build(), parameters=Parameters(horizon=10**9))
    assert made.clock.now < 100
    assert not made.is_over_horizon
    tried: list[ScheduleResult] = []
    made.scheduler.attempt_watchers.append(tried.append)
    made.wait(10**6)
    assert len(tried) < 5
    made.perform(lambda api_server: api_server.put(slice_("a", device("gpu-1"), name="two", count=2), None))
    made.settle()
    assert ("bound", "Pod default/pod", "a") in [event[1:] for event in said(made)]


def test_waiting_lets_time_pass() -> None:
    made = engine(node("a"))
    do(made, Create(new("p")))
    made.wait(0.5)
    assert made.clock.now == 0.5
    assert said(made)[-1][1] == "bound"
    made.wait(10)
    assert made.clock.now == 10.5
    assert said(made)[-1][:2] == (1.0, "ready")


def owned(name: str, uid: str) -> PodBuilder:
    reference = OwnerReference(kind="ReplicaSet", name="web", uid=uid, controller=True)
    return pod(name).meta(uid=name, owner_references=(reference,)).labels(app="web")


def test_pods_are_found_by_the_uid_of_their_owner() -> None:
    made = engine(
        node("a").cordoned(),
        replica_set(0),
        owned("mine", "web").on("a").status(phase="Running"),
        owned("of-another", "other").on("a").status(phase="Running"),
    )
    assert [gone.pod for gone in made.api_server.history.gone.values()] == ["default/mine"]


KEY = "default/p"
EARLIER, NOW, LATER = "2025-12-31T23:59:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"


def after(grace: float | None, end: str) -> tuple[str | None, int]:
    """When a pod that was to be gone at `end` is to be gone once it has been deleted again (None: it is gone).

    And how many events that are.
    """
    dying = pod("p").on("a").status(phase="Running").meta(deletion_timestamp=end)
    api_server = ApiServer(State(cluster(node("a"), dying)), Clock(parse_time(NOW)), Chance())
    api_server.write(DeletePod(KEY, "Deleted", grace=grace), "user", None)
    found = api_server.state.cluster.get(Pod, KEY)
    return None if found is None else found.metadata.deletion_timestamp, len(api_server.history.events)


@pytest.mark.parametrize("end", [EARLIER, NOW, LATER])
def test_by_force_it_goes_whenever_its_time_would_have_ended(end: str) -> None:
    assert after(0, end)[0] is None


@pytest.mark.parametrize(
    ("grace", "end", "expected"),
    [
        (10, LATER, "2026-01-01T00:00:10Z"),
        (1, LATER, "2026-01-01T00:00:01Z"),
        (None, LATER, "2026-01-01T00:00:30Z"),  # what the pod says
        (300, LATER, LATER),
        (301, LATER, LATER),
        (30, NOW, NOW),
        (30, EARLIER, EARLIER),
    ],
)
def test_the_shorter_time_counts_and_nothing_happens_where_that_is_so_already(
    grace: float | None, end: str, expected: str
) -> None:
    assert after(grace, end) == (expected, int(expected != end))


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
        raise AssertionError("asked whether it is steady")

    monkeypatch.setattr(deployment, "_is_steady", fail)
    made = engine(node("n1"), *web("n1"))
    assert list(made.api_server.state.pods) == ["shop/web-0"]
    use_reference(on=False)
    with pytest.raises(AssertionError, match="asked whether it is steady"):
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
