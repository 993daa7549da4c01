"""SchedulingGates."""

from kwhatif.scheduler.framework.status import SUCCESS, Code
from kwhatif.scheduler.plugins.scheduling_gates import SchedulingGates
from tests.builders import pod, snapshot


def test_a_pod_without_gates_enters_the_queue() -> None:
    assert SchedulingGates().pre_enqueue(pod().info(), snapshot()) is SUCCESS


def test_a_gated_pod_waits_and_names_its_gates_in_the_order_of_the_spec() -> None:
    status = SchedulingGates().pre_enqueue(pod().gates("zeta", "example.com/alpha").info(), snapshot())
    assert status.code is Code.UNRESOLVABLE
    assert status.message == "waiting for scheduling gates: [zeta example.com/alpha]"


def test_one_gate_stands_in_brackets_too() -> None:
    assert (
        SchedulingGates().pre_enqueue(pod().gates("a").info(), snapshot()).message
        == "waiting for scheduling gates: [a]"
    )
