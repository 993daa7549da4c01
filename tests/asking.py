"""Asking about pods that are at hand, without files."""

import io
from collections.abc import Iterable
from pathlib import Path

from kwhatif.admission.new_pod import stored_pod
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Question
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.report.inputs import SourceRow
from kwhatif.sources.manifests.applied import read_applied


def each_alone(session: Session, pods: Iterable[Pod], caveats: Iterable[Caveat] = ()) -> Report:
    """Judge every pod as the API server has stored it, and as if it were the only one."""
    applied = [Applied(pod, SourceRow(file="-")) for pod in pods]
    question = Question(
        applied=applied, admission=False, explain="outcomes", counts_pending=True, caveats=tuple(caveats)
    )
    return judge(session, question).report(session, "schedule")


def stored_pods(session: Session, path: Path) -> list[Pod]:
    """The pods of a manifest, as the API server would have stored them."""
    asked = read_applied(
        [str(path)], session.cluster, stdin=io.BytesIO(), default_namespace="default", validation="ignore"
    )
    pods = [stored_pod(each.object, session.cluster) for each in asked.applied if isinstance(each.object, Pod)]
    return [pod for pod in pods if isinstance(pod, Pod)]
