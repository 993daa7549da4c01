"""Placing many pods the plain way: a whole attempt for each, on one snapshot that is changed in place.

Nothing is kept from one pod to the next, not even the index of pods or what was found on a node before, but what
OpportunisticBatching keeps; `kwhatif.scheduler.batch` must come to the same.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.scheduler.framework.attempt import Attempt, attempt, run_pre_enqueue
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.filters import run_filters
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.reference import use_reference
from kwhatif.scheduler.framework.signers import PodSignature, sign_pod
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.preemption.candidate import Candidate, Preemption
from kwhatif.state.change import Bind, Delete, Evict, Nominate, Upsert
from kwhatif.state.pod_index import PodIndex
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


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
    ranking = Ranking(profile)
    for pod in sorted(pods, key=lambda pod: -pod.priority):
        snapshot._pods.index, snapshot._pods._owns_index = PodIndex(snapshot.pods), True
        for node in snapshot.nodes:
            node.memos = None
        snapshot.apply(Delete(Pod, pod.key))
        hint, ties = ranking.hint(pod, snapshot)
        result = attempt(profile, pod, snapshot)
        plain = plain_of(result)
        if hint and plain.node == hint:
            plain = plain._replace(ties=ties)
        elif hint and attempt(profile, pod, snapshot, hint).cycle.feasible == [snapshot.by_name[hint]]:
            result = attempt(profile, pod, snapshot, hint)
            plain = plain_of(result)._replace(ties=ties, scores=ranking.scores, score=ranking.score)
        ranking.note(result, plain.node, hint)
        if plain.node is None:
            nominated = result.post_filter.nominated if result.post_filter else None
            kept = pod.pod.status.nominated_node_name if nominated is None else nominated
            waiting = replace(pod.pod, spec=replace(pod.pod.spec, node_name=""))
            snapshot.apply(Upsert(waiting), Nominate(pod.key, None if result.gated else kept))
        else:
            settle(result, plain.node, snapshot)
        placed.append(plain)
    return placed


class Ranking:
    """What the last cycle leaves to the next one (`pkg/scheduler/framework/runtime/batch.go`), written down eagerly."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.signature: PodSignature | None = None
        self.others: list[tuple[int, str, dict[str, int]]] = []
        #: Of the node that was hinted.
        self.score = 0
        self.scores: dict[str, int] = {}
        #: Of the last cycle, if it found a node: its signature, and the node.
        self.last = ""
        self.asked: PodSignature | None = None

    def hint(self, pod: PodInfo, snapshot: State) -> tuple[str, tuple[str, ...]]:
        """The node to try first, and all that are as good."""
        self.asked = sign_pod(self.profile, pod, snapshot)
        is_next = self.last and self.asked is not None and self.asked == self.signature and self.others
        if run_pre_enqueue(self.profile, pod, snapshot) or not is_next or not self.rejects(pod, snapshot):
            return "", ()
        least, name, self.scores = self.others[0]
        self.score = -least
        ties = tuple(sorted(other for total, other, _ in self.others if total == least))
        del self.others[0]
        return name, ties

    def rejects(self, pod: PodInfo, snapshot: State) -> bool:
        """Whether the node of the last pod has no room for another one."""
        cycle = Cycle(self.profile, pod, snapshot)
        try:
            if not cycle.pre_filter():
                return False
        except CycleError:
            return False
        objection = run_filters(cycle.filters, snapshot.by_name[self.last])
        return objection is not None and objection.status.rejected

    def note(self, result: Attempt, node: str | None, hint: str) -> None:
        """The cycle has come to that."""
        if result.gated:
            return  # it was none
        self.last = node if node is not None and result.scores is not None else ""
        if self.last and self.last != hint and result.scores is not None:
            scores = result.scores
            self.others = sorted(
                (-scores.total[place], info.name, {name: row[place] for name, row in scores.by_plugin.items()})
                for place, info in enumerate(scores.nodes)
                if info.name != node
            )
            self.signature = self.asked


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
