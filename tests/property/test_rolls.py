"""Laws of rollouts, whatever becomes of the pods that they make."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.model.cluster import Cluster, key_of
from kwhatif.model.meta import LabelSelector, ObjectMeta
from kwhatif.model.pod import Container, Pod, PodCondition, PodMeta, PodSpec, PodTemplateSpec, ResourceRequirements
from kwhatif.model.workload import DaemonSet, Deployment, RollingUpdate, StatefulSet, UpdateStrategy
from kwhatif.workloads.daemon_set import node_of
from kwhatif.workloads.rolling.roll import Roll
from kwhatif.workloads.rollout import plan_update
from tests.builders import PodBuilder, cluster, node, pod

SELECTOR = LabelSelector(match_labels={"app": "web"})
META = ObjectMeta(name="web", namespace="default")
BOUNDS = st.one_of(st.integers(0, 4), st.sampled_from(["0%", "25%", "50%", "100%"]))
ROLLING = st.builds(RollingUpdate, max_surge=BOUNDS, max_unavailable=BOUNDS)
#: Which of the pods that are made find a node, in turn.
LUCK = st.lists(st.booleans(), max_size=60)
MOST_STEPS = 200


def template(cpu: str) -> PodTemplateSpec:
    requests = ResourceRequirements(requests={"cpu": cpu})
    containers = (Container(name="app", image="i", resources=requests),)
    return PodTemplateSpec(metadata=PodMeta(labels={"app": "web"}), spec=PodSpec(containers=containers))


def old_pod(name: str, owner: str, kind: str, *, ready: bool, place: str = "n0") -> PodBuilder:
    condition = PodCondition(type="Ready", status="True" if ready else "False")
    return (
        pod(name)
        .labels(app="web")
        .owner(kind, owner)
        .cpu("1")
        .on(place)
        .status(phase="Running", conditions=(condition,))
    )


def is_named_by_server(made: Pod) -> bool:
    return made.metadata.owner_references[0].kind != "StatefulSet"


class Drive:
    """A roll with a scheduler that places pods as luck has it, and those that had none once it has run out."""

    def __init__(self, roll: Roll, luck: list[bool], *, ready: set[str]) -> None:
        self.roll = roll
        self.luck = iter(luck)
        self.pods: dict[str, Pod] = {key_of(each): each for each in roll.pods()}
        self.ready = ready
        self.made = 0

    def step(self) -> bool:
        step = self.roll.step()
        for each in step.removed:
            del self.pods[key_of(each)]  # it is there, and goes once
            self.ready.discard(key_of(each))
        for each in step.added.pods:
            self.made += 1
            name = f"{each.metadata.name}-{self.made}" if is_named_by_server(each) else each.metadata.name
            made = replace(each, metadata=replace(each.metadata, name=name, uid=f"uid-{self.made}"))
            assert key_of(made) not in self.pods
            self.pods[key_of(made)] = made
            self.roll.made(made)
        return not step.is_empty

    def place(self, *, all_of_them: bool = False) -> None:
        for key, each in self.pods.items():
            if key not in self.ready and (all_of_them or next(self.luck, True)):
                self.ready.add(key)
                place = node_of(each) or "n0"
                self.roll.runs(replace(each, spec=replace(each.spec, node_name=place)))

    def finish(self) -> None:
        for _ in range(MOST_STEPS):
            self.place(all_of_them=True)
            if not self.step():
                return
        raise AssertionError("it never ends")

    @property
    def working_nodes(self) -> int:
        return len({node_of(self.pods[key]) for key in self.ready})

    @property
    def updated(self) -> list[Pod]:
        return [each for each in self.pods.values() if each.spec.containers[0].resources.requests["cpu"] == "2"]


def started(known: Any, new: Any, pods: list[PodBuilder], luck: list[bool], *nodes: Any) -> Drive:
    there: Cluster = cluster(known, *nodes, *pods)
    update = plan_update(new, there, "end")
    assert update.roll is not None
    ready = {key_of(made) for each in pods if (made := each.build()).status.conditions[0].status == "True"}
    return Drive(update.roll, luck, ready=ready)


def deployment(cpu: str, replicas: int, strategy: UpdateStrategy) -> Deployment:
    spec = replace(Deployment().spec, replicas=replicas, selector=SELECTOR, template=template(cpu), strategy=strategy)
    return Deployment(metadata=META, spec=spec)


@settings(max_examples=40)
@given(before=st.integers(0, 8), after=st.integers(0, 8), rolling=ROLLING, idle=st.sets(st.integers(0, 7)), luck=LUCK)
def test_a_deployment_keeps_to_its_bounds_and_ends_with_the_pods_that_are_wanted(
    before: int, after: int, rolling: RollingUpdate, idle: set[int], luck: list[bool]
) -> None:
    strategy = UpdateStrategy(type="RollingUpdate", rolling_update=rolling)
    pods = [old_pod(f"web-1-{number}", "web-1", "ReplicaSet", ready=number not in idle) for number in range(before)]
    drive = started(deployment("1", before, strategy), deployment("2", after, strategy), pods, luck)
    bounds = drive.roll._bounds  # type: ignore[attr-defined]
    drive.step()  # a changed number of replicas is dealt out, whatever that makes unavailable
    for _ in range(MOST_STEPS):
        ready, count = len(drive.ready), len(drive.pods)
        moved = drive.step()
        assert len(drive.ready) >= min(ready, bounds.wanted - bounds.unavailable)
        assert len(drive.pods) <= max(count, bounds.most)
        drive.place()
        if not moved:
            break
    drive.finish()
    assert len(drive.pods) == len(drive.updated) == after
    assert drive.roll.progress().done


@settings(max_examples=40)
@given(
    before=st.integers(1, 6),
    after=st.integers(1, 6),
    partition=st.integers(0, 5),
    parallel=st.booleans(),
    luck=LUCK,
)
def test_a_stateful_set_replaces_one_pod_at_a_time(
    *, before: int, after: int, partition: int, parallel: bool, luck: list[bool]
) -> None:
    strategy = UpdateStrategy(type="RollingUpdate", rolling_update=RollingUpdate(partition=partition))

    def stateful(cpu: str, replicas: int) -> StatefulSet:
        policy = "Parallel" if parallel else "OrderedReady"
        spec = replace(StatefulSet().spec, replicas=replicas, selector=SELECTOR, template=template(cpu))
        spec = replace(spec, update_strategy=strategy, pod_management_policy=policy)
        return StatefulSet(metadata=META, spec=spec)

    if partition >= min(before, after):
        return  # nothing is replaced
    pods = [old_pod(f"web-{number}", "web", "StatefulSet", ready=True) for number in range(before)]
    drive = started(stateful("1", before), stateful("2", after), pods, luck)
    for _ in range(MOST_STEPS):
        wanted_before = {f"default/web-{number}" for number in range(after)} & drive.ready
        moved = drive.step()
        assert len(wanted_before - drive.ready) <= 1
        if not parallel:
            assert len(drive.pods) - len(drive.ready) <= 1
        drive.place()
        if not moved:
            break
    drive.finish()
    assert sorted(drive.pods) == [f"default/web-{number}" for number in range(after)]
    # What was there below the partition stays as it was, and what is made there is of the old template.
    assert len(drive.updated) == after - partition
    assert drive.roll.progress().done


@settings(max_examples=40)
@given(
    count=st.integers(1, 6),
    bare=st.sets(st.integers(0, 5)),
    idle=st.sets(st.integers(0, 5)),
    tainted=st.sets(st.integers(0, 5)),
    rolling=ROLLING,
    luck=LUCK,
)
def test_a_daemon_set_keeps_to_its_bounds_and_ends_with_one_pod_on_each_node(
    count: int, bare: set[int], idle: set[int], tainted: set[int], rolling: RollingUpdate, luck: list[bool]
) -> None:
    def daemon(cpu: str) -> DaemonSet:
        strategy = UpdateStrategy(type="RollingUpdate", rolling_update=rolling)
        spec = replace(DaemonSet().spec, selector=SELECTOR, template=template(cpu), update_strategy=strategy)
        return DaemonSet(metadata=META, spec=spec)

    nodes = [node(f"n{number}") for number in range(count)]
    for number in tainted & set(range(count)):
        nodes[number].taint("own", effect="NoSchedule")
    pods = [
        old_pod(f"web-{number}", "web", "DaemonSet", ready=number not in idle, place=f"n{number}")
        for number in range(count)
        if number not in bare
    ]
    drive = started(daemon("1"), daemon("2"), pods, luck, *nodes)
    bounds = drive.roll._bounds  # type: ignore[attr-defined]
    wanted = count - len(tainted & set(range(count)))
    for _ in range(MOST_STEPS):
        ready = drive.working_nodes
        moved = drive.step()
        unavailable = 0 if bounds.surge else bounds.unavailable
        assert drive.working_nodes >= min(ready, wanted - unavailable)
        drive.place()
        if not moved:
            break
    drive.finish()
    assert len(drive.pods) == len(drive.updated) == wanted
    assert drive.roll.progress().done
