"""States of the containers of a pod, for strategies (`descheduler/pod/pods.go`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_status import ContainerState


def states(pod: Pod, *, init: bool, ephemeral: bool = False) -> Iterator[ContainerState]:
    """The states of the pod's containers, and of its init and ephemeral containers if requested."""
    status = pod.status
    for counts, statuses in (
        (True, status.container_statuses),
        (init, status.init_container_statuses),
        (ephemeral, status.ephemeral_container_statuses),
    ):
        for row in statuses if counts else ():
            if row.state is not None:
                yield row.state


def waiting_reasons(pod: Pod, *, init: bool, ephemeral: bool = False) -> Sequence[str]:
    """The reasons of waiting containers."""
    return [state.waiting.reason for state in states(pod, init=init, ephemeral=ephemeral) if state.waiting is not None]


def reasons(pod: Pod, *, init: bool, ephemeral: bool = False) -> Sequence[str]:
    """The reasons of waiting containers, then those of terminated ones."""
    ended = [state.terminated for state in states(pod, init=init, ephemeral=ephemeral) if state.terminated is not None]
    return [*waiting_reasons(pod, init=init, ephemeral=ephemeral), *(state.reason for state in ended)]


def exit_codes(pod: Pod, *, init: bool) -> Sequence[int]:
    """The exit codes of terminated containers."""
    return [state.terminated.exit_code for state in states(pod, init=init) if state.terminated is not None]
