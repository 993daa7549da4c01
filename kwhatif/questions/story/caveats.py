"""The caveats of a story: actors that are not known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kwhatif.controllers.taint_eviction import DEFAULTED
from kwhatif.kube.matching.tolerations import no_execute_taints, tolerates
from kwhatif.kube.matching.volumes import claim_names
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.workloads import OwnersSilent, TolerationUnknown, TooManyPods
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_static
from kwhatif.questions.manifests.resized import caveats_of_resizes
from kwhatif.questions.session.asked import admission_not_asked, new_pods
from kwhatif.questions.session.completeness import lacking_for_story
from kwhatif.questions.story.gaps import gaps_of, gaps_of_verdict
from kwhatif.simulation.engine import Engine
from kwhatif.workloads.many import wanted

#: How pods are removed that their controllers replace.
_REPLACED = ("Preempted", "Evicted", "TaintEviction", "DeviceTaintEviction", "PodGC", "Deleted")


def caveats_of_story(engine: Engine, before: Cluster) -> Iterator[Caveat]:
    """The caveats of `caveats_of_end`, those of what is not modelled, and of what the input lacks.

    Args:
        engine: a simulation that has come to its end.
        before: the cluster as it was at its start.
    """
    yield from caveats_of_end(engine)
    yield from gaps_of(engine, before)
    was, now = before.all(Pod), engine.world.state.cluster
    made = (pod for key, pod in now.all(Pod).items() if key not in was or was[key].metadata.uid != pod.metadata.uid)
    yield from admission_not_asked(new_pods(made), now)
    evicts = any(gone.how in ("Preempted", "Evicted") for gone in engine.world.history.gone.values())
    yield from lacking_for_story(before, evicts=evicts, uses_volumes=_uses_volumes(engine))


def _uses_volumes(engine: Engine) -> bool:
    """Whether pods with claims were made."""
    pods = engine.world.state.cluster.all(Pod)
    made = (event.object.removeprefix("Pod ") for event in engine.world.history.events if event.verb == "created")
    return any(pod is not None and any(claim_names(pod)) for pod in map(pods.get, made))


def caveats_of_verdict(engine: Engine, before: Cluster) -> Iterator[Caveat]:
    """Those of `caveats_of_story` that could change the outcome for manifests, and do not exist without them.

    Left out are events in time, such as runs of CronJobs, and pods that are left on nodes that were already lost.

    Args:
        engine: a simulation that has come to its end.
        before: the cluster as it was at its start.
    """
    yield from caveats_of_end(engine, before)
    yield from gaps_of_verdict(engine, before)
    if any(gone.how in ("Preempted", "Evicted") for gone in engine.world.history.gone.values()):
        yield from lacking_for_story(before, evicts=True)


def caveats_of_end(engine: Engine, before: Cluster | None = None) -> Iterator[Caveat]:
    """Owners that did not replace pods though they would have; pods that were left where they are.

    Args:
        engine: a simulation that has come to its end.
        before: leave out the pods on nodes whose taints are as they were in this cluster.
    """
    silent = [gone.owner for gone in engine.world.history.gone.values() if gone.owner and gone.how in _REPLACED]
    seen = {event.object for event in engine.world.history.events} if silent else set()
    there = {owner: owner in seen or _is_there(owner, engine) for owner in dict.fromkeys(silent)}
    silent = [owner for owner in silent if not there[owner]]
    if silent:
        yield OwnersSilent(owners=tuple(sorted(set(silent))), count=len(silent))
    for name, workload in engine.world.limits.short.items():
        judged = len(engine.world.pods_of(workload))
        yield TooManyPods(workload=name, count=max(wanted(workload), judged), judged=judged)
    resizes = engine.kubelets.resizes
    yield from caveats_of_resizes(tuple(resizes.assumed), tuple(resizes.critical))
    left = tuple(_left(engine, before))
    if left:
        yield TolerationUnknown(pods=left)


def _is_there(owner: str, engine: Engine) -> bool:
    """Whether the owner exists at the end."""
    name, _, key = owner.partition(" ")
    kind: type[Any] | None = next((kind for kind in RESOURCES if kind.__name__ == name), None)
    return kind is not None and engine.world.state.cluster.get(kind, key) is not None


def _left(engine: Engine, before: Cluster | None) -> Iterator[str]:
    for node in [node for node in engine.world.state.nodes if node.taints]:
        known = before.get(Node, node.name) if before is not None else None
        if known is not None and known.spec.taints == node.node.spec.taints:
            continue
        taints = [taint for taint in no_execute_taints(node.node) if taint.key in DEFAULTED]
        for info in node.pods if taints else ():
            tolerations = info.pod.spec.tolerations
            if not (info.terminating or is_static(info.pod)) and not all(
                any(tolerates(each, taint) for each in tolerations) for taint in taints
            ):
                yield key_of(info.pod)
