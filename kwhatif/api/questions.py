"""Questions about pods: `kwhatif.schedule`, `preempt`, `gate`, `advise` and `pending`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Unpack

from msgspec.structs import replace

from kwhatif.api.arguments import (
    ManifestOptions,
    SchedulingOptions,
    read_manifests,
    require_asked,
    require_known,
    require_names,
    require_no_problems,
    require_session,
)
from kwhatif.api.options import PathLike, PodSelection
from kwhatif.api.pages import answered
from kwhatif.api.refusals import Rollout, check_judging, check_rollout
from kwhatif.garbage import rare_garbage_collection
from kwhatif.kube.matching.pods import pod_choice
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Question
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.sources.manifests.applied import as_row
from kwhatif.sources.manifests.given import Source, named_input, named_inputs, require_namespace
from kwhatif.sources.text.files import standard_input


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
    """The question, from the options about how pods are judged.

    Raises:
        ValueError: an autoscaler cannot add nodes for pods that are each judged alone.
    """
    alone, admission = options.get("alone", False), options.get("admission", True)
    check_judging(alone=alone, admission=admission, grows=session.scaling is not None)
    return Question(
        alone=alone, admission=admission, explain="outcomes", counts_pending=True, described=options.get("described")
    )


def _answer(session: Session, command: str, manifests: Sequence[Source], options: SchedulingOptions) -> Report:
    """The answer for these manifests."""
    require_asked(session, manifests, command)
    require_known(options, SchedulingOptions, command)
    question = _question(session, options)
    inputs = named_inputs(manifests, "manifest")
    asked = read_manifests(session, inputs, options, stored=not question.admission)
    asked.require_sound()
    question = replace(question, applied=asked.applied, caveats=asked.caveats)
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
    from kwhatif.questions.advise.advisor import Limits, ask_advice

    session = session.with_owners()
    asked = read_manifests(session, named_inputs(manifests, "manifest"), options)
    asked.require_sound()
    question = Question(applied=asked.applied, counts_pending=True, caveats=asked.caveats)
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
    from kwhatif.questions.queue_report.play import QueueQuestion
    from kwhatif.questions.queue_report.question import ask_queue
    from kwhatif.sources.manifests.given import pending_keys

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


# --- gate ------------------------------------------------------------------------------------------------------------


def find_policy(folder: PathLike | None = None) -> str | None:
    """The policy file that the command finds: kwhatif.yaml or .kwhatif.yaml.

    It is looked for in the folder (else the current one), then in the root of its repository.
    """
    from kwhatif.sources.policy import find_policy as find

    found = find(Path(folder or ".").absolute())
    return None if found is None else os.path.relpath(found)


def gate(
    session: Session,
    *manifests: Source,
    policy: Source | None = None,
    rollout: Rollout = "end",
    strict: bool = False,
    today: date | None = None,
    fixes: int = 0,
    **options: Unpack[ManifestOptions],
) -> Report:
    """If all of this is applied, does everything schedule, whom does it evict, and does the policy allow that?

    A manifest that cannot be read is one of the report's `problems`; the others are judged without it.

    Args:
        session: the cluster.
        manifests: as for `schedule`.
        policy: its file, text or dict; without one, that of `find_policy`, else the default policy.
        rollout: how updates are judged: step by step, whether they complete; only by their end state ("final"); or
            while old pods are still there ("surge").
        strict: fail where information is missing, unless the policy says otherwise.
        today: decides which exceptions of the policy have expired.
        fixes: the number of workloads that do not fit to find the smallest fix for, as `advise` does.
        options: how the manifests are read, see `ManifestOptions`.

    Raises:
        InputError: there is nothing to judge, or the policy is wrong.
        ValueError: a template path is malformed, or `validation` or `rollout` has no such value.
    """
    require_asked(session, manifests, "gate")
    require_known(options, ManifestOptions, "gate")
    check_rollout(rollout, grows=session.scaling is not None)
    from kwhatif.policy.build import default_rulebook
    from kwhatif.questions.gate import GateQuestion
    from kwhatif.questions.gate import gate as judge_by_policy
    from kwhatif.render.workloads import workload_message
    from kwhatif.sources.policy import read_policy
    from kwhatif.sweep.processes import play

    policy = find_policy() if policy is None else policy
    book = default_rulebook() if policy is None else read_policy(named_input(policy, "policy"), stdin=standard_input())
    asked = read_manifests(session, named_inputs(manifests, "manifest"), options)
    question = Question(
        applied=asked.applied,
        rollout=rollout,
        problems=tuple(map(as_row, asked.problems)),
        caveats=asked.caveats,
    )
    today = today or datetime.now(UTC).date()
    with rare_garbage_collection():
        gated = GateQuestion(
            question=question, book=book, today=today, message_of=workload_message, strict=strict, fixes=fixes
        )
        report = judge_by_policy(session, gated, play)
    return answered(report, session)
