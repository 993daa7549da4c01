"""`Status`: the result of a plugin (`staging/src/k8s.io/kube-scheduler/framework/interface.go`).

And the scheduler's message when a pod fits on no node (`FitError.Error()` in `pkg/scheduler/framework/types.go`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from itertools import chain

import msgspec

from kwhatif.scheduler.framework.evidence import Evidence
from kwhatif.state.pod_info import PodInfo


class Code(Enum):
    """Status codes; the values are upstream's names."""

    SUCCESS = "Success"
    ERROR = "Error"
    #: Evicting pods may help.
    UNSCHEDULABLE = "Unschedulable"
    #: Evicting pods cannot help: the node is never a preemption candidate.
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    #: PreFilter, PreScore: the plugin has nothing to check for this pod.
    SKIP = "Skip"


class Status(msgspec.Struct, frozen=True, gc=False):
    """A code, the scheduler's exact reasons, and the evidence for them."""

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()

    @property
    def rejected(self) -> bool:
        """Whether this is a rejection (neither success nor an error)."""
        return self.code in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE)

    @property
    def message(self) -> str:
        """All reasons, as upstream's `Status.Message()`."""
        return ", ".join(self.reasons)


SUCCESS = Status()
#: The plugin has nothing to check for this pod, whatever pods are on nodes.
SKIP = Status(Code.SKIP)


class SkipUntil(Status, frozen=True, gc=True):
    """The plugin has nothing to check until a pod for which `concerns` is true is on a node."""

    code: Code = Code.SKIP
    concerns: Callable[[PodInfo], bool] = lambda pod: True  # noqa: ARG005


def unschedulable(reason: str, *evidence: Evidence) -> Status:
    """The pod does not fit now; evicting pods may help."""
    return Status(Code.UNSCHEDULABLE, (reason,), evidence)


def unresolvable(reason: str, *evidence: Evidence) -> Status:
    """The pod does not fit, and evicting pods cannot help."""
    return Status(Code.UNRESOLVABLE, (reason,), evidence)


def error(message: str) -> Status:
    """The scheduler itself would fail: the cycle ends with this error."""
    return Status(Code.ERROR, (message,))


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """A node's status, and the plugin that gave it ("" for a node that a PreFilter node set ruled out)."""

    status: Status
    plugin: str = ""


NO_NODES = "no nodes available to schedule pods"


def reasons_histogram(statuses: Iterable[Status], absent: Status | None, absent_count: int) -> str:
    """The reasons of all nodes; `absent` is the status of nodes that have none of their own."""
    counts = Counter(chain.from_iterable([status.reasons for status in statuses]))
    if absent is not None and absent_count > 0:
        for reason in absent.reasons:
            counts[reason] += absent_count
    return histogram(counts)


def histogram(counts: Mapping[str, int]) -> str:
    """`2 Insufficient cpu, 3 node(s) were unschedulable`: sorted as strings, so `10 x` comes before `2 x`."""
    return ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))


def fit_error(total: int, detail: str) -> str:
    """`0/12 nodes are available: <detail>.`; without detail nothing follows the colon."""
    prefix = f"0/{total} nodes are available:"
    return f"{prefix} {detail}." if detail else prefix


def with_post_filter(message: str, post_filter_message: str) -> str:
    """The FitError with the PostFilter part appended; upstream adds no dot."""
    return f"{message} {post_filter_message}" if post_filter_message else message


def no_nodes_left(restrictors: set[str]) -> Status:
    """The status if the node sets of these plugins have no node in common."""
    if len(restrictors) == 1:
        return unresolvable(f"node(s) didn't satisfy plugin {next(iter(restrictors))}")
    return unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(restrictors))}] simultaneously")


def not_in_node_set(restrictors: set[str]) -> Status:
    """The status of a node that is not in the node sets of these plugins."""
    return unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(restrictors))}]")
