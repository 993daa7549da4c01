"""The parts of the queue and the ways between them; `tests/queue_scripts` holds it against the real one."""

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import SECOND
from kwhatif.kube.model.pod import PodStatus
from kwhatif.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from kwhatif.scheduler.framework.hints import QUEUE, QUEUE_SKIP, Registration
from kwhatif.scheduler.framework.status import SUCCESS, unresolvable
from kwhatif.scheduler.queue.hinting import Preempting, QueueOptions, QueueProfile
from kwhatif.scheduler.queue.queued_pod import QueuedPodInfo, pod_lister
from kwhatif.scheduler.queue.scheduling_queue import SchedulingQueue
from kwhatif.state.pod_info import PodInfo
from tests.builders import node, pod
from tests.queue_scripts.scheduler import nominated_pods

NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
SCHEDULER = "default-scheduler"


class Bench:
    """A queue with one plugin `P`, whose hint says Queue for nodes named `good`."""

    def __init__(
        self, gates: Iterable[Any] = (), options: QueueOptions | None = None, extra: Iterable[Registration] = ()
    ) -> None:
        self.cluster = Cluster()
        self.asked: list[str] = []
        hints = [Registration("P", NODE_ADD, self.hint, same_for_replicas=True), *extra]
        profiles = {SCHEDULER: QueueProfile(hints, tuple(gates))}
        self.queue = SchedulingQueue(profiles, self.cluster, options or QueueOptions())

    def hint(self, waiting: PodInfo, old: Any, new: Any, cluster: Cluster) -> Any:
        self.asked.append(waiting.key)
        return QUEUE if new.metadata.name == "good" else QUEUE_SKIP

    def add(self, name: str, priority: int = 0, **status: Any) -> PodInfo:
        built = pod(name).priority(priority).meta(uid=f"uid-{name}").spec(scheduler_name=SCHEDULER).build()
        built = replace(built, status=PodStatus(**status))
        self.cluster.add(built)
        info = PodInfo(built)
        self.queue.now += 1
        self.queue.add(info)
        return info

    def pop(self) -> QueuedPodInfo:
        info = self.queue.pop()
        assert info is not None
        return info

    def get(self, key: str) -> QueuedPodInfo:
        info = self.queue.get(key)
        assert info is not None
        return info

    def fail(self, *rejectors: str, pending: tuple[str, ...] = ()) -> QueuedPodInfo:
        """The next pod is tried, in vain."""
        info = self.pop()
        info.clear_rejectors()
        info.unschedulable_plugins, info.pending_plugins = set(rejectors), set(pending)
        assert self.queue.add_unschedulable_if_not_present(info)
        return info

    def node(self, name: str) -> None:
        self.queue.move_all_to_active_or_backoff(NODE_ADD, None, node(name).build())

    @property
    def parts(self) -> dict[str, list[str]]:
        queue = self.queue
        found = {
            "active": [info.pod_info.name for info in queue.active.queue.list()],
            "backoff": [info.pod_info.name for info in queue.backoff.pod_backoff.list()],
            "error": [info.pod_info.name for info in queue.backoff.pod_error_backoff.list()],
            "pool": [info.pod_info.name for info in queue.unschedulable],
        }
        return {part: names for part, names in found.items() if names}


def test_higher_priority_first_then_who_came_first() -> None:
    bench = Bench()
    for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5)):
        bench.add(name, priority)
    assert [bench.pop().pod_info.name for _ in range(4)] == ["b", "d", "a", "c"]
    assert bench.queue.pop() is None


@pytest.mark.parametrize(
    ("failed_at", "count", "free_from"),
    [(12.3, 1, 14), (12.0, 1, 14), (10.25, 2, 13), (10.25, 3, 15), (10.25, 4, 19), (10.25, 5, 21), (10.25, 9, 21)],
)
def test_backoff_ends_with_the_second_in_which_it_expires(failed_at: float, count: int, free_from: int) -> None:
    bench = Bench()
    bench.add("a")
    bench.queue.now = int(failed_at * SECOND)
    info = bench.pop()
    info.unschedulable_plugins, info.unschedulable_count = {"P"}, count - 1
    bench.queue.add_unschedulable_if_not_present(info)
    backing_off = bench.queue.backoff.is_backing_off
    assert backing_off(info, free_from * SECOND - 1)
    assert not backing_off(info, free_from * SECOND)


def test_an_event_brings_a_pod_back_after_backoff() -> None:
    bench = Bench()
    bench.add("a")
    bench.queue.now = int(12.3 * SECOND)
    bench.fail("P")
    assert bench.parts == {"pool": ["a"]}
    bench.node("bad")
    assert bench.parts == {"pool": ["a"]}
    bench.node("good")
    assert bench.parts == {"backoff": ["a"]}
    bench.queue.now = 13 * SECOND
    bench.queue.flush_backoff()
    assert bench.parts == {"backoff": ["a"]}
    bench.queue.now = 14 * SECOND
    bench.queue.flush_backoff()
    assert bench.parts == {"active": ["a"]}


def test_with_nothing_else_to_do_a_pod_is_popped_early_but_not_after_an_error() -> None:
    bench = Bench()
    bench.add("a")
    bench.fail("P")
    bench.node("good")
    assert bench.pop().pod_info.name == "a"
    bench.add("b")
    bench.fail()
    assert bench.parts == {"error": ["b"]}
    assert bench.queue.pop() is None


def test_errors_have_a_count_of_their_own() -> None:
    bench = Bench()
    bench.add("a")
    info = bench.fail("P")
    bench.queue.activate([info.pod_info])
    bench.fail()
    bench.queue.activate([info.pod_info])
    bench.fail()
    assert (info.unschedulable_count, info.consecutive_errors_count, info.attempts) == (1, 2, 3)
    bench.queue.activate([info.pod_info])
    bench.fail("P")
    assert (info.unschedulable_count, info.consecutive_errors_count) == (2, 0)


def test_who_waits_for_something_is_tried_at_once() -> None:
    bench = Bench()
    bench.add("a")
    bench.fail(pending=("P",))
    bench.node("good")
    assert bench.parts == {"active": ["a"]}


def test_events_that_a_pod_missed_in_flight_are_looked_at_when_it_comes_back() -> None:
    bench = Bench()
    bench.add("a")
    bench.add("b")
    first, second = bench.pop(), bench.queue.pop()
    bench.node("good")
    for info in (first, second):
        assert info is not None
        info.unschedulable_plugins = {"P"}
        bench.queue.add_unschedulable_if_not_present(info)
    assert bench.parts == {"backoff": ["a", "b"]}
    third = bench.pop()
    third.unschedulable_plugins = {"P"}
    bench.queue.add_unschedulable_if_not_present(third)
    assert bench.parts == {"backoff": ["b"], "pool": ["a"]}, "what happened before it was popped is not looked at"
    assert not bench.queue.active.is_any_in_flight


def test_replicas_are_asked_as_one() -> None:
    bench = Bench()
    for number in range(5):
        bench.add(f"a-{number}")
        bench.fail("P")
    bench.node("bad")
    assert len(bench.asked) == 1
    bench.node("good")
    assert len(bench.asked) == 2
    assert len(bench.parts["backoff"]) == 5


def test_after_five_minutes_a_pod_is_tried_whatever_it_waits_for() -> None:
    bench = Bench()
    bench.add("a")
    bench.fail("Q")
    failed_at = bench.queue.now
    for seconds, parts in ((300, {"pool": ["a"]}), (301, {"active": ["a"]})):
        bench.queue.now = failed_at + seconds * SECOND
        bench.queue.flush_unschedulable_leftover()
        assert bench.parts == parts


def gate(closed: set[str]) -> Any:
    return lambda info: unresolvable("closed") if info.name in closed else SUCCESS


def test_a_gated_pod_waits_for_what_its_gate_is_registered_for() -> None:
    closed = {"a"}
    extra = [Registration("G", ClusterEvent(EventResource.STORAGE_CLASS, ActionType.ADD), None, same_for_replicas=True)]
    bench = Bench([("G", gate(closed))], extra=extra)
    info = bench.get(bench.add("a").key)
    assert info.gating_plugin == "G"
    closed.clear()
    bench.node("good")
    bench.queue.now += 400 * SECOND
    bench.queue.flush_unschedulable_leftover()
    assert bench.parts == {"pool": ["a"]}
    bench.queue.move_all_to_active_or_backoff(extra[0].event, None, node().build())
    assert bench.parts == {"active": ["a"]}
    assert info.rejectors == {"G"}, "it counts until the next attempt"


def test_backoff_is_entered_through_the_gates_and_left_past_them() -> None:
    closed: set[str] = set()
    bench = Bench([("G", gate(closed))])
    bench.add("a")
    bench.fail("P")
    bench.node("good")
    closed.add("a")
    bench.queue.now += 5 * SECOND
    bench.queue.flush_backoff()
    assert bench.parts == {"active": ["a"]}
    bench.fail("P")
    bench.node("good")
    assert bench.get("default/a").gated


def test_a_preemptor_waits_until_its_last_victim_is_seen_to_go() -> None:
    cluster = Cluster()
    victim = pod("v").on("n").build()
    cluster.add(victim)
    preempting = Preempting(pod_lister(cluster))
    preemptor = pod("p").info()
    assert preempting.pre_enqueue(preemptor) is SUCCESS
    preempting.start(preemptor.uid)
    assert preempting.is_running(preemptor.uid)
    preempting.reach_last(preemptor.uid, key_of(victim))
    assert preempting.is_running(preemptor.uid)
    cluster.add(pod("v").on("n").terminating().build())
    assert not preempting.is_running(preemptor.uid)
    preempting.end(preemptor.uid)
    assert preempting.pre_enqueue(preemptor) is SUCCESS


def test_activate_passes_over_backoff() -> None:
    bench = Bench()
    waiting = bench.add("a")
    bench.fail("P")
    bench.node("good")
    bench.queue.activate([waiting])
    assert bench.parts == {"active": ["a"]}
    info = bench.pop()
    bench.queue.activate([waiting])
    info.unschedulable_plugins = {"P"}
    bench.queue.add_unschedulable_if_not_present(info)
    assert bench.parts == {"backoff": ["a"]}, "an event for it alone, as it was in flight"
    bench.queue.activate([pod("unknown").info()])
    assert bench.parts == {"backoff": ["a"]}


def test_updates_find_the_pod_wherever_it_is() -> None:
    bench = Bench()
    old = bench.add("a")
    new = PodInfo(replace(old.pod, spec=replace(old.pod.spec, priority=7)))
    bench.queue.update(old, new)
    assert bench.get(old.key).pod_info is new
    bench.fail("P")
    bench.queue.update(new, old)
    assert bench.get(old.key).pod_info is old
    assert bench.parts == {"pool": ["a"]}
    bench.queue.delete(old)
    assert bench.parts == {}
    bench.queue.update(old, new)
    assert bench.parts == {"active": ["a"]}, "a pod that is nowhere comes in anew"


def test_nominations_come_from_the_status_or_from_an_attempt() -> None:
    bench = Bench()
    old = bench.add("a", nominated_node_name="n1")
    nominator = bench.queue.nominator
    assert {node: [ref.key for ref in refs] for node, refs in nominator.nominated.items()} == {"n1": ["default/a"]}
    assert [info.name for info in nominated_pods(bench.queue)["n1"]] == ["a"]
    nominator.add(old, "n2")
    assert list(nominator.nominated) == ["n2"]
    other = bench.add("b")
    nominator.add(other, "n2")
    bench.queue.update(other, other)
    assert [ref.key for ref in nominator.nominated["n2"]] == ["default/a", "default/b"]
    bench.cluster.discard(type(other.pod), other.key)
    nominator.add(other, "n2")
    assert [ref.key for ref in nominator.nominated["n2"]] == ["default/a"], "a pod that is gone is not nominated"
    bench.queue.delete(old)
    assert not nominator.nominated


def test_a_nominated_pod_in_flight_counts_as_one_without_requests() -> None:
    bench = Bench()
    bench.add("a", priority=9, nominated_node_name="n1")
    bench.queue.pop()
    (stand_in,) = nominated_pods(bench.queue)["n1"]
    assert (stand_in.key, stand_in.uid, stand_in.priority) == ("default/a", "uid-a", 0)


def test_a_pod_is_not_put_back_where_its_successor_is() -> None:
    bench = Bench()
    bench.add("a")
    info = bench.pop()
    bench.add("a")
    assert not bench.queue.add_unschedulable_if_not_present(info)
    assert not bench.queue.active.is_any_in_flight
