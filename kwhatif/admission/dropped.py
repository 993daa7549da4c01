"""Fields of pods that the API server drops because their gate is off (`dropDisabledFields`, `pkg/api/pod/util.go`)."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.gates import Gates
from kwhatif.model.pod import Pod


def without_disabled(pod: Pod, gates: Gates) -> Pod:
    """The pod without resources of its own where `PodLevelResources` is off."""
    if pod.spec.resources is None or "PodLevelResources" in gates:
        return pod
    return replace(pod, spec=replace(pod.spec, resources=None))
