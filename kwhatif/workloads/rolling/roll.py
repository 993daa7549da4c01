"""`Roll`: the rollout of one workload, step by step, as whoever places pods drives it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from kwhatif.model.pod import Pod
from kwhatif.workloads.expansion import Expansion


class Step(NamedTuple):
    """What a controller does next: first pods go, then others are made. Nothing: it waits, or is done."""

    removed: tuple[Pod, ...] = ()
    added: Expansion = Expansion()

    @property
    def is_empty(self) -> bool:
        """Whether it does nothing."""
        return not self.removed and not self.added.groups


class Progress(NamedTuple):
    """How far a rollout is."""

    #: How many pods of the new template there are to be in the end, and how many of them run.
    wanted: int
    updated: int
    #: How many pods of the old one are left.
    old: int
    #: `namespace/name` of the pod that the next step waits for; "" if there is none.
    waits_for: str
    #: What keeps the controller from going on without it, such as `maxUnavailable 0`; "" if nothing was chosen.
    limit: str
    done: bool


class Roll(Protocol):
    """A rollout. Pods that a step removes are gone at once; of pods that it adds, the driver says what became."""

    def pods(self) -> list[Pod]:
        """All pods of the workload."""

    def step(self) -> Step:
        """What the controller does next."""

    def made(self, pod: Pod) -> None:
        """A pod that a step has added exists."""

    def refused(self, pod: Pod) -> None:
        """The API server has refused one: it is not added again before `retry`."""

    def runs(self, pod: Pod) -> None:
        """A pod of the workload is on its node (`spec.nodeName`), and taken to be ready."""

    def gone(self, pod: Pod) -> None:
        """Somebody has evicted a pod of the workload."""

    def retry(self) -> None:
        """Pods that were refused may be accepted now."""

    def progress(self) -> Progress:
        """How far it is."""
