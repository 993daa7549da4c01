"""Parameters that no object specifies: durations, and choices that are random in a real cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import copy
from hashlib import blake2b

import msgspec

from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import Probe

#: Seconds before the simulation gives up.
HOUR = 3600.0


class Parameters(msgspec.Struct, frozen=True):
    """Durations, in seconds: all simulated times depend on these."""

    #: From a pod's binding until its containers run: images, volumes, init containers.
    start: float = 5.0
    #: From then until it is Ready; None: the minimum of its probes.
    readiness: float | None = None
    #: From a deletion until the containers have ended, at most the grace period; None: the grace period.
    termination: float | None = None
    #: kube-controller-manager's `--node-monitor-grace-period` and `--node-monitor-period`.
    node_monitor_grace_period: float = 50.0
    node_monitor_period: float = 5.0
    #: When the simulation ends in any case.
    horizon: float = HOUR

    def start_of(self, pod: Pod) -> float:
        """How long the pod's containers take to start."""
        return _seconds(pod.metadata.annotations.start_seconds, self.start)

    def termination_of(self, pod: Pod, grace: float) -> float:
        """How long the pod's containers take to end, with that grace period."""
        default = grace if self.termination is None else self.termination
        return min(_seconds(pod.metadata.annotations.stop_seconds, default), grace)

    def readiness_of(self, pod: Pod) -> float | None:
        """The seconds until the running pod is Ready; None if it never is."""
        if pod.metadata.annotations.ready == "false":
            return None
        if self.readiness is not None:
            return self.readiness
        delays = (
            sum(_delay(probe) for probe in (container.startup_probe, container.readiness_probe) if probe is not None)
            for container in pod.spec.containers
        )
        return float(max(delays, default=0))

    def run_of(self, pod: Pod) -> float | None:
        """The seconds after which the pod's containers succeed; None if they run forever."""
        text = pod.metadata.annotations.run_seconds
        return _seconds(text, 0.0) if text else None


class SchedulerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the scheduler runs; by default as in a cluster."""

    #: Keys of pending pods that are not tried before they change themselves.
    unschedulable: Collection[str] = ()
    #: Whether scores are computed also for a pod that fits on one node only.
    score_single_node: bool = False
    # The others: how the scheduler's writes come back to it, and what that makes of its choices.
    #: How long evicted pods may take to stop, in seconds; None: as long as they ask for.
    grace: float | None = None
    #: Whether the queue does not see what this scheduler writes into a pod's status before the pod has failed once
    #: more: so the first attempt after an eviction looks at all nodes, not at the nominated one alone.
    forgets_nominations: bool = False
    #: How many more attempts begin before an eviction shows in the cache and the queue: upstream evicts in the
    #: background.
    preempts_after: int = 0
    #: Whether all pods go to the first of the best nodes in the scheduler's heap, not only members of groups.
    ties_by_heap: bool = False


#: For clusters with groups of pods: kube-scheduler with client-go's fake client, which only plays an API server. The
#: recorded cases of groups were decided in this way, and the answers are the recorded ones. The options decide on which
#: nodes members end up, not whether a group fits: of 128 recorded runs, 9 would have members on each other's nodes
#: without the first or the second line, and 2 without the third. `simulate` plays a real API server instead.
FAKE_CLIENT = SchedulerOptions(
    # There is no kubelet: evicted pods are gone immediately, before the group's next attempt.
    grace=0.0,
    # Its objects have no `resourceVersion`, and the scheduler ignores an update that does not change this field
    # (eventhandlers.go, updatePodInSchedulingQueue). So members are tried again as if they had not been nominated.
    forgets_nominations=True,
    # Evictions run beside the loop (executor.go, prepareCandidateAsync), which has already begun its next attempt.
    preempts_after=1,
    # Members of groups always go to the first of the best in the heap (schedule_one.go, selectHost); the pods beside
    # them do so, too, as one loop places both.
    ties_by_heap=True,
)


def _delay(probe: Probe) -> int:
    return probe.initial_delay_seconds + (max(probe.success_threshold, 1) - 1) * (probe.period_seconds or 10)


def _seconds(text: str, default: float) -> float:
    """The number in an annotation; the default if it is not a number of seconds."""
    try:
        number = float(text)
    except ValueError:
        return default
    return number if 0 <= number < float("inf") else default


# --- choices -----------------------------------------------------------------------------------------

#: The number of different shares.
_FINE = 1 << 32


class Chance:
    """Choices that are random in a real cluster, and how often each kind of them was made.

    Without a seed, by convention: the first of equal choices by name, and pods end as late as they may. With a seed, by
    a hash of the seed and the occasion: the same seed gives the same choices, in whatever order they are made.
    """

    def __init__(self, seed: str | None = None) -> None:
        """`seed`: None for the convention."""
        self.seed = seed
        #: The number of choices by subject.
        self.choices: dict[str, int] = {}
        self._occasions = 0

    @property
    def is_convention(self) -> bool:
        """Whether choices are made by convention, without a seed."""
        return self.seed is None

    def fork(self) -> Chance:
        """An independent copy."""
        other = copy(self)
        other.choices = self.choices.copy()
        return other

    def note(self, what: str) -> None:
        """Count a choice."""
        self.choices[what] = self.choices.get(what, 0) + 1

    def pick(self, options: Sequence[str]) -> str:
        """One of the sorted options; each call is a new occasion."""
        if self.seed is None:
            return options[0]
        self._occasions += 1
        return options[self._number(f"pick {self._occasions}") * len(options) // _FINE]

    def share(self, of: str) -> float:
        """A share from 0 to 1: always the same for the same name."""
        return 1.0 if self.seed is None else self._number(f"share {of}") / _FINE

    def order(self, names: Iterable[str]) -> list[str]:
        """The pods of a drain in a chosen order; by convention as given."""
        names = list(names)
        if len(names) > 1:
            self.note("drains")
        if self.seed is None:
            return names
        return sorted(names, key=lambda name: (self._number(f"order {name}"), name))

    def _number(self, occasion: str) -> int:
        """From 0 to `_FINE`, exclusive."""
        return int.from_bytes(blake2b(f"{self.seed}\0{occasion}".encode(), digest_size=4).digest())
