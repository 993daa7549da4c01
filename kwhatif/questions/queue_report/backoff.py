"""Until when a pending pod has to wait before it is tried again, as far as Events say."""

from __future__ import annotations

from typing import NamedTuple

from kwhatif.kube.model.meta import FIRST_SECOND, LAST_SECOND, SECOND, format_time, parse_time
from kwhatif.questions.session.session import Session
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER
from kwhatif.scheduler.queue.backoff_queue import align_to_window, backoff_end
from kwhatif.state.pod_info import PodInfo


class Backoff(NamedTuple):
    """When it ends (RFC 3339), and whether that was before the cluster was read; None, and False: not known."""

    end: str | None = None
    is_over: bool = False


def backoff_end_of(info: PodInfo, session: Session) -> Backoff:
    """The backoff of a pod whose last attempt, and the moment of the reading, are known.

    It is counted from the attempts that Events show. There may have been more, and then it ends later; from the fifth
    attempt on, with the defaults, it is 10 s.
    """
    seen = session.cluster.scheduling_events.get(info.key)
    profile = session.profiles.get(info.pod.spec.scheduler_name or DEFAULT_SCHEDULER)
    now = session.taken_at or session.cluster.taken_at
    if seen is None or profile is None or not now or not (seen.last_attempt and seen.is_last):
        return Backoff()
    initial, most = (seconds * SECOND for seconds in profile.backoff_seconds)
    end = backoff_end(parse_time(seen.last_attempt), max(1, seen.attempts), initial, most)
    if not FIRST_SECOND <= end // SECOND <= LAST_SECOND:
        return Backoff()
    return Backoff(format_time(end // SECOND), end < align_to_window(parse_time(now)))
