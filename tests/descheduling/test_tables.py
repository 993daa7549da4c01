"""Every argument of every strategy, and what is wrong with policies, as the descheduler's own packages decide it."""

import msgspec
import pytest

from kwhatif.descheduler.attempt import DeschedulingCycle
from kwhatif.descheduler.policy import ARGUMENTS
from tests.descheduling.mutate import mutated, recorded
from tests.descheduling.play import play
from tests.descheduling.tables import Json, case_of, rows

ROWS = rows()
#: Without these a policy is refused: rows differ in their values.
_NEEDED = {
    ("HighNodeUtilization", "thresholds"),
    ("LowNodeUtilization", "targetThresholds"),
    ("LowNodeUtilization", "thresholds"),
    ("PodLifeTime", "maxPodLifeTimeSeconds"),
    ("PodLifeTime", "conditions"),
    ("PodLifeTime", "exitCodes"),
    ("PodLifeTime", "states"),
    ("RemovePodsHavingTooManyRestarts", "podRestartThreshold"),
    ("RemovePodsViolatingNodeAffinity", "nodeAffinityType"),
}


def evicted(strategy: str, args: Json) -> list[str]:
    cycle = play(case_of(strategy, args))
    assert isinstance(cycle, DeschedulingCycle), cycle
    assert not any(run.error for run in cycle.plugins)
    return [attempt.pod for attempt in cycle.attempts if attempt.by is None]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['strategy']} {row['args']}")
def test_row(row: Json) -> None:
    ways = row["evicted"]
    made = evicted(row["strategy"], row["args"])
    assert made in ways if len(ways) == 1 else sorted(made) in map(sorted, ways)


@pytest.mark.parametrize("strategy", ARGUMENTS)
def test_every_argument_makes_a_difference(strategy: str) -> None:
    known = {field.encode_name for field in msgspec.structs.fields(ARGUMENTS[strategy])} - {"apiVersion", "kind"}
    decided = set()
    for row in ROWS:
        if row["strategy"] != strategy:
            continue
        for name in row["args"]:
            if (strategy, name) in _NEEDED:
                others = [other for other in ROWS if other["strategy"] == strategy and name in other["args"]]
                differs = any(sorted(other["evicted"][0]) != sorted(row["evicted"][0]) for other in others)
            else:
                without = {key: value for key, value in row["args"].items() if key != name}
                differs = sorted(evicted(strategy, without)) != sorted(row["evicted"][0])
            if differs:
                decided.add(name)
    assert decided == known


def test_wrong_policies_are_refused_in_the_same_words() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    refused = 0
    for row in recorded():
        answer = play({"now": "2026-11-20T12:00:00Z", "policy": row["policy"], "cluster": [namespace]})
        if row["error"] is None:
            assert isinstance(answer, DeschedulingCycle), (row["policy"], answer)
        else:
            refused += 1
            assert isinstance(answer, str), row
            assert row["error"] in answer
    assert refused > 100


@pytest.mark.parametrize("number", range(100))
def test_other_policies_are_refused_or_judged(number: int) -> None:
    answer = play(mutated(f"law/{number}"))
    assert isinstance(answer, DeschedulingCycle) or answer.startswith("policy.yaml")
