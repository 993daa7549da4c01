"""Pods that are applied as they are: a pod cannot be changed, only be replaced by another one of its name."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.admission.denied import Denied
from kwhatif.admission.new_pod import complete_pod
from kwhatif.model.cluster import Cluster
from kwhatif.model.pod import Pod, PodSpec, is_terminal
from kwhatif.workloads.expand import expand_pod
from kwhatif.workloads.rolling.update import UNCHANGED, Update
from kwhatif.workloads.template import has_images, spec_content, without_images

#: The volume that ServiceAccount admission adds.
_TOKEN_VOLUME = "kube-api-access-"  # noqa: S105 - not a password


def update_pod(pod: Pod, known: Pod, cluster: Cluster) -> Update:
    """Nothing, where admission would make the pod that is there; else that one goes."""
    made = complete_pod(pod, cluster)
    if not isinstance(made, Denied):
        same_labels = made.metadata.labels == known.metadata.labels
        # A snapshot may have left the images out: see `same_template`.
        wanted = made.spec if has_images(known.spec) else without_images(made.spec)
        if same_labels and spec_content(wanted) == spec_content(_as_created(known.spec, made.spec)):
            return UNCHANGED
    return Update("changed", () if is_terminal(known) else (known,), expand_pod(pod, cluster))


def _as_created(stored: PodSpec, made: PodSpec) -> PodSpec:
    """Without what came to the pod later: its node, its token; with the gates that have been lifted."""
    volumes = tuple(volume for volume in stored.volumes if not volume.name.startswith(_TOKEN_VOLUME))
    return replace(
        stored,
        node_name=made.node_name or "",
        volumes=stored.volumes if len(made.volumes) == len(stored.volumes) else volumes,
        scheduling_gates=made.scheduling_gates,
    )
