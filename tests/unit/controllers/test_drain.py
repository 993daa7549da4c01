"""`kubectl drain`: whom it evicts, when, and what it prints."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.controllers.contract import DeletePod
from kwhatif.controllers.disruption import Disruption
from kwhatif.controllers.drain import KubectlDrain
from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, PodAnnotations, PodMeta
from kwhatif.kube.model.storage import SomeVolume
from kwhatif.kube.model.workload import DaemonSet
from tests.builders import PodBuilder, node, pod
from tests.fake_cluster import FakeCluster
from tests.unit.controllers.test_disruption import budget, web

ALL = DrainOptions(ignore_daemonsets=True, delete_emptydir_data=True, force=True)
AGENT = DaemonSet(metadata=ObjectMeta(name="agent", namespace="shop"))
REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


def mine(name: str, kind: str = "ReplicaSet", owner: str = "rs") -> PodBuilder:
    return pod(name, "shop").on("n1").owner(kind, owner).status(phase="Running")


def mirror(name: str) -> Pod:
    built = mine(name, "Node", "n1").build()
    meta = PodMeta(name=name, namespace="shop", annotations=PodAnnotations(mirror="x"))
    return replace(built, metadata=meta)


class Draining:
    """A drain in a little world: kubelets stop pods after their grace period."""

    def __init__(self, *objects: Any, nodes: tuple[str, ...] = ("n1",), options: DrainOptions = ALL) -> None:
        self.api_server = FakeCluster([Disruption()], node("n1"), node("n2"), *objects)
        self.drain = KubectlDrain(nodes, options)

    def run(self, end: float = 1000.0, stop: float = 30.0) -> Draining:
        """Until the drain is done, or until the end; pods take so long to stop."""
        due: float | None = 0.0
        ends: dict[str, float] = {}
        while not self.drain.done:
            times = [time for time in (due, *ends.values()) if time is not None]
            if not times or min(times) > end:
                break
            self.api_server.until(max(self.api_server.now, min(times)))
            for key in [key for key, time in ends.items() if time <= self.api_server.now]:
                del ends[key]
                self.api_server.gone(key).settle()
            if (due is not None and due <= self.api_server.now) or self.drain.is_waiting_for(self.api_server):
                outcome = self.drain.attempt(self.api_server)
                due = outcome.again
                assert due is None or due > self.api_server.now
                ends |= {
                    write.key: self.api_server.now + stop for write in outcome.writes if isinstance(write, DeletePod)
                }
                self.api_server.write(*outcome.writes)
        return self

    @property
    def output(self) -> list[str]:
        return self.drain.log.output


def test_all_kinds_of_pods() -> None:
    done = Draining(
        AGENT,
        mine("a"),
        mine("agent-x", "DaemonSet", "agent"),
        mirror("static"),
        pod("bare", "shop").on("n1").volume("tmp", empty_dir=SomeVolume()),
        mine("other").on("n2"),
    ).run()
    assert (done.drain.ok, done.api_server.now) == (True, 30)
    assert done.output == [
        "node/n1 cordoned",
        "Warning: ignoring DaemonSet-managed Pods: shop/agent-x; deleting Pods that declare no controller: shop/bare",
        "evicting pod shop/a",
        "evicting pod shop/bare",
        "pod/a evicted",
        "pod/bare evicted",
        "node/n1 drained",
    ]
    assert done.api_server.state.cluster.all(Node)["n1"].spec.unschedulable
    assert list(done.api_server.state.cluster.all(Pod)) == ["shop/agent-x", "shop/other", "shop/static"]


REFUSALS: dict[str, tuple[list[Any], DrainOptions, list[str]]] = {
    "a DaemonSet's pod": (
        [AGENT, mine("agent-x", "DaemonSet", "agent")],
        DrainOptions(),
        ["cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): shop/agent-x"],
    ),
    "one whose DaemonSet is gone": (
        [mine("agent-x", "DaemonSet", "agent")],
        DrainOptions(ignore_daemonsets=True),
        ['cannot delete daemonsets.apps "agent" not found: shop/agent-x'],
    ),
    "local storage": (
        [mine("a").volume("tmp", empty_dir=SomeVolume()), mine("b").volume("x", host_path=SomeVolume())],
        DrainOptions(),
        ["cannot delete Pods with local storage (use --delete-emptydir-data to override): shop/a"],
    ),
    "no controller": (
        [pod("a", "shop").on("n1"), pod("b", "shop").on("n1")],
        DrainOptions(),
        ["cannot delete Pods that declare no controller (use --force to override): shop/a, shop/b"],
    ),
    "several objections to one pod: the first counts": (
        [pod("a", "shop").on("n1").volume("tmp", empty_dir=SomeVolume())],
        DrainOptions(),
        ["cannot delete Pods with local storage (use --delete-emptydir-data to override): shop/a"],
    ),
    "several kinds": (
        [AGENT, mine("agent-x", "DaemonSet", "agent"), pod("a", "shop").on("n1"), mine("b")],
        DrainOptions(),
        [
            "cannot delete Pods that declare no controller (use --force to override): shop/a",
            "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): shop/agent-x",
        ],
    ),
}


@pytest.mark.parametrize(("objects", "options", "errors"), REFUSALS.values(), ids=REFUSALS.keys())
def test_nobody_goes_where_one_may_not(objects: list[Any], options: DrainOptions, errors: list[str]) -> None:
    done = Draining(*objects, options=options).run()
    error = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
    assert not done.drain.ok
    assert done.output == [
        "node/n1 cordoned",
        f'error: unable to drain node "n1" due to error: {error}, continuing command...',
        "There are pending nodes to be drained:",
        " n1",
        *errors,
    ]
    assert done.api_server.deleted == []


FREE: dict[str, tuple[list[Any], DrainOptions]] = {
    "finished pods may be anything": (
        [pod("a", "shop").on("n1").volume("tmp", empty_dir=SomeVolume()).status(phase="Succeeded")],
        DrainOptions(),
    ),
    "a lost DaemonSet's pod with force": ([mine("a", "DaemonSet", "agent")], DrainOptions(force=True)),
    "a controller that is not there is one": ([mine("a", "Widget", "w")], DrainOptions()),
    "others are not selected": (
        [mine("a").labels(app="a"), pod("bare", "shop").on("n1")],
        DrainOptions(pod_selector="app=a"),
    ),
    "overdue pods are left out": (
        [mine("a"), pod("late", "shop").on("n1").terminating("2026-02-28T23:59:00Z")],
        DrainOptions(skip_wait_for_delete_timeout=59),
    ),
}


@pytest.mark.parametrize(("objects", "options"), FREE.values(), ids=FREE.keys())
def test_who_goes_nevertheless(objects: list[Any], options: DrainOptions) -> None:
    done = Draining(*objects, options=options).run()
    assert done.drain.ok
    assert [key for *_, key in done.api_server.deleted][:1] == ["shop/a"]


def test_refused_pods_are_asked_for_again_every_five_seconds() -> None:
    given = budget(min_available=1, status={"disruptions_allowed": 1, "current_healthy": 2, "desired_healthy": 1})
    draining = Draining(web("a").owner("ReplicaSet", "rs"), web("b").owner("ReplicaSet", "rs"), given)
    draining.run(end=12, stop=2)
    assert draining.drain.log.granted == [(0, "shop/a")]
    assert draining.drain.log.refusals["shop/b"].code == 429
    line = f'error when evicting pods/"b" -n "shop" (will retry after 5s): {REFUSED}'
    assert draining.output[1:] == [
        "evicting pod shop/a",
        "evicting pod shop/b",
        line,
        "pod/a evicted",
        "evicting pod shop/b",
        line,
        "evicting pod shop/b",
        line,
    ]
    draining.api_server.put(web("c").on("n2").build()).settle()
    again = draining.drain.attempt(draining.api_server)
    assert draining.drain.log.granted == [(0, "shop/a")]  # it is not 15 yet
    assert again.again == 15
    draining.api_server.until(15)
    draining.drain.attempt(draining.api_server)
    assert draining.drain.log.granted == [(0, "shop/a"), (15, "shop/b")]


@pytest.mark.parametrize("timeout", [0.0, 17.0])
def test_it_is_idle_while_nothing_changes_and_no_timeout_runs(timeout: float) -> None:
    given = budget(min_available=1, status={"current_healthy": 1, "desired_healthy": 1, "expected_pods": 1})
    draining = Draining(web("a").owner("ReplicaSet", "rs"), given, options=replace(ALL, timeout=timeout))
    assert not draining.drain.is_idle(draining.api_server), "it has not begun"
    draining.run(end=6)
    assert draining.drain.is_idle(draining.api_server) is (timeout == 0)
    draining.api_server.put(mine("c").on("n2").build())
    assert not draining.drain.is_idle(draining.api_server), "the eviction may be granted now"


def test_the_timeout_is_noticed_when_the_pod_is_asked_for_the_next_time() -> None:
    given = budget(min_available=1, status={"current_healthy": 1, "desired_healthy": 1, "expected_pods": 1})
    done = Draining(web("a").owner("ReplicaSet", "rs"), given, options=replace(ALL, timeout=17.0)).run()
    asked = ["evicting pod shop/a", f'error when evicting pods/"a" -n "shop" (will retry after 5s): {REFUSED}']
    error = 'error when evicting pods/"a" -n "shop": global timeout reached: 17s'
    assert (done.api_server.now, done.drain.ok) == (20, False)
    assert done.output == [
        "node/n1 cordoned",
        *(asked * 4),
        "evicting pod shop/a",
        f'There are pending pods in node "n1" when an error occurred: {error}',
        "pod/a",
        f'error: unable to drain node "n1" due to error: {error}, continuing command...',
        "There are pending nodes to be drained:",
        " n1",
        error,
    ]


def test_a_pod_that_takes_too_long_to_end() -> None:
    done = Draining(mine("a"), options=replace(ALL, timeout=10.5)).run(stop=60)
    assert done.api_server.now == 10.5
    assert done.output[-1] == (
        'error when waiting for pod "a" in namespace "shop" to terminate: context deadline exceeded'
    )


def test_a_second_budget_fails_the_pod_and_the_others_go_on() -> None:
    two = [budget(min_available=0), budget("too", min_available=0)]
    done = Draining(web("a").owner("ReplicaSet", "rs"), mine("b"), *two).run()
    many = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    assert done.output[1:4] == ["evicting pod shop/a", "evicting pod shop/b", "pod/b evicted"]
    assert done.output[-1] == f'error when evicting pods/"a" -n "shop": {many}'
    assert not done.drain.ok


def test_nodes_are_cordoned_together_and_drained_one_after_another() -> None:
    done = Draining(mine("a"), mine("b").on("n2"), nodes=("n2", "n1"))
    done.api_server.put(node("n2").cordoned().build()).settle()
    done.run(stop=2)
    assert done.api_server.now == 4
    assert done.output == [
        "node/n2 already cordoned",
        "node/n1 cordoned",
        "evicting pod shop/b",
        "pod/b evicted",
        "node/n2 drained",
        "evicting pod shop/a",
        "pod/a evicted",
        "node/n1 drained",
    ]


def test_one_failure_of_several_nodes() -> None:
    done = Draining(pod("a", "shop").on("n1"), pod("b", "shop").on("n2"), nodes=("n1", "n2"), options=DrainOptions())
    done.run()
    error = "cannot delete Pods that declare no controller (use --force to override): shop/"
    assert done.output[-5:] == ["There are pending nodes to be drained:", " n1", " n2", f"{error}a", f"{error}b"]


def test_without_evictions_budgets_do_not_matter() -> None:
    given = budget(min_available=9, status={})
    options = replace(ALL, disable_eviction=True, grace_period=5)
    done = Draining(web("a").owner("ReplicaSet", "rs"), given, options=options).run(stop=5)
    assert done.output == ["node/n1 cordoned", "pod/a deleted", "node/n1 drained"]
    assert [lost[1:] for lost in done.api_server.deleted][:1] == [("Deleted", "shop/a")]


def test_a_successor_of_the_name_is_not_waited_for() -> None:
    draining = Draining(mine("a").meta(uid="one"))
    draining.run(end=10)
    draining.api_server.gone("shop/a").put(mine("a").meta(uid="two").on("n2").build()).settle()
    assert draining.drain.is_waiting_for(draining.api_server)
    draining.api_server.until(10.4)
    assert draining.drain.attempt(draining.api_server).again == 11
    draining.api_server.until(11)
    draining.drain.attempt(draining.api_server)
    assert draining.drain.ok


def test_an_empty_node_is_drained_at_once() -> None:
    assert Draining().run().output == ["node/n1 cordoned", "node/n1 drained"]
