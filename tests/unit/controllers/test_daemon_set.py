"""DaemonSets: who has a pod, who loses it, and rolling updates."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.controllers import daemon_set
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta
from kwhatif.kube.model.node import Node, Taint
from kwhatif.kube.model.pod import PodMeta, PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Container
from kwhatif.kube.model.workload import DaemonSet, DaemonSetSpec, RollingUpdate, UpdateStrategy
from kwhatif.workloads.daemon_set import (
    DaemonPodsOnNode,
    DesiredNodeCounts,
    NodeMoves,
    bounds_of,
    node_of,
    rolling_update,
)
from tests.builders import node
from tests.fake_cluster import FakeCluster

CONTROLLERS = daemon_set.CONTROLLERS
NAMES = ("n1", "n2", "n3")


def agent(image: str = "agent:1", *, strategy: UpdateStrategy | None = None, pod: Any = None, **spec: Any) -> DaemonSet:
    template = PodTemplateSpec(
        metadata=PodMeta(labels={"app": "agent"}),
        spec=PodSpec(containers=(Container(name="main", image=image),), **(pod or {})),
    )
    return DaemonSet(
        metadata=ObjectMeta(name="agent", namespace="shop", uid="d"),
        spec=DaemonSetSpec(
            selector=LabelSelector(match_labels={"app": "agent"}),
            template=template,
            update_strategy=strategy or UpdateStrategy(),
            **spec,
        ),
    )


def rolling(unavailable: int | str | None = None, surge: int | str | None = None) -> UpdateStrategy:
    return UpdateStrategy(
        type="RollingUpdate", rolling_update=RollingUpdate(max_unavailable=unavailable, max_surge=surge)
    )


def nodes(**taints: str) -> list[Node]:
    """Three of them; those that are named have a taint with this effect."""
    plain = [node(name).build() for name in NAMES]
    return [tainted(each, taints.get(each.metadata.name)) for each in plain]


def tainted(obj: Node, effect: str | None) -> Node:
    taints = (Taint(key="maint", effect=effect),) if effect else ()
    return replace(obj, spec=replace(obj.spec, taints=taints))


def world(first: DaemonSet, *others: Any, **kwargs: Any) -> FakeCluster:
    """One in which its pods run, each on its node."""
    found = FakeCluster(CONTROLLERS, *(others or nodes()), **kwargs)
    found.put(first)
    found.settle()
    run(found)
    return found.settle()


def run(found: FakeCluster, *, ready: bool = True) -> None:
    for key, pod in found.pods().items():
        if pod.status.phase == "Pending" and not pod.metadata.deletion_timestamp:
            found.runs(key, node=node_of(pod), ready=ready)


def on(found: FakeCluster) -> dict[str, str]:
    """Node -> images of its pods, with a mark where they are terminating."""
    seen: dict[str, list[str]] = {}
    for pod in found.pods().values():
        mark = "†" if pod.metadata.deletion_timestamp else ""
        seen.setdefault(node_of(pod), []).append(pod.spec.containers[0].image.removeprefix("agent:") + mark)
    return {name: "".join(sorted(images)) for name, images in sorted(seen.items())}


def end_terminating(found: FakeCluster) -> None:
    for key, pod in found.pods().items():
        if pod.metadata.deletion_timestamp:
            found.ends(key)
            found.settle()
            found.gone(key)
    found.settle()


def test_a_pod_on_every_node() -> None:
    found = world(agent())
    assert on(found) == dict.fromkeys(NAMES, "1")
    pod = next(iter(found.pods().values()))
    assert pod.metadata.owner_references[0].uid == "d"
    found.put(node("n4").build())
    found.settle()
    assert on(found)["n4"] == "1"


@pytest.mark.parametrize(
    ("effect", "expected"),
    [("NoSchedule", ""), ("NoExecute", ""), ("PreferNoSchedule", "1")],
)
def test_taints_keep_new_pods_away(effect: str, expected: str) -> None:
    assert on(world(agent(), *nodes(n2=effect))).get("n2", "") == expected


def test_a_taint_that_comes_later() -> None:
    found = world(agent())
    found.put(tainted(nodes()[1], "NoSchedule"))
    assert on(found.settle())["n2"] == "1"
    found.put(tainted(nodes()[1], "NoExecute"))
    assert on(found.settle())["n2"] == "1†"
    end_terminating(found)
    assert "n2" not in on(found)
    found.put(nodes()[1])
    assert on(found.settle())["n2"] == "1"


def test_a_cordon_and_not_ready_do_not_matter() -> None:
    found = world(agent())
    cordoned = replace(nodes()[0], spec=replace(nodes()[0].spec, unschedulable=True))
    found.put(tainted(cordoned, None))
    gone = Taint(key="node.kubernetes.io/unreachable", effect="NoExecute")
    found.put(replace(nodes()[1], spec=replace(nodes()[1].spec, taints=(gone,))))
    assert on(found.settle()) == dict.fromkeys(NAMES, "1")


def test_a_selector_of_nodes() -> None:
    some = [node("n1").labels(disk="ssd").build(), node("n2").build()]
    spec = {"node_selector": {"disk": "ssd"}}
    found = world(agent(pod=spec), *some)
    assert on(found) == {"n1": "1"}
    found.put(node("n1").build())
    assert on(found.settle()) == {"n1": "1†"}


def test_replaced_when_the_phase_is_final_though_not_gone() -> None:
    found = world(agent())
    (first, *_) = (key for key, pod in found.pods().items() if node_of(pod) == "n1")
    found.evict(first)
    assert on(found.settle())["n1"] == "1†"
    found.ends(first)
    assert on(found.settle())["n1"] == "11†"


def test_with_surge_replaced_when_terminating() -> None:
    found = world(agent(strategy=rolling(0, 1)))
    (first, *_) = (key for key, pod in found.pods().items() if node_of(pod) == "n1")
    found.evict(first)
    assert on(found.settle())["n1"] == "11†"


def test_failed_pods_go_later_each_time() -> None:
    found = world(agent())

    def fails() -> None:
        (key,) = (key for key, pod in found.pods().items() if node_of(pod) == "n1")
        found.runs(key, node="n1")
        found.ends(key)
        found.settle()

    def phase() -> str:
        (pod,) = (pod for pod in found.pods().values() if node_of(pod) == "n1")
        return pod.status.phase

    fails()
    assert phase() == "Pending"
    fails()
    assert phase() == "Failed"
    found.wait(1)
    assert phase() == "Pending"
    fails()
    found.wait(1.5)
    assert phase() == "Failed"
    found.wait(1)
    assert phase() == "Pending"
    assert getattr(found.writes[-2], "how", None) == "Completed"


def test_succeeded_pods_go_at_once() -> None:
    found = world(agent())
    for _ in range(3):
        (key,) = (key for key, pod in found.pods().items() if node_of(pod) == "n1")
        found.runs(key, node="n1")
        found.ends(key, "Succeeded")
        assert on(found.settle())["n1"] == "1"


def test_of_two_pods_on_a_node_the_older_stays() -> None:
    found = world(agent())
    (key,) = (key for key, pod in found.pods().items() if node_of(pod) == "n1")
    pod = found.pod(key)
    later = replace(pod.metadata, name="agent-zz", creation_timestamp="2026-04-01T00:00:00Z")
    found.put(replace(pod, metadata=later))
    found.settle()
    assert found.pod("shop/agent-zz").metadata.deletion_timestamp
    assert not found.pod(key).metadata.deletion_timestamp


def test_pending_pods_of_nodes_that_are_gone_go() -> None:
    found = FakeCluster(CONTROLLERS, *nodes())
    found.put(agent())
    found.settle()
    found.runs(*(key for key, pod in found.pods().items() if node_of(pod) == "n2"), node="n2")
    for name in ("n1", "n2"):
        found.remove(Node, name)
    found.put(agent())
    assert set(on(found.settle())) == {"n2", "n3"}


def test_a_rollout_one_by_one() -> None:
    found = world(agent())
    found.put(agent("agent:2"))
    steps = []
    for _ in range(4):
        steps.append("".join(on(found.settle()).values()))
        end_terminating(found)
        run(found)
    assert steps == ["1†11", "21†1", "221†", "222"]


def test_a_rollout_beside() -> None:
    found = world(agent(strategy=rolling(0, 1)))
    found.put(agent("agent:2", strategy=rolling(0, 1)))
    assert on(found.settle()) == {"n1": "12", "n2": "1", "n3": "1"}
    run(found)
    assert on(found.settle()) == {"n1": "1†2", "n2": "12", "n3": "1"}
    end_terminating(found)
    run(found)
    found.settle()
    end_terminating(found)
    run(found)
    found.settle()
    end_terminating(found)
    assert set(on(found).values()) == {"2"}


def test_on_delete_and_back() -> None:
    strategy = UpdateStrategy(type="OnDelete")
    found = world(agent(strategy=strategy))
    label = {pod.metadata.labels["controller-revision-hash"] for pod in found.pods().values()}
    found.put(agent("agent:2", strategy=strategy))
    assert on(found.settle()) == dict.fromkeys(NAMES, "1")
    found.put(agent())
    assert on(found.settle()) == dict.fromkeys(NAMES, "1")
    assert len(label) == 1


def test_a_rollout_waits_for_min_ready_seconds() -> None:
    found = world(agent(min_ready_seconds=10))
    found.wait(20)
    found.put(agent("agent:2", min_ready_seconds=10))
    found.settle()
    end_terminating(found)
    run(found)
    assert "".join(on(found.settle()).values()) == "211"
    found.wait(10)
    assert "".join(on(found).values()) == "21†1"


def test_what_is_refused_is_tried_again() -> None:
    full = [True]
    found = FakeCluster(CONTROLLERS, *nodes(), deny=lambda _: full[0])
    found.put(agent())
    assert not found.settle().pods()
    full[0] = False
    assert on(found.wait(1)) == dict.fromkeys(NAMES, "1")


def test_left_alone() -> None:
    found = FakeCluster(CONTROLLERS, *nodes())
    everything = agent()
    found.put(replace(everything, spec=replace(everything.spec, selector=LabelSelector())))
    deleted = replace(everything.metadata, name="b", deletion_timestamp="2026-03-01T00:00:00Z")
    found.put(replace(everything, metadata=deleted))
    assert not found.settle().writes


#: Letters for what stands on a node: an old pod (`o`, `O` where it is available), a new one (`n`, `N`), both (`b`, `B`
#: where the new one is available), only terminating ones (`.`), more than one of a kind (`x`).
LETTERS = {
    "o": ("o", None, False, False),
    "O": ("o", None, True, False),
    "n": (None, "n", False, False),
    "N": (None, "n", False, True),
    "b": ("o", "n", True, False),
    "B": ("o", "n", True, True),
    ".": (None, None, False, False),
    "x": ("o", "n", True, True),
}
STEPS = {
    "one at a time": ("OOO", "", 1, 0, [], [0]),
    "one that is terminating counts": (".OO", "", 1, 0, [], []),
    "old ones that are not available go anyway": ("ooO", "", 1, 0, [], [0, 1]),
    "new ones that are not available count": ("nNOO", "", 2, 0, [], [2]),
    "nodes with too many count": ("xOOO", "", 2, 0, [], [1]),
    "left over from a surge counts": ("bOOO", "", 2, 0, [], [1]),
    "half of them": ("OOOO", "", "50%", 0, [], [0, 1]),
    "neither": ("OOOO", "", 0, 0, [], [0]),
    "one beside": ("OOO", "", 0, 1, [0], []),
    "while it is not available": ("bOO", "", 0, 1, [], []),
    "then the old one goes, and the next comes": ("BOO", "", 0, 1, [1], [0]),
    "beside old ones that are not available, whatever the bound": ("ooO", "", 0, 1, [0, 1, 2], []),
    "nodes with too many count as surge": ("xOO", "", 0, 1, [], []),
    "where none is made, one that is not available goes": ("oOO", "0", 0, 1, [1], [0]),
    "where none is made, spare ones go": ("OOOO", "0", 0, 1, [1], [0]),
    "where none is made, but they are needed": ("OOOo", "0", 0, 1, [3, 1], []),
}


@pytest.mark.parametrize(("letters", "leaving", "unavailable", "surge", "made", "gone"), STEPS.values(), ids=STEPS)
def test_steps_of_an_update(
    letters: str, leaving: str, unavailable: int | str, surge: int, made: list[int], gone: list[int]
) -> None:
    standing = {}
    for number, letter in enumerate(letters):
        old, new, *(old_available, new_available) = LETTERS[letter]
        key = str(number)
        standing[key] = DaemonPodsOnNode(
            old and key, new and key, old_available, new_available, key not in leaving, letter == "x"
        )
    wanted = len(letters) - len(leaving)
    moves = rolling_update(standing, rolling(unavailable, surge), wanted)
    assert moves == NodeMoves(tuple(map(str, made)), tuple(map(str, gone)))


def test_more_of_one_kind() -> None:
    pods = [("a", True, True), ("b", True, False), ("c", False, True)]
    assert DaemonPodsOnNode.of(pods, should_run=True) == DaemonPodsOnNode("c", "a", True, True, True, True)


@pytest.mark.parametrize(
    ("unavailable", "surge", "expected"),
    [
        (None, None, DesiredNodeCounts(10, 1, 0)),
        ("15%", None, DesiredNodeCounts(10, 2, 0)),
        (3, 0, DesiredNodeCounts(10, 3, 0)),
        (0, 2, DesiredNodeCounts(10, 0, 2)),
        (0, "11%", DesiredNodeCounts(10, 0, 2)),
        (0, 0, DesiredNodeCounts(10, 1, 0)),
        ("0%", "0%", DesiredNodeCounts(10, 1, 0)),
    ],
)
def test_bounds(unavailable: int | str | None, surge: int | str | None, expected: DesiredNodeCounts) -> None:
    rolling = RollingUpdate(max_unavailable=unavailable, max_surge=surge)
    assert bounds_of(UpdateStrategy(type="RollingUpdate", rolling_update=rolling), 10) == expected
