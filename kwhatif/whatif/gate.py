"""`gate`: if all of this is applied, does everything schedule, whom does it evict, which budgets break, and may it?"""

from __future__ import annotations

from datetime import date

from msgspec.structs import replace

from kwhatif.model.missing import Missing
from kwhatif.model.node import Node
from kwhatif.policy import judge as policy
from kwhatif.policy.build import Rulebook
from kwhatif.report import Report
from kwhatif.whatif.judge import Question, judge
from kwhatif.whatif.session import Session


def gate(session: Session, question: Question, book: Rulebook, *, today: date, strict: bool = False) -> Report:
    """The answer, and what the policy says to it.

    Args:
        session: the cluster.
        question: what is applied.
        book: the policy.
        today: tells which exceptions of the policy have expired.
        strict: whether missing information is a failure.
    """
    answer = judge(session, question)
    labels = {node.metadata.name: node.metadata.labels for node in answer.cluster.all(Node).values()}
    unknown = [str(caveat) for caveat in answer.caveats if isinstance(caveat, Missing)] if strict else []
    row = policy.judge(book, answer.judged, labels, today=today, unknown=unknown)
    return replace(answer.report(session, "gate"), policy=row)
