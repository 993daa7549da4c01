"""DefaultTolerationSeconds (`plugin/pkg/admission/defaulttolerationseconds/admission.go`)."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.kube.matching.tolerations import NO_EXECUTE
from kwhatif.kube.model.affinity import Toleration
from kwhatif.kube.model.pod import Pod

DEFAULT_TOLERATIONS = tuple(
    Toleration(key=key, operator="Exists", effect=NO_EXECUTE, toleration_seconds=300)
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
)


def add_default_tolerations(pod: Pod) -> Pod:
    """Tolerate nodes that are not ready or unreachable for five minutes, unless the pod has its own tolerations."""
    tolerations = pod.spec.tolerations
    missing = tuple(default for default in DEFAULT_TOLERATIONS if not _speaks_of(default.key, tolerations))
    return replace(pod, spec=replace(pod.spec, tolerations=tolerations + missing)) if missing else pod


def _speaks_of(key: str, tolerations: tuple[Toleration, ...]) -> bool:
    return any(toleration.key in ("", key) and toleration.effect in ("", NO_EXECUTE) for toleration in tolerations)
