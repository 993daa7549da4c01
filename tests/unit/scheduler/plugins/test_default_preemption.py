"""The plugin: upstream's prefix, its arguments, and plugins derived from it."""

from typing import ClassVar

from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import SUCCESS, unschedulable
from kwhatif.scheduler.plugins.default_preemption import DefaultPreemption, DefaultPreemptionArgs
from kwhatif.scheduler.preemption.policy import Policy
from tests.builders import PodBuilder, node, pod, snapshot
from tests.unit.scheduler.preemption.fakes import Cpu, cycle_of

FULL = snapshot(node("n1"), pod("low").on("n1").cpu("3"))


def wants() -> PodBuilder:
    return pod("wants").cpu("2").priority(1)


def test_success_says_nothing() -> None:
    result = DefaultPreemption().post_filter(cycle_of(FULL, wants()))
    assert (result.status, result.nominated) == (SUCCESS, "n1")


def test_every_message_gets_the_prefix() -> None:
    cycle = cycle_of(FULL, wants().spec(preemption_policy="Never"))
    status = DefaultPreemption().post_filter(cycle).status
    assert status == unschedulable("preemption: not eligible due to preemptionPolicy=Never.")


def test_the_message_ends_up_in_the_event() -> None:
    profile = Profile(pre_filter=(Cpu(),), filter=(Cpu(),), post_filter=(DefaultPreemption(),))
    made = attempt(profile, wants().priority(0).info(), FULL)
    assert made.message == (
        "0/1 nodes are available: 1 Insufficient cpu. "
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )


def test_upstreams_defaults() -> None:
    assert DefaultPreemption().args == DefaultPreemptionArgs(
        min_candidate_nodes_percentage=10, min_candidate_nodes_absolute=100
    )


def test_a_plugin_with_a_policy_of_its_own() -> None:
    class Pacifist(Policy):
        def potential_victims(self, preemptor: object, info: object) -> list[object]:  # type: ignore[override]
            return []

    class Peaceful(DefaultPreemption):
        name: ClassVar[str] = "Peaceful"
        policy = Pacifist()

    assert Peaceful().post_filter(cycle_of(FULL, wants())).nominated == ""
