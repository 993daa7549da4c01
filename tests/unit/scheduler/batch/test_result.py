"""What whole attempts come to, and a nominated pod's own."""

import pytest

from kwhatif.scheduler.batch.batch import attempt_nominated, without_nomination
from kwhatif.scheduler.batch.result import result_of
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.cycle import Cycle
from tests.builders import HOSTNAME, PodBuilder, affinity_term, node, on_name, pod, selector, snapshot

FULL = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
SMALL = node("small").allocatable(cpu="2", pods="9")
CORDONED = node("cordoned").allocatable(cpu="9", pods="9").cordoned()
LOW = pod("low").cpu("2").on("small")


@pytest.mark.parametrize(
    ("candidate", "outcome", "where", "rejectors", "victims"),
    [
        (pod().cpu("1"), "Placed", "small", (), []),
        (pod().gates("later"), "Gated", None, ("SchedulingGates",), []),
        (pod().cpu("3"), "Unschedulable", None, ("NodeResourcesFit", "NodeUnschedulable"), []),
    ],
    ids=["placed", "gated", "unschedulable"],
)
def test_outcomes(
    candidate: PodBuilder, outcome: str, where: str | None, rejectors: tuple[str, ...], victims: list[str]
) -> None:
    result = result_of(attempt(default_profile(), candidate.info(), snapshot(SMALL, CORDONED)))
    assert (result.outcome, result.node, result.rejectors) == (outcome, where, rejectors)
    assert [victim.pod.name for victim in result.victims] == victims
    assert result.ties == ((where,) if where else ())
    assert result.settled.whole is None


def test_a_preempting_pod_is_nominated() -> None:
    result = result_of(attempt(default_profile(), pod().cpu("1").priority(5).info(), snapshot(SMALL, CORDONED, LOW)))
    assert (result.outcome, result.node, result.nominated) == ("Preempts", "small", "small")
    assert [victim.pod.name for victim in result.victims] == ["low"]
    assert result.message.startswith(FULL)
    again = result.elsewhere("small")
    assert again is not None
    assert (again.node, again.victims) == ("small", result.victims)


# --- a nominated pod ---------------------------------------------------------------------------------------


def nominated(candidate: PodBuilder, *others: PodBuilder, scored: bool = True) -> tuple[str, str | None] | None:
    """Outcome and node, where no other node is feasible."""
    info = candidate.info()
    cycle = Cycle(default_profile(), without_nomination(info), snapshot(SMALL, CORDONED, candidate, *others))
    cycle.pre_filter()
    result = attempt_nominated(cycle, info, None, score_single_node=scored)
    return None if result is None else (result.outcome, result.node)


AFFINE = affinity_term(HOSTNAME, selector(app="db"))
ASKED: dict[str, tuple[PodBuilder, list[PodBuilder], tuple[str, str] | None]] = {
    "it fits": (pod("p").cpu("1").nominated("small"), [], ("Placed", "small")),
    "another nomination of a higher priority leaves no room": (
        pod("p").cpu("1").nominated("small"),
        [pod("q").cpu("2").priority(9).nominated("small")],
        None,
    ),
    "one of a lower priority does": (
        pod("p").cpu("1").priority(5).nominated("small"),
        [pod("q").cpu("2").nominated("small")],
        ("Placed", "small"),
    ),
    "it does not fit": (pod("p").cpu("3").nominated("small"), [], None),
    "the node is gone": (pod("p").nominated("gone"), [], None),
    "PreFilter narrows the search": (pod("p").node_affinity(on_name("small")).nominated("small"), [], None),
    "its own affinity": (pod("p").labels(app="db").pod_affinity(AFFINE).nominated("small"), [], None),
}


@pytest.mark.parametrize("scored", [True, False])
@pytest.mark.parametrize(("candidate", "others", "expected"), ASKED.values(), ids=ASKED)
def test_a_nominated_pod(
    candidate: PodBuilder, others: list[PodBuilder], expected: tuple[str, str] | None, scored: bool
) -> None:
    """Where the batch cannot say, a whole attempt has to."""
    assert nominated(candidate, *others, scored=scored) == expected


def test_without_its_nomination_it_is_nobody() -> None:
    info = without_nomination(pod("p").nominated("small").info())
    assert (info.pod.status.nominated_node_name, info.uid) == ("", "-")
