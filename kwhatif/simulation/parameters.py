"""Durations that no object specifies: all simulated times depend on these."""

from __future__ import annotations

import msgspec

from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import Probe

#: Seconds before the simulation gives up.
HOUR = 3600.0


class Parameters(msgspec.Struct, frozen=True):
    """All times are seconds."""

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
        most = grace if self.termination is None else self.termination
        return min(_seconds(pod.metadata.annotations.stop_seconds, most), grace)

    def readiness_of(self, pod: Pod) -> float | None:
        """How long the running pod takes to be Ready; None: it never is."""
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
        """After how long the pod's containers succeed; None: they run forever."""
        text = pod.metadata.annotations.run_seconds
        return _seconds(text, 0.0) if text else None


def _delay(probe: Probe) -> int:
    return probe.initial_delay_seconds + (max(probe.success_threshold, 1) - 1) * (probe.period_seconds or 10)


def _seconds(text: str, default: float) -> float:
    """The number in an annotation; the default if it is not a number of seconds."""
    try:
        number = float(text)
    except ValueError:
        return default
    return number if 0 <= number < float("inf") else default
