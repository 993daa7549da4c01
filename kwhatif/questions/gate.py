"""`gate`: does everything in the manifests schedule, what does it evict, and is that allowed?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from msgspec.structs import replace

from kwhatif.kube.model.caveat import merged
from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, Cluster
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.policy import PriorityClass
from kwhatif.kube.model.workload import Namespace
from kwhatif.policy import judge as policy
from kwhatif.policy.aftermath import Audited, Fragile
from kwhatif.policy.build import Rulebook
from kwhatif.policy.caveats import max_age
from kwhatif.questions.advise.question import Capture, Limits, advise
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Question
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.aftermath import aftermath
from kwhatif.report import Report


def gate(  # noqa: PLR0913 - all that the policy looks at
    session: Session,
    question: Question,
    book: Rulebook,
    *,
    today: date,
    strict: bool = False,
    fixes: int = 0,
    fragile: Sequence[Fragile] = (),
    audited: Audited = Audited(),  # noqa: B008 - frozen
) -> Report:
    """The answer, with the policy's findings.

    Args:
        session: the cluster.
        question: what is applied.
        book: the policy.
        today: decides which exceptions of the policy have expired.
        strict: whether missing information is a failure.
        fixes: the number of workloads that do not fit to find the smallest fix for.
        fragile: what the rule `survives` found.
        audited: what the rule `audit` found.
    """
    capture = Capture(session)
    question = replace(question, max_age=max_age(book.policy), explain=capture if fixes else None)
    answer = judge(session, replace(question, reacts=True))
    story, caveats = aftermath(session, question.applied) if book.policy.aftermath else (None, ())
    answer.caveats.update(dict.fromkeys(caveats))
    row = policy.judge(
        book,
        answer.judged,
        {node.metadata.name: node.metadata.labels for node in answer.cluster.all(Node).values()},
        today=today,
        reacted=answer.reacted,
        caveats=merged(answer.caveats),
        strict=strict,
        known=_known(session.cluster, answer.cluster),
        story=story,
        fragile=fragile,
        audited=audited,
    )
    advice = advise(session, question, answer, capture.scenes, Limits(1, fixes, evicting=False)) if fixes else None
    return replace(answer.report(session, "gate"), policy=row, story=story, advise=advice)


def _known(read: Cluster, applied: Cluster) -> policy.KnownNames:
    """Names that the policy can mean: what the cluster has, and what the manifests bring."""
    classes = applied.all(PriorityClass)
    return policy.KnownNames(
        namespaces=applied.all(Namespace) if read.all(Namespace) else None,
        priority_classes=classes if len(classes) > len(SYSTEM_PRIORITY_CLASSES) else None,
    )
