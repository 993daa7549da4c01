"""Placing many pods the plain way: a whole attempt for each, on one snapshot that is changed in place.

Nothing is kept from one pod to the next, not even the index of pods or what was found on a node before;
`kwhatif.whatif.placing` must come to the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.framework.attempt import Attempt, attempt
from kwhatif.framework.profile import Profile
from kwhatif.framework.reference import use_reference
from kwhatif.framework.status import Verdict
from kwhatif.model.pod import Pod
from kwhatif.model.policy import PodDisruptionBudget
from kwhatif.preemption.candidate import Candidate, Preemption
from kwhatif.state.change import Bind, Delete, Evict, Nominate, Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State, _Built


class Plain(NamedTuple):
    """What became of one pod."""

    pod: str
    outcome: str
    node: str | None
    ties: tuple[str, ...]
    scores: dict[str, int]
    score: int
    message: str
    victims: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = ()
    budgets: tuple[tuple[str, int, int], ...] = ()
    cleared: tuple[str, ...] = ()
    reprieves: tuple[tuple[str, Verdict | None], ...] = ()


def place(profile: Profile, snapshot: State, pods: Sequence[PodInfo]) -> list[Plain]:
    """Place all pods; the snapshot is changed. Within an attempt, too, all fast paths are off."""
    use_reference(on=True)
    try:
        return _place(profile, snapshot, pods)
    finally:
        use_reference(on=False)


def _place(profile: Profile, snapshot: State, pods: Sequence[PodInfo]) -> list[Plain]:
    placed = []
    for pod in sorted(pods, key=lambda pod: -pod.priority):
        snapshot._built, snapshot._owns_built = _Built(), True
        for node in snapshot.nodes:
            node.memos = None
        snapshot.apply(Delete(Pod, pod.key))
        result = attempt(profile, pod, snapshot)
        plain = plain_of(result)
        if plain.node is None:
            nominated = result.post_filter.nominated if result.post_filter else None
            kept = pod.pod.status.nominated_node_name if nominated is None else nominated
            waiting = replace(pod.pod, spec=replace(pod.pod.spec, node_name=""))
            snapshot.apply(Upsert(waiting), Nominate(pod.key, None if result.gated else kept))
        else:
            settle(result, plain.node, snapshot)
        placed.append(plain)
    return placed


def plain_of(result: Attempt) -> Plain:
    pod, scores = result.cycle.pod.key, result.scores
    if result.gated:
        return Plain(pod, "Gated", None, (), {}, 0, "")
    if scores is not None:
        ties = tuple(scores.best())
        place = [node.name for node in scores.nodes].index(ties[0])
        by_plugin = {name: column[place] for name, column in scores.by_plugin.items()}
        return Plain(pod, "Placed", ties[0], ties, by_plugin, scores.total[place], "")
    found = preemption_of(result)
    if found is None or found.node is None:
        return Plain(pod, "Unschedulable", None, (), {}, 0, result.message)
    return preempting(pod, result, found, found.candidates[0])


def preemption_of(result: Attempt) -> Preemption | None:
    outcome = result.post_filter.outcome if result.post_filter else None
    return outcome if isinstance(outcome, Preemption) else None


def preempting(pod: str, result: Attempt, found: Preemption, chosen: Candidate) -> Plain:
    return Plain(
        pod,
        "Preempts",
        found.node,
        found.ties,
        {},
        0,
        result.message,
        tuple((victim.pod.key, victim.budgets, victim.violates) for victim in chosen.victims),
        tuple((use.name, use.before, use.after) for use in chosen.budgets),
        tuple(other.key for other in found.cleared_nominations),
        tuple((reprieve.pod.key, reprieve.objection) for reprieve in chosen.reprieves),
    )


def settle(result: Attempt, node: str, snapshot: State) -> None:
    """The victims go, and the pod is on its node."""
    found = preemption_of(result)
    if found is not None and found.node is not None:
        for victim in found.candidates[0].victims:
            snapshot.apply(Evict(victim.pod.key))
            for name in victim.budgets if not victim.pod.terminating else ():
                spend(name, snapshot)
        for other in found.cleared_nominations:
            snapshot.apply(Nominate(other.key, None))
    reserved = result.cycle.reserve(snapshot.by_name[node])
    snapshot.apply(Bind(result.cycle.pod.pod, node, reserved))


def spend(name: str, snapshot: State) -> None:
    budget = snapshot.cluster.get(PodDisruptionBudget, name)
    assert budget is not None
    if budget.status is not None and budget.status.disruptions_allowed > 0:
        status = replace(budget.status, disruptions_allowed=budget.status.disruptions_allowed - 1)
        snapshot.apply(Upsert(replace(budget, status=status)))
