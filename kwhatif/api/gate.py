"""`kwhatif.gate`: whether a policy allows that this is applied."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, get_args

from msgspec.structs import replace

from kwhatif.api.arguments import require_known
from kwhatif.api.manifests import ManifestOptions, read_manifests, require_asked
from kwhatif.api.notebook import answered
from kwhatif.api.options import PathLike
from kwhatif.errors import InputError
from kwhatif.garbage import rare_garbage_collection
from kwhatif.questions.judging.question import Question
from kwhatif.questions.manifests.applied import in_phases
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.sources.manifests.applied import as_row
from kwhatif.sources.manifests.given import Source, named_input, named_inputs
from kwhatif.sources.text.files import standard_input
from kwhatif.workloads.comparison import Rollout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwhatif.kube.model.caveat import Caveat
    from kwhatif.policy.aftermath import Audited, Fragile
    from kwhatif.policy.schema import AuditRule
    from kwhatif.questions.manifests.applied import Applied


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
    if rollout not in get_args(Rollout):
        raise ValueError(f"rollout: {rollout!r} is none of {', '.join(get_args(Rollout))}")
    if session.scaling is not None and rollout != "end":
        raise ValueError(f"rollout: nodes that an autoscaler adds come in time, and {rollout!r} is about one moment")
    from kwhatif.policy.aftermath import Audited
    from kwhatif.policy.build import default_rulebook
    from kwhatif.questions.gate import gate as judge_by_policy
    from kwhatif.sources.policy import read_policy
    from kwhatif.sweep.processes import play
    from kwhatif.sweep.scenario import survival

    policy = find_policy() if policy is None else policy
    book = default_rulebook() if policy is None else read_policy(named_input(policy, "policy"), stdin=standard_input())
    asked, paths = read_manifests(session, named_inputs(manifests, "manifest"), options)
    question = Question(
        applied=asked.applied,
        rollout=rollout,
        template_paths=paths,
        problems=tuple(map(as_row, asked.problems)),
        caveats=asked.caveats,
    )
    today = today or datetime.now(UTC).date()
    with rare_garbage_collection():
        fragile: list[Fragile] = []
        if book.policy.survives:
            objects = [each.object for each in in_phases(asked.applied).staying]
            fragile, caveats = survival(session, objects, book.policy.survives, play)
            question = replace(question, caveats=(*question.caveats, *caveats))
        audited = Audited()
        if book.policy.audit is not None:
            audited, caveats = _audited(session, asked.applied, book.policy.audit)
            question = replace(question, caveats=(*question.caveats, *caveats))
        report = judge_by_policy(
            session, question, book, today=today, strict=strict, fixes=fixes, fragile=fragile, audited=audited
        )

    return answered(report, session)


def _audited(session: Session, applied: Sequence[Applied], rule: AuditRule) -> tuple[Audited, tuple[Caveat, ...]]:
    """The finding of the rule `audit`."""
    from kwhatif.policy.aftermath import Audited
    from kwhatif.questions.audit.audit import AuditQuestion, brought
    from kwhatif.questions.audit.probes import OF_CHANGES
    from kwhatif.questions.audit.ranking import LEVELS
    from kwhatif.sweep.processes import play

    objects = [each.object for each in in_phases(applied).staying]
    try:
        found, caveats = brought(session, objects, AuditQuestion(probes=rule.only or OF_CHANGES), play)
    except InputError as wrong:
        return Audited(unjudged="; ".join(problem.message for problem in wrong.problems)), ()
    least = LEVELS.index(rule.min_level)
    return Audited([each for each in found if LEVELS.index(each.finding.level) <= least]), caveats
