"""`EventLog`: the Events that schedulers write about pods, summed up while a dump is read.

Of each pod only a few numbers are kept, and in the end only those of pods that wait: dumps hold many more Events than
pods.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import FIRST_SECOND, LAST_SECOND, SECOND, Model, parse_time
from kwhatif.kube.model.pod import Pod, SchedulingEvents, is_terminal
from kwhatif.scheduler.framework.profile import scheduler_of
from kwhatif.scheduler.framework.status import NO_NODES
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
    namespace: str | None = None
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

    metadata: _Meta = _Meta()
    involved_object: _Reference | None = None
    regarding: _Reference | None = None


_DECODER = msgspec.json.Decoder(_WholeEvent)
_BOUND_DECODER = msgspec.json.Decoder(_Bound)


class _Who(NamedTuple):
    """A pod, and the scheduler that wrote about it: others (autoscalers) write events of the same name."""

    key: str
    uid: str
    reporter: str


class _Failure(NamedTuple):
    """An Event FailedScheduling."""

    who: _Who
    times: int
    #: Nanoseconds since the epoch.
    last: int
    in_series: bool
    errored: bool


class _Eviction(NamedTuple):
    """An Event Preempted: whom the pod evicted."""

    who: _Who
    victim: str


class _Binding(NamedTuple):
    """An Event Scheduled."""

    uid: str


class EventLog:
    """What schedulers wrote about pods; about which of them matters is known once all objects are."""

    def __init__(self) -> None:
        #: By the event's own key: dumps may hold it in both versions, and while a cluster is watched it changes.
        self._events: dict[str, _Failure | _Eviction | _Binding] = {}
        #: The same of each pod, by the pod's key.
        self._of_pod: dict[str, dict[str, _Failure | _Eviction]] = {}
        #: How many events say so of each UID.
        self._scheduled: Counter[str] = Counter()

    def see(self, reason: str | None, json: Any) -> None:
        """Take note of an event, if it is about scheduling; one without a time is left out."""
        if reason not in (_FAILED, _SCHEDULED, _PREEMPTED):
            return
        try:
            event = (_BOUND_DECODER if reason == _SCHEDULED else _DECODER).decode(json)
        except FAILURES:
            return
        key = f"{event.metadata.namespace or ''}/{event.metadata.name or ''}"
        before = self._events.get(key)
        seen = _read(reason, event)
        if isinstance(before, _Failure) and isinstance(seen, _Failure) and before.times > seen.times:
            return
        self.forget(key)
        if seen is None:
            return
        self._events[key] = seen
        if isinstance(seen, _Binding):
            self._scheduled[seen.uid] += 1
        else:
            self._of_pod.setdefault(seen.who.key, {})[key] = seen

    def forget(self, key: str) -> None:
        """The event is not there any more; one that is unknown is not an error."""
        gone = self._events.pop(key, None)
        if isinstance(gone, _Binding):
            self._scheduled -= Counter([gone.uid])
        elif gone is not None:
            others = self._of_pod[gone.who.key]
            del others[key]
            if not others:
                del self._of_pod[gone.who.key]

    def add_to(self, cluster: Cluster) -> None:
        """Note in the cluster what is known of its pending pods."""
        if self._events:
            pods = cluster.all(Pod).items()
            cluster.scheduling_events = self.about(
                {key: pod for key, pod in pods if not pod.spec.node_name and not is_terminal(pod)}
            )

    def about(self, pending: Mapping[str, Pod]) -> Mapping[str, SchedulingEvents]:
        """What is known of these pods, by key; nothing is known of most."""
        found: dict[str, SchedulingEvents] = {}
        for key, pod in pending.items():
            scheduled = pod.metadata.uid in self._scheduled
            if scheduled:
                found[key] = SchedulingEvents(scheduled=True)
            events = self._of_pod.get(key, {})
            for who in sorted({event.who for event in events.values() if _is_of(event.who, pod)}):
                of_it = {name: event for name, event in sorted(events.items()) if event.who == who}
                failures = [event for event in of_it.values() if isinstance(event, _Failure)]
                newest = max(failures, key=lambda event: event.last, default=None)
                last = newest.last if newest else 0
                if not who.uid and _nanoseconds(pod.metadata.creation_timestamp or "") > last:
                    continue  # of an earlier pod of its name
                latest = next((event for event in reversed(failures) if event.last == last), None)
                found[key] = SchedulingEvents(
                    attempts=sum(event.times for event in failures),
                    last_attempt=_text(last),
                    is_last=latest is None or not latest.in_series,
                    errored=latest is not None and latest.errored,
                    evicted=tuple(sorted({event.victim for event in of_it.values() if isinstance(event, _Eviction)})),
                    scheduled=scheduled,
                )
        return found


def _read(reason: str, event: _WholeEvent | _Bound) -> _Failure | _Eviction | _Binding | None:
    """What it says; None: nothing of use."""
    subject = event.involved_object or event.regarding
    if isinstance(event, _Bound):
        return _Binding(subject.uid) if subject is not None and subject.uid else None
    about = event.related if reason == _PREEMPTED else subject
    if about is None or about.kind != "Pod" or not about.name:
        return None
    who = _Who(f"{about.namespace}/{about.name}", about.uid or "", event.reporter)
    if reason == _FAILED:
        said, last = event.message or event.note or "", _newest(event.times)
        if said.startswith(_SKIPPED) or not last:
            return None
        errored = said == NO_NODES or not _FIT_ERROR.match(said)
        return _Failure(who, event.times_seen, last, in_series=event.series is not None, errored=errored)
    if subject is None or not subject.name:
        return None
    return _Eviction(who, f"{subject.namespace}/{subject.name}")


def _is_of(who: _Who, pod: Pod) -> bool:
    """Whether that pod is meant, and not an earlier one of its name; and whether its own scheduler says so."""
    uids = {who.uid, pod.metadata.uid} - {""}
    return len(uids) < 2 and who.reporter in ("", scheduler_of(pod))


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
