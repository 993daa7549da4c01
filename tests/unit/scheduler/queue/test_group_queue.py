"""Groups of pods in the queue: one entity each, its order, its gate and its backoff."""

from __future__ import annotations

import pytest

from kwhatif.kube.gates import GROUPS_GATE
from kwhatif.kube.model.meta import SECOND
from kwhatif.scheduler.framework.hints import registrations
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import Code
from kwhatif.scheduler.plugins.gang_scheduling import GangScheduling
from kwhatif.scheduler.queue.group_queue import GroupSchedulingQueue
from kwhatif.scheduler.queue.hinting import QueueProfile
from kwhatif.scheduler.queue.queued_pod import QueuedPodGroupInfo, QueuedPodInfo
from kwhatif.state.change import SetFacts, Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from tests.builders import snapshot
from tests.unit.scheduler.groups import group, member

SCHEDULER = "default-scheduler"


class Bench:
    """A queue with GangScheduling, whose pods and groups come one a second."""

    def __init__(self) -> None:
        self.state: State = snapshot()
        cluster = self.state.cluster
        self.state.apply(SetFacts.of(cluster, gates=frozenset((GROUPS_GATE,)), minor=37))
        plugin = GangScheduling()
        hints = registrations(Profile(pre_enqueue=(plugin,)))
        checks = [(plugin.name, lambda pod: plugin.pre_enqueue(pod, self.state))]
        self.queue = GroupSchedulingQueue({SCHEDULER: QueueProfile(hints, checks)}, cluster)

    def group(self, name: str, least: int | None = 2, priority: int = 0) -> None:
        made = group(name, least, priority=priority)
        self.state.apply(Upsert(made))
        self.queue.put_group(made)

    def pod(self, name: str, of: str = "", priority: int = 0) -> PodInfo:
        built = member(name, of) if of else member(name, "").spec(scheduling_group=None)
        info = built.priority(priority).spec(scheduler_name=SCHEDULER).meta(uid=name).info()
        self.queue.now += SECOND
        self.state.apply(Upsert(info.pod))
        self.queue.add(info)
        return info

    def pop(self) -> str:
        """The name of the pod, or the names of the group's pods, in the order in which they are tried."""
        found = self.queue.pop_entity()
        if isinstance(found, QueuedPodInfo):
            return found.pod_info.name
        return "" if found is None else " ".join(info.pod_info.name for info in found.in_order)

    def fail(self) -> QueuedPodGroupInfo:
        """The next group is tried in vain."""
        found = self.queue.pop_entity()
        assert isinstance(found, QueuedPodGroupInfo)
        for info in found.in_order:
            info.unschedulable_plugins = {"P"}
            self.queue.add_unschedulable_if_not_present(info)
        self.queue.add_attempted_group(found, Code.UNSCHEDULABLE)
        return found


def test_a_group_has_its_own_priority_and_the_time_of_its_first_pod() -> None:
    bench = Bench()
    bench.group("late", 2)
    bench.group("high", 1, priority=5)
    bench.pod("single")
    bench.pod("late-0", "late", priority=9)
    bench.pod("high-0", "high", priority=1)
    bench.pod("other")
    bench.pod("late-1", "late", priority=9)
    assert [bench.pop() for _ in range(5)] == ["high-0", "single", "late-0 late-1", "other", ""]


def test_members_are_tried_by_priority_then_attempts_then_time_then_name() -> None:
    bench = Bench()
    bench.group("g", 4)
    for name, priority in (("d", 0), ("c", 0), ("a", 0), ("b", 7)):
        bench.pod(name, "g", priority)
    record = bench.queue.group("default/g")
    assert record is not None
    record.members["default/a"].attempts = 2
    record.members["default/c"].timestamp = record.members["default/d"].timestamp
    assert bench.pop() == "b a c d"


@pytest.mark.parametrize(
    ("least", "pods", "popped"), [(2, 1, ""), (2, 2, "g-0 g-1"), (2, 3, "g-0 g-1 g-2"), (None, 1, "g-0")]
)
def test_a_gang_waits_until_enough_pods_are_there(least: int | None, pods: int, popped: str) -> None:
    bench = Bench()
    bench.group("g", least)
    for number in range(pods):
        bench.pod(f"g-{number}", "g")
    assert bench.pop() == popped


def test_pods_wait_for_their_group() -> None:
    bench = Bench()
    for number in range(2):
        bench.pod(f"g-{number}", "g")
    assert bench.pop() == ""
    bench.group("g", 2)
    assert bench.pop() == "g-0 g-1"


def test_without_its_group_the_pods_wait_again() -> None:
    bench = Bench()
    bench.group("g", 1)
    bench.pod("g-0", "g")
    bench.queue.drop_group("default/g")
    assert bench.pop() == ""
    assert bench.queue.get("default/g-0") is not None


@pytest.mark.parametrize(
    ("pods", "failures", "seconds"),
    [(1, 1, 1), (1, 3, 4), (1, 5, 10), (4, 1, 1), (4, 3, 4), (4, 5, 16), (4, 6, 20), (9, 6, 30)],
)
def test_of_a_group_only_the_longest_backoff_grows_with_its_size(pods: int, failures: int, seconds: int) -> None:
    bench = Bench()
    bench.group("g", pods)
    for number in range(pods):
        bench.pod(f"g-{number}", "g")
    for failure in range(failures):
        record = bench.fail()
        failed_at = bench.queue.now
        if failure < failures - 1:
            bench.queue.now += 3600 * SECOND
            bench.queue.flush_backoff()
    backing_off = bench.queue.backoff.is_backing_off
    assert backing_off(record, failed_at + seconds * SECOND)
    assert not backing_off(record, failed_at + (seconds + 1) * SECOND)


def test_a_group_that_failed_waits_its_backoff_out_though_nothing_else_waits() -> None:
    bench = Bench()
    bench.group("g", 2)
    for number in range(2):
        bench.pod(f"g-{number}", "g")
    bench.fail()
    assert bench.pop() == ""
    bench.queue.now += 2 * SECOND
    bench.queue.flush_backoff()
    assert bench.pop() == "g-0 g-1"
