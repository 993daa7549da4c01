"""Groups of pods in a question: what has to be so for them to be judged, and the rows about what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from kwhatif.kube.gates import GROUPS_GATE
from kwhatif.kube.matching.groups import GROUPS_SINCE, has_groups
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.session.session import Session
from kwhatif.scheduler.release import find_release


def with_groups(session: Session, applied: Sequence[Applied]) -> tuple[Session, Sequence[Applied]]:
    """The session and the objects for a question about groups; unchanged for other questions.

    A PodGroup can only be applied where the gate is on: this is assumed, unless it was turned off explicitly. Pods and
    groups that bear a UID were read from an API server, which has admitted them: they are not changed.
    """
    session = with_gate(session, [each.object for each in applied])
    if has_groups(session.cluster):
        applied = [replace(each, stored=True) if _is_stored(each) else each for each in applied]
    return session, applied


def with_gate(session: Session, objects: Iterable[object]) -> Session:
    """The session whose gate is on, where a PodGroup is to be applied; itself, where it is, or is turned off."""
    settings, minor = session.scheduler.feature_gates, session.cluster.minor
    if has_groups(session.cluster) or minor < GROUPS_SINCE or not settings.get(GROUPS_GATE, True):
        return session
    if not any(isinstance(each, PodGroup) for each in objects):
        return session
    release = find_release(minor).with_gates({**settings, GROUPS_GATE: True})
    unedited = None if session.unedited is None else session.unedited.for_release(release)
    return replace(session.for_release(release), scheduler=session.scheduler, unedited=unedited)


def _is_stored(each: Applied) -> bool:
    return isinstance(each.object, Pod | PodGroup) and bool(each.object.metadata.uid)


def is_about_groups(cluster: Cluster) -> bool:
    """Whether a cluster has groups that its scheduler places together: then time has to pass until they are settled."""
    return has_groups(cluster) and bool(cluster.all(PodGroup))
