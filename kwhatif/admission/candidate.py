"""A candidate pod, as the API server would store it."""

from __future__ import annotations

from kwhatif.admission.defaults import default_object
from kwhatif.admission.denied import Denied, forbidden
from kwhatif.admission.label_keys import merge_label_keys
from kwhatif.admission.priority import PriorityClasses, resolve_priority
from kwhatif.model.pod import Pod


def admit_candidate(pod: Pod, classes: PriorityClasses) -> Pod | Denied:
    """Defaults, priority and label keys; a number in `spec.priority` is taken as it stands.

    That is what a pod read from a cluster has. The gate, which judges manifests only, is stricter (`admit_priority`).
    """
    pod = default_object(pod)
    if classes.lacks(pod):
        return forbidden(pod, f"no PriorityClass with name {pod.spec.priority_class_name} was found")
    return resolve_priority(merge_label_keys(pod), classes)
