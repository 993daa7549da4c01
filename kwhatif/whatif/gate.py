"""`gate`: does everything schedule that is about to be applied, whom does it evict, and is that allowed?"""

from __future__ import annotations

from datetime import date

from msgspec.structs import replace

from kwhatif.model.missing import Missing
from kwhatif.model.node import Node
from kwhatif.policy import judge as policy
from kwhatif.policy.build import Rulebook
from kwhatif.policy.rules import Judged
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
    judged = [Judged(*each) for each in answer.judged]
    row = policy.judge(book, judged, labels, today=today, unknown=unknown)
    return replace(answer.report(session, "gate"), policy=row)
