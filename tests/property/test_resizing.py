"""A law of resizes: whatever is asked for in whatever order, no kubelet grants more than its node has."""

from io import BytesIO
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.kube.matching.requests import CPU, MEMORY, pod_requests, resource_nanos
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.questions.story.simulate import StepPlayer, begin
from kwhatif.simulation.parameters import Parameters
from kwhatif.simulation.resizing import allocated, is_under_way
from kwhatif.sources.manifests.edits import read_edits
from tests.examples import examples
from tests.objects import manifest
from tests.valid_state import validate

MANY = settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
SIZES = {"cpu": "4", "memory": "8Gi", "pods": "10"}
amounts = st.tuples(st.integers(1, 5), st.integers(1, 9))
steps = st.one_of(
    st.tuples(st.just("cpu"), st.integers(0, 4), st.integers(1, 5)),
    st.tuples(st.just("memory"), st.integers(0, 4), st.integers(1, 9)),
    st.tuples(st.just("delete"), st.integers(0, 4), st.just(0)),
)


def objects(pods: list[tuple[int, int]], asked: int) -> list[dict[str, Any]]:
    """Pods that fit on one of two nodes; the first asks for so much cpu, and its kubelet has still to decide."""
    items: list[dict[str, Any]] = []
    room = {name: [4, 8] for name in ("a", "b")}
    for name in room:
        status = {"allocatable": SIZES, "capacity": SIZES, "conditions": [{"type": "Ready", "status": "True"}]}
        items.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status})
    for number, (cpu, memory) in enumerate(pods):
        node = next((name for name, left in room.items() if left[0] >= cpu and left[1] >= memory), None)
        if node is None:
            continue
        room[node] = [room[node][0] - cpu, room[node][1] - memory]
        got = {"requests": {"cpu": str(cpu), "memory": f"{memory}Gi"}}
        wants = {"requests": {**got["requests"], "cpu": str(cpu if number else asked)}}
        rows = [{"name": "c", "resources": got, "allocatedResources": got["requests"], "state": {"running": {}}}]
        ready = [{"type": "Ready", "status": "True"}]
        items.append(
            manifest(
                "Pod",
                {"name": f"p{number}", "namespace": "default", "uid": f"p{number}"},
                spec={
                    "nodeName": node,
                    "priority": number % 2,
                    "containers": [{"name": "c", "image": "i", "resources": wants}],
                },
                status={"phase": "Running", "conditions": ready, "containerStatuses": rows},
            )
        )
    return items


def text(step: tuple[str, int, int]) -> str:
    what, number, amount = step
    if what == "delete":
        return f"delete --ignore-not-found pod/p{number}"
    return f"set pod/p{number} spec.containers[0].resources.requests.{what}={amount}{'Gi' if what == 'memory' else ''}"


def granted(cluster: Cluster) -> dict[tuple[str, str], int]:
    total: dict[tuple[str, str], int] = {}
    for pod in cluster.all(Pod).values():
        for name in (CPU, MEMORY) if not is_terminal(pod) else ():
            place = pod.spec.node_name, name
            total[place] = total.get(place, 0) + pod_requests(allocated(pod)).get(name, 0)
    return total


def check(cluster: Cluster) -> None:
    most = resource_nanos(SIZES)
    for (_, name), amount in granted(cluster).items():
        assert amount <= most[name]


@MANY
@given(
    st.lists(amounts, min_size=1, max_size=5), st.integers(1, 5), st.lists(steps, max_size=6), st.sampled_from((35, 36))
)
def test_no_kubelet_grants_more_than_its_node_has(
    pods: list[tuple[int, int]], asked: int, todo: list[tuple[str, int, int]], minor: int
) -> None:
    session = kwhatif.load(objects(pods, asked), kubernetes_version=f"1.{minor}")
    at_rest = session
    engine, _ = begin(session, Parameters())
    player = StepPlayer(engine, "default")
    for step in todo:
        try:
            at_rest = kwhatif.edited(at_rest, text(step))
        except kwhatif.InputError:  # the pod is not there, or the API server refuses
            continue
        check(at_rest.cluster)
        validate(at_rest.state)
    for each in read_edits([text(step) for step in todo], namespace="default", stdin=BytesIO()).edits:
        try:
            player.perform(each)
        except kwhatif.InputError:
            continue
        check(engine.api_server.state.cluster)
    engine.settle()
    check(engine.api_server.state.cluster)
    validate(engine.api_server.state)
    full = [pod for pod in engine.api_server.state.cluster.all(Pod).values() if is_under_way(pod)]
    assert all(any(each.type == "PodResizePending" for each in pod.status.conditions) for pod in full)
