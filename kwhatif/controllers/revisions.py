"""The revisions of a StatefulSet or DaemonSet: which pods have which template.

Upstream stores the templates as ControllerRevisions (`pkg/controller/history/controller_history.go`), which are not in
the model. Here a controller remembers the templates that it has seen. The template in a dump counts as the newest
revision; of older revisions only the names are known, from the labels of their pods.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import NamedTuple

from kwhatif.controllers.contract import View
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.workload import DaemonSet, StatefulSet
from kwhatif.workloads.daemon_set import newest_label
from kwhatif.workloads.stateful_set import REVISION_LABEL
from kwhatif.workloads.template import same_template

_REVISIONS = "revisions"
_MISSED = "missed"


class Revision(NamedTuple):
    """A template that the workload has had."""

    name: str
    template: PodTemplateSpec | None


def revisions_of(
    workload: StatefulSet | DaemonSet, view: View, known: str, made_up: Callable[[], str]
) -> tuple[Revision, ...]:
    """The known revisions; the newest one, with the workload's own template, comes last.

    Args:
        workload: the current workload.
        view: the view of the cluster, with the memory of the workload.
        known: the newest revision in its status; "": none.
        made_up: the name for a new one.
    """
    memory = view.memory(type(workload).__name__, key_of(workload))
    seen: tuple[Revision, ...] = memory.get(_REVISIONS, ())
    template = workload.spec.template
    if seen and seen[-1].template is template:
        return seen
    if not seen:
        seen = (Revision(known or newest_label(view.pods_of(workload)) or made_up(), template),)
    else:
        if has_others(view.pods_of(workload), {each.name for each in seen}):
            note_missed(workload, view)
        equal = next((each for each in seen if same_template(each.template, template)), None)
        name = made_up() if equal is None else equal.name
        seen = (*(each for each in seen if each is not equal), Revision(name, template))
    memory[_REVISIONS] = seen
    return seen


def has_others(pods: Iterable[Pod], known: Container[str]) -> bool:
    """Whether any of the pods has a revision whose template is not known."""
    return any((name := revision_label(pod)) and name not in known for pod in pods)


def note_missed(workload: StatefulSet | DaemonSet, view: View) -> None:
    """Record that the template of an older revision was needed, but is not known."""
    view.memory(type(workload).__name__, key_of(workload))[_MISSED] = True


def has_missed(workload: StatefulSet | DaemonSet, view: View) -> bool:
    """Whether an unknown template of an older revision was needed."""
    return _MISSED in view.memory(type(workload).__name__, key_of(workload))


def revision_label(pod: Pod) -> str:
    """The name of the pod's revision; "" if it has none."""
    return pod.metadata.labels.get(REVISION_LABEL, "")
