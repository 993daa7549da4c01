"""`read_candidates`: the pods that manifests ask about, as the API server would store them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import msgspec

from kwhatif.admission.candidate import admit_candidate
from kwhatif.admission.denied import Denied
from kwhatif.admission.priority import PriorityClasses
from kwhatif.errors import InputError, Problem
from kwhatif.model.caveat import Caveat, OneOfEqualPods
from kwhatif.model.cluster import Cluster, key_of
from kwhatif.model.originals import Originals
from kwhatif.model.pod import Pod
from kwhatif.model.policy import PriorityClass
from kwhatif.model.storage import PersistentVolumeClaim
from kwhatif.sources.manifests import read_manifests
from kwhatif.sources.origin import Manifest
from kwhatif.workloads.expand import Workload, expand


class Candidates(msgspec.Struct, frozen=True):
    """Pods to judge, the claims that their controllers would make for them, and what is to be said about them."""

    pods: tuple[Pod, ...]
    claims: tuple[PersistentVolumeClaim, ...] = ()
    caveats: tuple[Caveat, ...] = ()


def read_candidates(
    paths: Sequence[str],
    cluster: Cluster,
    *,
    stdin: BinaryIO,
    default_namespace: str,
    originals: Originals | None = None,
) -> Candidates:
    """Read manifests: pods as they stand, workloads as the pods that their controllers would make, equal ones once.

    Raises:
        InputError: with every problem of the manifests, refusals by the API server included.
    """
    read = read_manifests(paths, stdin=stdin, default_namespace=default_namespace, originals=originals)
    classes = PriorityClasses(cluster.all(PriorityClass).values())
    pods: list[Pod] = []
    claims: list[PersistentVolumeClaim] = []
    caveats: list[Caveat] = []
    problems: list[Problem] = []
    for manifest in read:
        workload = manifest.object
        if not isinstance(workload, Workload):
            continue
        made = expand(workload, cluster)
        for group in made.groups:
            claims.extend(group.claims)
            admitted = admit_candidate(next(group.pods()), classes)
            if isinstance(admitted, Denied):
                problems.append(_refusal(manifest, admitted, cluster))
                break
            pods.append(admitted)
            caveats.extend(_about_replicas(manifest, len(group.names)))
    if problems:
        raise InputError(problems)
    return Candidates(tuple(pods), tuple(claims), tuple(caveats))


def _refusal(manifest: Manifest, denied: Denied, cluster: Cluster) -> Problem:
    where = manifest.origin.where(f"{type(manifest.object).__name__} {key_of(manifest.object)}")
    reason = cluster.unread.get("PriorityClass")
    doubt = f"that may be wrong: {reason} priorityclasses" if reason else ""
    return Problem(where, denied.message, hint=doubt)


def _about_replicas(manifest: Manifest, count: int) -> Iterator[Caveat]:
    if count > 1:
        yield OneOfEqualPods(workload=f"{type(manifest.object).__name__} {key_of(manifest.object)}", count=count)
