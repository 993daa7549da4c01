"""`Status`: the result of a plugin (`staging/src/k8s.io/kube-scheduler/framework/interface.go`)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

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
