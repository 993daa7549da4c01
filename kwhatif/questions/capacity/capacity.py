"""`kwhatif capacity`: how many more of these pods fit, where, and what stops the next one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.autoscaler.loop import AutoscalerLoop
from kwhatif.edits.edit import SourcedEdit
from kwhatif.edits.made import add_nodes
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import CloudCapacityUnknown, PodsLeftByAutoscaler
from kwhatif.questions.capacity.filling import CapacityCount, CountedPart, Fit
from kwhatif.questions.judging.question import as_unschedulable
from kwhatif.questions.manifests.applied import Applied, not_asked
from kwhatif.questions.manifests.edited import edit_session
from kwhatif.questions.rows import queued_row
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.report.capacity import CapacityRow, FitRow, GrownRow, NodesToAdd, PeakRow, PreemptingRow, TargetRow
from kwhatif.report.decision import Decision
from kwhatif.report.edit_notes import EditNote
from kwhatif.state.change import Upsert
from kwhatif.state.state import State

#: More nodes than this are not tried.
MOST_NODES = 5_000


class CapacityQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What is counted, and how far."""

    parts: Sequence[CountedPart]
    #: Everything that was given, workloads and others.
    applied: Sequence[Applied] = ()
    #: The most sets to count.
    limit: int
    #: Whether pods may evict others, once no more fit without that.
    evicts: bool = False
    #: The number of sets that are to fit.
    target: int | None = None
    #: How many nodes like this one it takes to reach the target.
    add_nodes_like: str | None = None
    #: How the session's cluster is at the peak of all workloads; None: it is as it was read.
    peak: PeakRow | None = None
    caveats: Sequence[Caveat] = ()


def ask_capacity(session: Session, question: CapacityQuestion) -> Report:
    """Fill the cluster, on a fork: the session stays as it is.

    Raises:
        InputError: there is no node like which others could be added.
    """
    filled = _Filled(session, question)
    added = _added(session, question, filled) if question.add_nodes_like is not None else None
    grown = None if session.scaling is None else grow(session, filled.filling, filled.fit, question.limit)
    decisions = [*filled.decisions, *(added.filled.decisions if added else ())]
    decisions = decisions if grown is None else _stop(grown.fit)
    row = CapacityRow(
        limit=question.limit,
        fit=filled.fit.row,
        peak=question.peak,
        preempting=filled.preempting,
        added_nodes=added.row if added else None,
        grown=grown.row if grown else None,
    )
    if question.target is not None and row.best is not None:
        row = replace(row, target=_target(question.target, row.best))
    parts = [part.applied for part in question.parts]
    asked = not_asked(parts, session.cluster, session.cluster, decisions)
    caveats = (*session.caveats, *question.caveats, *filled.filling.left_out(decisions), *asked, *session.remarks())
    caveats = caveats if grown is None else (*caveats, *grown.caveats)
    report = session.report("capacity", decisions, dict.fromkeys(caveats))
    return replace(
        report,
        capacity=row,
        queued_before=tuple(map(queued_row, {each.pod: each for each in filled.filling.earlier}.values())),
    )


class _Filled:
    """A cluster that is filled as the question asks."""

    def __init__(self, session: Session, question: CapacityQuestion) -> None:
        self.filling = CapacityCount(session, question.parts, question.applied)
        self.fit = self.filling.fill(question.limit)
        self.decisions: list[Decision] = _stop(self.fit)
        self.preempting: PreemptingRow | None = None
        if question.evicts:
            self._evict(question.limit)

    def _evict(self, limit: int) -> None:
        more = self.filling.fill(limit, evicts=True)
        evicting = self.filling.evicting
        victims = list(self.filling.victims)
        self.preempting = PreemptingRow(
            fit=more.row,
            evicting=len(evicting),
            victims=tuple(pod for pod, _ in victims),
            violations=tuple(sorted({budget for _, broken in victims for budget in broken})),
        )
        self.decisions += [*evicting, *_stop(more)]

    @property
    def best(self) -> FitRow:
        """What fits, with eviction if that is allowed."""
        return self.preempting.fit if self.preempting else self.fit.row


def _stop(fit: Fit) -> list[Decision]:
    return [] if fit.stop is None else [fit.stop]


def _target(wanted: int, fit: FitRow) -> TargetRow:
    missing = max(0, wanted - fit.sets)
    lacking: dict[str, int] = {}
    for counted in fit.counted if missing else ():
        for name, amount in counted.requests.items():
            lacking[name] = lacking.get(name, 0) + amount * counted.times * missing
    return TargetRow(wanted=wanted, met=not missing, missing=missing, lacking=lacking)


# --- more nodes --------------------------------------------------------------------------------------------------


class _Added(NamedTuple):
    """The answer with enough new nodes."""

    row: NodesToAdd
    filled: _Filled


def _added(session: Session, question: CapacityQuestion, now: _Filled) -> _Added:
    """The fewest nodes that reach the target: evaluated with that many, and with one fewer."""
    like = question.add_nodes_like or ""
    asked: dict[int, _Filled] = {0: now}
    remarks: tuple[EditNote, ...] = ()

    def fill(nodes: int) -> _Filled:
        nonlocal remarks
        if nodes not in asked:
            edited = edit_session(session, [SourcedEdit("--add-nodes-like", add_nodes(like, nodes))])
            remarks = edited.changes[-1].remarks
            asked[nodes] = _Filled(edited, question)
        return asked[nodes]

    fill(1)  # refuses a node that does not exist
    limit = _most_nodes(question.limit, now.best)
    enough = fewest(lambda nodes: fill(nodes).best.sets, question.limit, limit)
    shown = fill(limit if enough is None else enough)
    row = NodesToAdd(
        like=like,
        nodes=enough,
        edit=add_nodes(like, enough).text if enough else "",
        fit=shown.best,
        fewer=fill(enough - 1).best.sets if enough else None,
        limit=limit,
        remarks=remarks,
    )
    return _Added(row, shown)


def _most_nodes(target: int, now: FitRow) -> int:
    """The most nodes to try: one for each missing pod; none if no node would take the next pod."""
    if now.stop is not None and now.stop.outcome in ("Gated", "Ignored", "Denied"):
        return 0
    pods = sum(counted.times for counted in now.counted)
    return min(MOST_NODES, (target - now.sets) * pods)


def fewest(sets: Callable[[int], int], target: int, limit: int) -> int | None:
    """The fewest nodes with which the target fits; None: `limit` are not enough.

    It guesses by what each node added so far, and by halving, in turn. The result and one fewer were both tried.
    """
    low, high, by_halves = 0, limit + 1, False
    if sets(0) >= target:
        return 0
    while high - low > 1:
        gained = sets(low) - sets(0)
        if low == 0:
            guess = 1
        elif by_halves or not gained:
            guess = (low + high) // 2 if high <= limit else low * 2
        else:
            guess = low + math.ceil((target - sets(low)) * low / gained)
        guess = min(max(guess, low + 1), high - 1)
        by_halves = low > 0 and not by_halves
        if sets(guess) >= target:
            high = guess
        else:
            low = guess
    return high if high <= limit else None


#: The most rounds of the autoscaler.
_MOST_ROUNDS = 100


class Grown(NamedTuple):
    """The answer with the nodes that the autoscaler added."""

    row: GrownRow
    fit: Fit
    caveats: tuple[Caveat, ...]


def grow(session: Session, filling: CapacityCount, fit: Fit, limit: int) -> Grown:
    """Continue when the next pod finds no node: all missing pods wait, and the autoscaler adds nodes for them.

    A pod that could evict others waits, too: here only pods count that fit beside all running ones. (In a cluster it
    evicts them, and their replacements wait for the nodes.)

    Args:
        session: with its autoscaler.
        filling: filled without new nodes.
        fit: the result without new nodes.
        limit: the most sets to count.
    """
    scaling = session.scaling
    assert scaling is not None, "it was asked for"
    loop, refused = AutoscalerLoop(scaling.autoscaler), None
    added: Counter[str] = Counter()
    left: tuple[Caveat, ...] = ()
    for _ in range(_MOST_ROUNDS):
        stop = fit.row.stop
        if stop is None or stop.outcome not in ("Unschedulable", "Preempts"):
            break
        loop, found = loop.look(_waiting(filling, limit), session.profiles, scaling.at)
        if not found.nodes:
            refused = next((row for row in found.round.refused if row.pod == stop.pod), None)
            if refused is None and added:
                left = (PodsLeftByAutoscaler(pods=(stop.pod,)),)
            break
        added.update(node.group for node in found.nodes)
        filling.come(found.nodes)
        loop = replace(loop, autoscaler=loop.autoscaler.with_nodes(found.nodes))
        before = _bound(filling.state)
        fit = filling.fill(limit)
        filling.end()
        if _bound(filling.state) == before and not fit.row.gangs:
            left = (PodsLeftByAutoscaler(pods=(stop.pod,)),)
            break
    row = GrownRow(
        autoscaler=scaling.autoscaler.name,
        at=scaling.at,
        fit=fit.row,
        nodes=dict(sorted(added.items())),
        unbounded=tuple(name for name in sorted(added) if not loop.autoscaler.is_bounded(name, filling.state)),
        refused=refused,
    )
    caveats = (*scaling.caveats, *loop.caveats, *left, *((CloudCapacityUnknown(),) if added else ()))
    return Grown(row, fit, caveats)


def _waiting(filling: CapacityCount, limit: int) -> State:
    """A fork of the cluster in which the pods that are missing wait for a node."""
    state = filling.state.fork()
    for pod in filling.ahead(limit):
        state.apply(Upsert(as_unschedulable(pod)))
    return state


def _bound(state: State) -> int:
    return len(state.pods) - len(state.pending)
