"""Changes for a pod that the API server refuses: a quota that is used up, a namespace that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.quota.state import Exceeded, exceeded_in
from kwhatif.edits.edit import Assignment, SetFields
from kwhatif.edits.words import reference
from kwhatif.kube.matching.requests import CPU
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.policy import ResourceQuota
from kwhatif.kube.model.workload import Job, Namespace, NamespaceMeta
from kwhatif.questions.advise.blocking import Resizable, delete_pods, job_done, owner_of_pod, pods_of_job, scale_down
from kwhatif.questions.advise.change import AdvisedChange, in_cluster
from kwhatif.questions.advise.claims import created
from kwhatif.questions.advise.requests import request_less
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: The most workloads, and bare pods, to try that use up a quota.
_MOST_TRIED = 4


def refused(
    message: str, namespace: str, pod: Pod | None, own: tuple[str, str], state: State
) -> Iterator[AdvisedChange]:
    """Changes for a pod that is not even created.

    Args:
        message: the API server's: only it says what is missing.
        namespace: that of the pod.
        pod: as its workload's template has it, if that is known.
        own: kind and name of that workload, which is not scaled down.
        state: the cluster.
    """
    exceeded = exceeded_in(message)
    if exceeded is not None:
        quota = state.cluster.get(ResourceQuota, f"{namespace}/{exceeded.quota}")
        if quota is not None:
            amounts = PodInfo(pod).resources.requested if pod is not None else None
            requested = {name: amounts.of(name) for name in amounts.asked} if amounts is not None else {}
            yield from _of_quota(quota, exceeded, requested)
        yield from _fewer_in(namespace, pod or Pod(), own, state)
    elif f'namespaces "{namespace}" not found' in message:
        yield created("create-namespace", Namespace(metadata=NamespaceMeta(name=namespace)), namespace, "v1")


def _fewer_in(namespace: str, pod: Pod, own: tuple[str, str], state: State) -> Iterator[AdvisedChange]:
    """Free the quota: scale down workloads, wait for Jobs, delete bare pods."""
    workloads: dict[tuple[str, str], Resizable] = {}
    alone: list[PodInfo] = []
    for info in sorted(state.pods.values(), key=lambda each: (each.priority, each.key)):
        if info.namespace != namespace or is_terminal(info.pod):
            continue
        owner = owner_of_pod(info.pod, state.cluster)
        if owner is not None:
            workloads.setdefault((type(owner).__name__, owner.metadata.name), owner)
        elif controller_of(info.pod.metadata) is None:
            alone.append(info)
    others = [owner for key, owner in workloads.items() if key != own]
    for owner in others[:_MOST_TRIED]:
        yield scale_down(owner)
        if isinstance(owner, Job):
            yield job_done(owner, [each.pod for each in pods_of_job(owner, state)])
    preemptor = PodInfo(pod)
    yield from (delete_pods([each.pod], preemptor) for each in alone[:_MOST_TRIED])
    if len(alone) > 1:
        yield delete_pods([each.pod for each in alone[:_MOST_TRIED]], preemptor)


def _of_quota(quota: ResourceQuota, exceeded: Exceeded, requested: dict[str, int]) -> Iterator[AdvisedChange]:
    key = key_of(quota)
    _, asked, used, limited = exceeded
    hard = {name: used[name] + asked[name] for name in asked if used.get(name, 0) + asked[name] > limited.get(name, 0)}
    values = {name: _quantity(name, nanos) for name, nanos in hard.items()}
    said = " ".join(f"spec.hard[{name}]={value}" for name, value in values.items())
    edit = SetFields(
        text=f"set resourcequota/{key} {said}",
        object=reference(f"resourcequota/{key}"),
        values=tuple(Assignment(("spec", "hard", name), value) for name, value in values.items()),
    )
    yield in_cluster(
        "raise-quota",
        key,
        edit,
        about=", ".join(hard),
        before=", ".join(f"{name}={quota.spec.hard.get(name, '')}" for name in hard),
        after=", ".join(f"{name}={value}" for name, value in values.items()),
    )
    for name, needed in hard.items():
        resource = name.removeprefix("requests.")
        unit = 1_000_000 if resource == CPU else 1_000_000_000
        whole = requested.get(resource, 0)
        cut = -(-(needed - limited[name]) // unit)
        if name != "pods" and 0 < cut < whole:
            yield request_less(resource, whole, cut)


def _quantity(name: str, nanos: int) -> str:
    if nanos % 1_000_000_000:
        return f"{-(-nanos // 1_000_000)}m"
    whole = nanos // 1_000_000_000
    is_bytes = name.rpartition(".")[2] in ("memory", "storage", "ephemeral-storage")
    for suffix, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)) if is_bytes and whole else ():
        if whole % size == 0:
            return f"{whole // size}{suffix}"
    return str(whole)
