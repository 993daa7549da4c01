"""The moment that ages count to."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import MomentNotKnown
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.session.session import Session


def moment_of(session: Session, at: str | None, now: str) -> tuple[str, Sequence[Caveat]]:
    """The moment that ages count to, RFC 3339, and caveats about it.

    Args:
        session: the cluster.
        at: as the user says it; else when the dump was taken, else its newest time.
        now: for a live cluster, and for a dump without any time.

    Raises:
        ValueError: `at` is not a time.
    """
    if at is not None:
        parse_time(at)
        return at, ()
    if session.taken_at is not None or session.age == 0:
        return session.taken_at or now, ()
    newest = _newest_time(session)
    return newest or now, (MomentNotKnown(moment=newest),) if newest else ()


def _newest_time(session: Session) -> str | None:
    """The newest time that the input shows; None: it shows none."""
    found: list[str | None] = []
    for pod in session.cluster.all(Pod).values():
        found += (pod.metadata.creation_timestamp, pod.status.start_time)
        found += (condition.last_transition_time for condition in pod.status.conditions)
    for node in session.cluster.all(Node).values():
        found += (node.metadata.creation_timestamp, *(each.last_heartbeat_time for each in node.status.conditions))
    return max((time for time in found if time), key=parse_time, default=None)
