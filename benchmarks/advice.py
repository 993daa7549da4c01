"""What would help a pod that does not fit: seconds for all of its advice, on 5,000 full nodes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import kwhatif
from benchmarks.context import Context
from benchmarks.rows import Row, at_most
from kwhatif.questions.session.session import Session

TITLE = "Advice"
NOTE = """\
Beyond loading: the first answer, the search, and the proof of every advice by asking again. All nodes are full."""

Json = dict[str, Any]

TARGET = at_most(5)


def _pod(**spec: Any) -> Json:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    meta = {"name": "more", "namespace": "team-1", "labels": {"app": "more"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]} | spec}


#: What keeps the pod away -> its manifest.
MANIFESTS: Mapping[str, Json] = {
    "a pod of 1 cpu": _pod(),
    "a pod for a label that no node has": _pod(nodeSelector={"disk": "none"}),
}


def _advise(session: Session, manifest: Json) -> float:
    started = time.process_time()
    report = kwhatif.advise(session, manifest)
    assert report.advise is not None
    assert report.advise.workloads
    return time.process_time() - started


def rows(context: Context) -> Iterator[Row]:
    """Seconds for one workload."""
    session = context.session(context.large)
    for what, manifest in MANIFESTS.items():
        seconds = min(_advise(session, manifest) for _ in range(context.runs))
        yield Row(f"advice for {what}", seconds, "s", target=TARGET)
