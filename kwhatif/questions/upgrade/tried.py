"""One restarted pod, and a release's decision about it."""

from __future__ import annotations

from typing import NamedTuple

from kwhatif.report.decision import Decision
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.scheduler.framework.attempt import Attempt


class Tried(NamedTuple):
    """One restarted pod under one release; pods that are refused, or are another scheduler's, are not tried."""

    short: Decision
    attempt: Attempt | None = None
    result: ScheduleResult | None = None


def fate_of(tried: Tried) -> object:
    """The fate of the pod: equal fates are the same answer."""
    result = tried.result
    if result is None:
        return None
    victims = tuple(victim.pod.key for victim in result.victims)
    return result.outcome, result.ties, victims, result.gated and result.gated.plugin
