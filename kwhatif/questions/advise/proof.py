"""The proof: the question asked again with the changes made, by the same judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.admission.new_pod import stored_pod
from kwhatif.edits.edit import SourcedEdit
from kwhatif.errors import InputError
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.advise.change import Advice, AdvisedChange, Amount, revised
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Question
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.edited import edit_session
from kwhatif.questions.session.session import Session
from kwhatif.report.decision import Decision, JudgedWorkload
from kwhatif.state.change import Upsert
from kwhatif.workloads.comparison import is_waiting


class Proof(NamedTuple):
    """The outcome for the workload with some changes."""

    #: How many of its pods find a node without evictions.
    placed: int
    #: How many find a node by evictions.
    preempting: int
    #: The desired number of pods.
    wanted: int
    decisions: tuple[Decision, ...]

    @property
    def rank(self) -> tuple[int, int]:
        """The higher, the better."""
        return self.placed + self.preempting, self.placed

    @property
    def is_whole(self) -> bool:
        """Whether every pod finds a node without evictions."""
        return self.placed == self.wanted > 0


class Proven(NamedTuple):
    """Advice, and the outcome for the workload with it."""

    advice: Advice
    proof: Proof


class Asking:
    """One workload of a question, which is asked repeatedly."""

    def __init__(self, session: Session, question: Question, workload: Applied) -> None:
        self._session = session
        self._question = question
        self._workload = workload
        self._known: dict[tuple[object, ...], Proof | None] = {}

    @property
    def asked(self) -> int:
        """How many times the question was asked."""
        return len(self._known)

    def ask(self, changes: Sequence[AdvisedChange]) -> Proof | None:
        """The outcome for the workload with these changes; None if they cannot be made."""
        key = tuple(change.key for change in changes)
        if key not in self._known:
            self._known[key] = self._ask(changes)
        return self._known[key]

    def _ask(self, changes: Sequence[AdvisedChange]) -> Proof | None:
        session, workload = self._session, self._workload
        edits = [SourcedEdit("advice", edit) for change in changes for edit in change.edits]
        if edits:
            try:
                session = edit_session(session, edits)
            except InputError:
                return None
        for change in changes:
            session = session if change.scale is None else change.scale(session)
        if any(change.revise is not None for change in changes):
            made = revised(workload.object, changes)
            if made is None:
                return None
            workload, session = _in_its_place(workload, made, session)
        applied = [workload if each is self._workload else each for each in self._question.applied]
        answer = judge(session, replace(self._question, applied=applied, explain="nothing"))
        return self._proof(answer.judged, answer.others)

    def _proof(self, judged: Iterable[JudgedWorkload], others: Iterable[Decision]) -> Proof:
        source = self._workload.source
        rows = [each for each in judged if each.row.source == source]
        decisions = [decision for each in rows for decision in each.decisions]
        if not rows:
            decisions = [decision for decision in others if decision.source in (source, None)]
        # A workload may have more pods than are judged.
        wanted = sum(each.row.replicas for each in rows) if rows else len(decisions)
        outcomes = [decision.outcome for decision in decisions]
        return Proof(outcomes.count("Placed"), outcomes.count("Preempts"), wanted, tuple(decisions))

    # --- the smallest change that is enough ----------------------------------------------------------

    def prove(self, advice: Advice) -> Proven | None:
        """The advice with as few and as small changes as are needed; None if it does not help."""
        base = self.ask(())
        if base is None:
            return None
        advice = self._enlarged(advice)
        proof = self.ask(advice.changes)
        if proof is None or proof.rank <= base.rank:
            return None
        advice = self._fewer(advice, proof)
        for place in range(len(advice.changes)):
            advice = self._smaller(advice, place, proof)
        return Proven(advice, self.ask(advice.changes) or proof)

    def _enlarged(self, advice: Advice) -> Advice:
        """Larger amounts, if what one pod needs is not enough for all, or other pods come first."""
        for place, change in enumerate(advice.changes):
            proof = self.ask(advice.changes)
            if change.amount is None or (proof is not None and proof.is_whole):
                continue
            best, best_rank = advice, proof.rank if proof is not None else (-1, -1)
            value = change.amount.value
            while value < change.amount.most:
                value = min(max(value * 2, value + change.amount.step), change.amount.most)
                more = _with(advice, place, change.amount.at(value))
                proof = self.ask(more.changes)
                if proof is not None and proof.rank > best_rank:
                    best, best_rank = more, proof.rank
                    if proof.is_whole:
                        break
            advice = best
        return advice

    def _fewer(self, advice: Advice, proof: Proof) -> Advice:
        """Without changes, or parts of changes, that are not needed."""
        for place, change in enumerate(advice.changes):
            without = advice._replace(changes=(*advice.changes[:place], *advice.changes[place + 1 :]))
            parts = change.less() if change.less is not None else ()
            for fewer in (without, *(_with(advice, place, part) for part in parts)):
                found = self.ask(fewer.changes) if fewer.changes else None
                if found is not None and found.rank >= proof.rank:
                    return self._fewer(fewer, found)
        return advice

    def _smaller(self, advice: Advice, place: int, proof: Proof) -> Advice:
        """The smallest amount that is as good, by bisection."""
        change = advice.changes[place]
        amount = change.amount
        if amount is None or not self._is_as_good(less := _less(amount), advice, place, proof):
            return advice
        low, high = 0, less
        while high - low > amount.step:
            middle = _on_step(amount, low, high)
            if self._is_as_good(middle, advice, place, proof):
                high = middle
            else:
                low = middle
        return _with(advice, place, amount.at(high))

    def _is_as_good(self, value: int, advice: Advice, place: int, proof: Proof) -> bool:
        amount = advice.changes[place].amount
        if amount is None or value <= 0:
            return False
        found = self.ask(_with(advice, place, amount.at(value)).changes)
        return found is not None and found.rank >= proof.rank


def _less(amount: Amount) -> int:
    """A little less."""
    return amount.value - amount.step


def _on_step(amount: Amount, low: int, high: int) -> int:
    """About the middle, so that the rest is a whole number of steps below the most."""
    middle = (low + high) // 2
    rounded = middle - (middle - (amount.most + 1)) % amount.step
    return rounded if low < rounded < high else middle


def _with(advice: Advice, place: int, change: AdvisedChange) -> Advice:
    return advice._replace(changes=(*advice.changes[:place], change, *advice.changes[place + 1 :]))


def _in_its_place(workload: Applied, made: object, session: Session) -> tuple[Applied, Session]:
    """The changed object instead of the original; a pending pod is pending with the change."""
    obj = workload.object
    if workload.restarted and isinstance(obj, Pod) and is_waiting(obj) and isinstance(made, Pod):
        stored = stored_pod(made, session.cluster)
        if isinstance(stored, Pod):
            state = session.state.fork()
            state.apply(Upsert(stored))
            session, made = session.after_edits(state, (), session.caveats), stored
    return replace(workload, object=made), session
