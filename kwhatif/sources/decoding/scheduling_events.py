"""`EventLog`: the Events that schedulers write about pods, summed up while a dump is read.

Of each pod only a few numbers are kept, and in the end only those of pods that wait: dumps hold many more Events than
pods.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import FIRST_SECOND, LAST_SECOND, SECOND, Model, parse_time
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.pod_status import SchedulingEvents
from kwhatif.scheduler.framework.diagnosis import NO_NODES
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER
from kwhatif.sources.decoding.examine import FAILURES

_FAILED = "FailedScheduling"
_SCHEDULED = "Scheduled"
_PREEMPTED = "Preempted"
#: How the message of a pod begins that fits nowhere (`FitError`).
_FIT_ERROR = re.compile(r"\d+/\d+ nodes are available")
#: Written instead of an attempt (`skipPodSchedule` in `schedule_one.go`).
_SKIPPED = "skip schedule deleting pod"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Series(Model):
    count: int | None = None
    last_observed_time: str | None = None


class ApiEvent(Model):
    """What is read of every `v1 Event` and `events.k8s.io/v1 Event`: the same under two sets of names."""

    reason: str | None = None
    series: _Series | None = None
    last_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None
    event_time: str | None = None

    @property
    def times(self) -> tuple[str | None, ...]:
        """When it happened."""
        last = None if self.series is None else self.series.last_observed_time
        return self.last_timestamp, self.deprecated_last_timestamp, self.event_time, last


class _Meta(Model):
    name: str | None = None


class _Reference(Model):
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class _Source(Model):
    component: str | None = None


class _WholeEvent(ApiEvent):
    metadata: _Meta = _Meta()
    involved_object: _Reference | None = None
    regarding: _Reference | None = None
    related: _Reference | None = None
    message: str | None = None
    note: str | None = None
    count: int | None = None
    deprecated_count: int | None = None
    reporting_component: str | None = None
    reporting_controller: str | None = None
    source: _Source | None = None
    deprecated_source: _Source | None = None

    @property
    def times_seen(self) -> int:
        counted = self.series.count if self.series else None
        return max(1, counted or self.count or self.deprecated_count or 1)

    @property
    def reporter(self) -> str:
        sources = (each.component for each in (self.source, self.deprecated_source) if each)
        return next(filter(None, (self.reporting_component, self.reporting_controller, *sources)), "")


class _Bound(Model):
    """Of the events that every pod has, only whose they are."""

    involved_object: _Reference | None = None
    regarding: _Reference | None = None


_DECODER = msgspec.json.Decoder(_WholeEvent)
_BOUND_DECODER = msgspec.json.Decoder(_Bound)


class _Who(NamedTuple):
    """A pod, and the scheduler that wrote about it: others (autoscalers) write events of the same name."""

    key: str
    uid: str
    reporter: str


class _Attempts(msgspec.Struct):
    #: By the name of the event: dumps may hold it in both versions.
    counts: dict[str, int] = {}
    #: Nanoseconds since the epoch.
    last: int = 0
    in_series: bool = False
    errored: bool = False


class EventLog:
    """What schedulers wrote about pods; about which of them matters is known once all objects are."""

    def __init__(self) -> None:
        self._attempts: dict[_Who, _Attempts] = {}
        #: UIDs.
        self._scheduled: set[str] = set()
        self._evicted: dict[_Who, dict[str, None]] = {}

    def see(self, reason: str | None, json: Any) -> None:
        """Take note of an event, if it is about scheduling; one without a time is left out."""
        if reason not in (_FAILED, _SCHEDULED, _PREEMPTED):
            return
        try:
            if reason == _SCHEDULED:
                self._bound(_BOUND_DECODER.decode(json))
            else:
                self._see(reason, _DECODER.decode(json))
        except FAILURES:
            return

    def _bound(self, event: _Bound) -> None:
        pod = event.involved_object or event.regarding
        if pod is not None and pod.uid:
            self._scheduled.add(pod.uid)

    def _see(self, reason: str, event: _WholeEvent) -> None:
        subject = event.involved_object or event.regarding
        about = event.related if reason == _PREEMPTED else subject
        if about is None or about.kind != "Pod" or not about.name:
            return
        who = _Who(f"{about.namespace}/{about.name}", about.uid or "", event.reporter)
        if reason == _FAILED:
            self._failed(who, event)
        elif subject is not None and subject.name:
            self._evicted.setdefault(who, {})[f"{subject.namespace}/{subject.name}"] = None

    def _failed(self, who: _Who, event: _WholeEvent) -> None:
        said, last = event.message or event.note or "", _newest(event.times)
        if said.startswith(_SKIPPED) or not last:
            return
        known = self._attempts.setdefault(who, _Attempts())
        name = event.metadata.name or ""
        known.counts[name] = max(known.counts.get(name, 0), event.times_seen)
        if last >= known.last:
            known.last = last
            known.in_series = event.series is not None
            known.errored = said == NO_NODES or not _FIT_ERROR.match(said)

    def add_to(self, cluster: Cluster) -> None:
        """Note in the cluster what is known of its pending pods."""
        if not (self._scheduled or self._attempts or self._evicted):
            return
        found: dict[str, SchedulingEvents] = {}
        pending = {key: pod for key, pod in cluster.all(Pod).items() if not pod.spec.node_name and not is_terminal(pod)}
        for key, pod in pending.items():
            if pod.metadata.uid in self._scheduled:
                found[key] = SchedulingEvents(scheduled=True)
        for who in sorted(who for who in {*self._attempts, *self._evicted} if who.key in pending):
            pod, attempts = pending[who.key], self._attempts.get(who, _Attempts())
            if not _is_of(who, pod):
                continue
            if not who.uid and _nanoseconds(pod.metadata.creation_timestamp or "") > attempts.last:
                continue  # of an earlier pod of its name
            found[who.key] = SchedulingEvents(
                attempts=sum(attempts.counts.values()),
                last_attempt=_text(attempts.last),
                is_last=not attempts.in_series,
                errored=attempts.errored,
                evicted=tuple(sorted(self._evicted.get(who, ()))),
                scheduled=pod.metadata.uid in self._scheduled,
            )
        cluster.scheduling_events = found


def _is_of(who: _Who, pod: Pod) -> bool:
    """Whether that pod is meant, and not an earlier one of its name; and whether its own scheduler says so."""
    uids = {who.uid, pod.metadata.uid} - {""}
    return len(uids) < 2 and who.reporter in ("", pod.spec.scheduler_name or DEFAULT_SCHEDULER)


def _newest(times: Iterable[str | None]) -> int:
    return max(map(_nanoseconds, filter(None, times)), default=0)


def _nanoseconds(text: str) -> int:
    """0 for what is not a time."""
    try:
        return parse_time(text)
    except (ValueError, OverflowError):
        return 0


def _text(nanoseconds: int) -> str:
    """RFC 3339; "" for 0."""
    if not nanoseconds:
        return ""
    known = min(max(nanoseconds, FIRST_SECOND * SECOND), LAST_SECOND * SECOND)
    return (_EPOCH + timedelta(microseconds=known // 1000)).isoformat().replace("+00:00", "Z")
