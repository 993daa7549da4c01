"""`kwhatif.schedule`, `preempt`, `advise` and `pending`: questions about single pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from msgspec.structs import replace

from kwhatif.api.arguments import require_known, require_names, require_session
from kwhatif.api.manifests import ManifestOptions, SchedulingOptions, read_manifests, require_asked, require_no_problems
from kwhatif.api.notebook import answered
from kwhatif.api.options import PodSelection
from kwhatif.garbage import rare_garbage_collection
from kwhatif.kube.matching.pods import pod_choice
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Question
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.sources.manifests.given import Source, named_inputs
from kwhatif.sources.manifests.named import require_namespace


def schedule(session: Session, *manifests: Source, **options: Unpack[SchedulingOptions]) -> Report:
    """If this is applied, where do its pods land? If they fit nowhere: which pods do they evict, and why?

    Args:
        session: the cluster.
        manifests: see `kwhatif.Source`; or objects of the cluster by name: "pod/shop/web-0", "deploy/web".
        options: how pods are judged, and how the manifests are read, see `SchedulingOptions`.

    Raises:
        InputError: with every problem of the manifests.
        ValueError: a template path is malformed, or `validation` has no such value.
    """
    return _answer(session, "schedule", manifests, options)


class PreemptOptions(SchedulingOptions, PodSelection, total=False):
    """How pods are judged; without manifests, which pending pods."""


def preempt(session: Session, *manifests: Source, **options: Unpack[PreemptOptions]) -> Report:
    """Which pods would these pods evict? Without manifests: every pending pod of the cluster, in queue order.

    The arguments are those of `schedule`; without manifests, `namespace` and the selectors leave out other pods.

    Raises:
        InputError: with every problem of the manifests; without them, if there is no such namespace.
        ValueError: a template path is malformed, `validation` has no such value, or a selector is not valid.
        TypeError: there are manifests, and a selector of pods.
    """
    selectors = options.pop("selector", ""), options.pop("field_selector", "")
    if manifests and any(selectors):
        raise TypeError("preempt() takes manifests, or a selector of pending pods")
    if manifests:
        return _answer(session, "preempt", manifests, options)
    require_session(session, "preempt")
    require_known(options, SchedulingOptions, "preempt")
    namespace = options.get("namespace") or ""
    require_namespace(namespace, session.cluster)
    with rare_garbage_collection():
        question = replace(_question(session, options), pending=pod_choice(namespace, *selectors))
        return _judged(session, "preempt", question, aftermath=options.get("aftermath", False))


def _question(session: Session, options: SchedulingOptions) -> Question:
    """The options of how pods are judged.

    Raises:
        ValueError: an autoscaler cannot add nodes for pods that are each judged alone.
    """
    alone, admission = options.get("alone", False), options.get("admission", True)
    if session.scaling is not None and (alone or not admission):
        raise ValueError("an autoscaler adds nodes for all pods together: do not judge each of them alone")
    return Question(alone=alone, admission=admission, full=True, described=options.get("described"))


def _answer(session: Session, command: str, manifests: Sequence[Source], options: SchedulingOptions) -> Report:
    """The answer about these manifests."""
    require_asked(session, manifests, command)
    require_known(options, SchedulingOptions, command)
    question = _question(session, options)
    inputs = named_inputs(manifests, "manifest")
    asked, paths = read_manifests(session, inputs, options, stored=not question.admission)
    asked.require_sound()
    question = replace(question, applied=asked.applied, template_paths=paths, caveats=asked.caveats)
    with rare_garbage_collection():
        report = _judged(session, command, question, aftermath=options.get("aftermath", False))
    require_no_problems(report)
    return report


def _judged(session: Session, command: str, question: Question, *, aftermath: bool) -> Report:
    answer = judge(session, question)
    if not aftermath:
        return answered(answer.report(session, command), session)
    from kwhatif.questions.gate import aftermath as aftermath_of

    story, caveats = aftermath_of(session, question.applied)
    answer.caveats.update(dict.fromkeys(caveats))
    return answered(replace(answer.report(session, command), story=story), session)


def advise(
    session: Session,
    *manifests: Source,
    most: int = 6,
    workloads: int = 10,
    **options: Unpack[ManifestOptions],
) -> Report:
    """What are the smallest changes that help pods that do not fit, or fit only by eviction? Each is tried.

    Args:
        session: the cluster.
        manifests: as for `schedule`.
        most: how many pieces of advice each workload gets, the cheapest first.
        workloads: how many workloads get advice; the report says how many are left out.
        options: how the manifests are read, see `ManifestOptions`.

    Raises:
        InputError: with every problem of the manifests.
        ValueError: a template path is malformed, or `validation` has no such value.
    """
    require_asked(session, manifests, "advise")
    require_known(options, ManifestOptions, "advise")
    from kwhatif.questions.advise.question import Limits, ask_advice

    session = session.with_owners()
    asked, paths = read_manifests(session, named_inputs(manifests, "manifest"), options)
    asked.require_sound()
    question = Question(applied=asked.applied, template_paths=paths, full=True, caveats=asked.caveats)
    with rare_garbage_collection():
        report = answered(ask_advice(session, question, Limits(most, workloads)), session)
    require_no_problems(report)
    return report


def pending(
    session: Session,
    *pods: str,
    namespace: str | None = None,
    explain: bool = False,
    **selection: Unpack[PodSelection],
) -> Report:
    """Which pods are pending, in the scheduler's order; what rejected each of them, and what would wake it?

    Args:
        session: the cluster.
        pods: the pods to explain, by name: "pod/shop/web-0", "shop/web-0", "web-0"; none: all that are pending.
        namespace: where pods belong that name no namespace; without pods, leave out those of all others.
        explain: say of every pod what would wake it.
        selection: leave out all other pods.

    Raises:
        InputError: a pod is not there, or not pending; there is no such namespace.
        ValueError: a selector is not valid.
    """
    require_session(session, "pending")
    require_known(selection, PodSelection, "pending")
    require_names(pods, "pod")
    from kwhatif.questions.queue_report.question import ask_queue
    from kwhatif.questions.queue_report.trying import QueueQuestion
    from kwhatif.sources.manifests.named import pending_keys

    clusters = [session.cluster, *([session.unedited.cluster] if session.unedited else [])]
    keys = pending_keys(pods, clusters, namespace or session.namespace)
    within = "" if pods else namespace or ""
    require_namespace(within, session.cluster)
    choice = pod_choice(within, selection.get("selector", ""), selection.get("field_selector", ""))
    with rare_garbage_collection():
        report = ask_queue(session, QueueQuestion(pods=keys, choice=choice, explain=explain))
        if session.scaling is not None:
            from kwhatif.questions.autoscale import with_rounds

            report = with_rounds(report, session, session.scaling)
        return answered(report, session)
