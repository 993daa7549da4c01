"""What follows once the pods of a question are placed: a simulation with the same objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kwhatif.admission.new_objects import check_workload
from kwhatif.edits.edit import Apply
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import Namespace
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.edited import Given
from kwhatif.questions.manifests.hooks import in_phases
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.simulate import played
from kwhatif.report.story import Story
from kwhatif.simulation.parameters import Parameters


def _is_refused(obj: Any, cluster: Cluster) -> bool:
    """Whether the API server refuses the workload; for a pod this shows when it is created."""
    return not isinstance(obj, Pod) and check_workload(obj, cluster) is not None


def aftermath(session: Session, applied: Sequence[Applied]) -> tuple[Story, Iterable[Caveat]]:
    """The story of applying them, and its caveats; objects that the API server refuses are left out.

    Helm hooks that end are left out.

    Objects that are asked for by name are already in the cluster: then nothing is applied, and pending pods are tried.

    Raises:
        InputError: an object cannot be applied.
    """
    new = [each for each in in_phases(applied).staying if not each.restarted]
    around = tuple(each.object for each in new if not each.is_workload)
    namespaces = {obj.metadata.name for obj in around if isinstance(obj, Namespace)}
    workloads = tuple(
        each.object
        for each in new
        if each.is_workload
        and (each.object.metadata.namespace in namespaces or not _is_refused(each.object, session.cluster))
    )
    applies = [Apply(text="apply manifests", objects=objects) for objects in (around, workloads) if objects]
    return played(session, [Given("manifests", each) for each in applies], Parameters())
