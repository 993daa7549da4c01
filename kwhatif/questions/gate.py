"""`gate`: does everything in the manifests schedule, what does it evict, is that allowed, and what follows?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.new_objects import check_workload
from kwhatif.edits.edit import Apply, SourcedEdit
from kwhatif.kube.model.caveat import Caveat, merged
from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, Cluster
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PriorityClass
from kwhatif.kube.model.workload import Namespace
from kwhatif.policy import judge as policy
from kwhatif.policy.aftermath import Audited, Fragile
from kwhatif.policy.build import Rulebook
from kwhatif.policy.rules import max_age
from kwhatif.questions.advise.advisor import Capture, Limits, advise
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Question
from kwhatif.questions.manifests.applied import Applied, in_phases
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.simulate import played
from kwhatif.report import Report
from kwhatif.report.story import Story
from kwhatif.simulation.parameters import Parameters


def _is_refused(obj: Any, cluster: Cluster) -> bool:
    """Whether the API server refuses the workload; for a pod this shows when it is created."""
    return not isinstance(obj, Pod) and check_workload(obj, cluster) is not None


def aftermath(session: Session, applied: Sequence[Applied]) -> tuple[Story, Iterable[Caveat]]:
    """The story of applying them, and its caveats; objects that the API server refuses are left out.

    Helm hooks that end are left out.

    Objects that are asked for by name are already in the cluster: then nothing is applied, and pending pods are tried.

    Raises:
        InputError: an object cannot be applied.
    """
    new = [each for each in in_phases(applied).staying if not each.restarted]
    around = tuple(each.object for each in new if not each.is_workload)
    namespaces = {obj.metadata.name for obj in around if isinstance(obj, Namespace)}
    workloads = tuple(
        each.object
        for each in new
        if each.is_workload
        and (each.object.metadata.namespace in namespaces or not _is_refused(each.object, session.cluster))
    )
    applies = [Apply(text="apply manifests", objects=objects) for objects in (around, workloads) if objects]
    return played(session, [SourcedEdit("manifests", each) for each in applies], Parameters())


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
    question = replace(question, max_age=max_age(book.policy))
    question = capture.of(question) if fixes else question
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
