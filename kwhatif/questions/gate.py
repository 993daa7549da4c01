"""`gate`: does everything in the manifests schedule, what does it evict, is that allowed, and what follows?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec.structs import replace

from kwhatif.admission.new_objects import check_workload
from kwhatif.edits.edit import Apply, SourcedEdit
from kwhatif.errors import InputError
from kwhatif.kube.model.caveat import Caveat, merged
from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, Cluster, KubernetesObject
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PriorityClass
from kwhatif.kube.model.workload import Namespace
from kwhatif.policy import judge as policy
from kwhatif.policy.build import Rulebook
from kwhatif.policy.rules import MessageOf, max_age
from kwhatif.policy.violations import Audited, Fragile
from kwhatif.questions.advise.advisor import Limits, advise, with_attempts
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Question
from kwhatif.questions.manifests.applied import Applied, in_phases
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.simulate import played
from kwhatif.report import Report
from kwhatif.report.story import Story
from kwhatif.simulation.parameters import Parameters

if TYPE_CHECKING:
    from kwhatif.questions.story.settled_cluster import Outcome, S, ScenarioPlayer


def _is_refused(obj: Any, cluster: Cluster) -> bool:
    """Whether the API server refuses the workload; for a pod this shows when it is created."""
    return not isinstance(obj, Pod) and check_workload(obj, cluster) is not None


def aftermath(session: Session, applied: Sequence[Applied]) -> tuple[Story, Iterable[Caveat]]:
    """What happens in time when the manifests are applied, and the caveats of that simulation.

    Objects that the API server refuses are left out, as are Helm hooks that end, and objects that were asked for by
    name, which are in the cluster already. If nothing is left to apply, it is about the pending pods.

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


class Play(Protocol):
    """Plays scenarios, here or in several processes."""

    def __call__(self, player: ScenarioPlayer[S, Outcome], scenarios: Sequence[S], /) -> Iterable[Outcome]:
        """The outcomes, in any order."""


class GateQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What is applied, and what the answer is held to."""

    question: Question
    book: Rulebook
    #: Decides which exceptions of the policy have expired.
    today: date
    #: The sentence about a workload, which expressions of the policy may read.
    message_of: MessageOf
    #: Whether missing information is a failure.
    strict: bool = False
    #: The number of workloads that do not fit to find the smallest fix for.
    fixes: int = 0


def gate(session: Session, asked: GateQuestion, play: Play) -> Report:
    """The answer, with the policy's findings; `play` plays what the rules `survives` and `audit` ask about."""
    book, rules = asked.book, asked.book.policy
    fragile, of_nodes = _fragile(session, asked, play)
    audited, of_audit = _audited(session, asked, play)
    question = replace(asked.question, caveats=(*asked.question.caveats, *of_nodes, *of_audit), max_age=max_age(rules))
    question = with_attempts(question) if asked.fixes else question
    answer = judge(session, replace(question, reacts=True))
    story, caveats = aftermath(session, question.applied) if rules.aftermath else (None, ())
    answer.caveats.update(dict.fromkeys(caveats))
    row = policy.judge(
        book,
        answer.judged,
        {node.metadata.name: node.metadata.labels for node in answer.cluster.all(Node).values()},
        today=asked.today,
        message_of=asked.message_of,
        reacted=answer.reacted,
        caveats=merged(answer.caveats),
        strict=asked.strict,
        known=_known(session.cluster, answer.cluster),
        story=story,
        fragile=fragile,
        audited=audited,
    )
    advice = advise(session, question, answer, Limits(1, asked.fixes, evicting=False)) if asked.fixes else None
    return replace(answer.report(session, "gate"), policy=row, story=story, advise=advice)


def _objects(asked: GateQuestion) -> list[KubernetesObject]:
    return [each.object for each in in_phases(asked.question.applied).staying]


def _fragile(session: Session, asked: GateQuestion, play: Play) -> tuple[Sequence[Fragile], Sequence[Caveat]]:
    """What the rule `survives` finds."""
    kinds = asked.book.policy.survives
    if not kinds:
        return (), ()
    from kwhatif.questions.scenarios import survival  # most policies do without

    return survival(session, _objects(asked), kinds, play)


def _audited(session: Session, asked: GateQuestion, play: Play) -> tuple[Audited, Sequence[Caveat]]:
    """What the rule `audit` finds."""
    rule = asked.book.policy.audit
    if rule is None:
        return Audited(), ()
    from kwhatif.questions.audit.audit import AuditQuestion, brought  # most policies do without
    from kwhatif.questions.audit.findings import LEVELS
    from kwhatif.questions.audit.probes import OF_CHANGES

    try:
        found, caveats = brought(session, _objects(asked), AuditQuestion(probes=rule.only or OF_CHANGES), play)
    except InputError as wrong:
        return Audited(unjudged="; ".join(problem.message for problem in wrong.problems)), ()
    least = LEVELS.index(rule.min_level)
    return Audited([each for each in found if LEVELS.index(each.finding.level) <= least]), caveats


def _known(read: Cluster, applied: Cluster) -> policy.KnownNames:
    """Names that the policy can mean: what the cluster has, and what the manifests bring."""
    classes = applied.all(PriorityClass)
    return policy.KnownNames(
        namespaces=applied.all(Namespace) if read.all(Namespace) else None,
        priority_classes=classes if len(classes) > len(SYSTEM_PRIORITY_CLASSES) else None,
    )
