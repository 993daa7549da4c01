"""What Events say about the scheduling of a pod that waits."""

from __future__ import annotations

from kwhatif.model.meta import Model


class SchedulingEvents(Model):
    """The attempts to schedule one pending pod, as far as there are Events of them.

    Times are RFC 3339 in UTC. The API server keeps Events for an hour (`--event-ttl`), so there may have been more.
    """

    #: How often the pod was rejected, at least.
    attempts: int = 0
    #: When that was known to happen last; "" if it is not known.
    last_attempt: str = ""
    #: No later attempt can be missing: the scheduler keeps the count of a series in memory, and writes it every half an
    #: hour, or when there was nothing new for six minutes (`client-go/tools/events/event_broadcaster.go`).
    is_last: bool = True
    #: The last attempt ended with an error, or there were no nodes: the pod is tried again without an event.
    errored: bool = False
    #: Pods that it has evicted, `namespace/name`.
    evicted: tuple[str, ...] = ()
    #: It was given a node after the pods were listed.
    scheduled: bool = False
