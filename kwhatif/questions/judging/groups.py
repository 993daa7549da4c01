"""Groups of pods in a question: what has to be so for them to be judged, and the rows about what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from kwhatif.kube.gates import GROUPS_GATE
from kwhatif.kube.matching.groups import GROUPS_SINCE, has_groups
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import VersionNotDefault
from kwhatif.kube.model.caveat.scheduling import GangsNotModelled
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.session.session import Session
from kwhatif.scheduler.release import find_release


def with_groups(session: Session, applied: Sequence[Applied]) -> tuple[Session, Sequence[Applied]]:
    """The session and the objects for a question about groups; as they are where it is none.

    A PodGroup can only be applied where the gate is on: that is taken to be so, unless somebody has turned it off. Pods
    and groups that bear a UID were read from an API server, which has admitted them: they are taken as they stand.
    """
    groups = [each for each in applied if isinstance(each.object, PodGroup)]
    if not groups and not (has_groups(session.cluster) and session.cluster.all(PodGroup)):
        return session, applied
    settings = session.scheduler.feature_gates
    if session.cluster.minor >= GROUPS_SINCE and settings.get(GROUPS_GATE, True):
        if not has_groups(session.cluster):
            gates = {**settings, GROUPS_GATE: True}
            session = session.for_release(find_release(session.cluster.minor).with_gates(gates))
        applied = [replace(each, stored=True) if _is_stored(each) else each for each in applied]
    return session, applied


def _is_stored(each: Applied) -> bool:
    return isinstance(each.object, Pod | PodGroup) and bool(each.object.metadata.uid)


def is_about_groups(cluster: Cluster) -> bool:
    """Whether a cluster has groups that its scheduler places together: then time has to pass until they are settled."""
    return has_groups(cluster) and bool(cluster.all(PodGroup))


def without_modelled(caveats: Iterable[Caveat], cluster: Cluster) -> Iterator[Caveat]:
    """The caveats without those about pods of groups, where these are placed together."""
    for caveat in caveats:
        if isinstance(caveat, GangsNotModelled) and has_groups(cluster):
            if caveat.groups:
                yield GangsNotModelled(groups=caveat.groups)
        elif isinstance(caveat, VersionNotDefault) and caveat.kind == PodGroup.__name__ and has_groups(cluster):
            continue  # the gate asks for this version
        else:
            yield caveat
