"""Changes for a pod that the API server refuses: a quota that is used up, a namespace that does not exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kwhatif.admission.outcome import ObjectNotFound, QuotaExceeded, Refusal
from kwhatif.edits.edit import Assignment, SetFields
from kwhatif.edits.words import reference
from kwhatif.kube.matching.requests import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY, units
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.policy import ResourceQuota
from kwhatif.kube.model.quantity import amounts, ceil_to_milli, parse_quantity
from kwhatif.kube.model.workload import Job, Namespace, NamespaceMeta
from kwhatif.questions.advise.blocking import Resizable, delete_pods, job_done, owner_of_pod, pods_of_job, scale_down
from kwhatif.questions.advise.change import AdvisedChange, Amount, Revise, Spec, in_cluster, in_spec
from kwhatif.questions.advise.claims import created
from kwhatif.questions.decisions.rows import text_of
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

_MI = 1 << 20


def request_less(resource: str, requested: int, cut: int) -> AdvisedChange:
    """Request `cut` less of a resource of which the whole pod requests `requested` (milli-cpu, bytes, units)."""
    left = requested - cut
    step = _MI if resource in (MEMORY, EPHEMERAL_STORAGE) and requested > 64 * _MI else 1
    return in_spec(
        "request-less",
        _limited_to(resource, left),
        # A small cut costs little, a large one a lot.
        extra=60 * cut // max(requested, 1),
        about=resource,
        before=text_of(resource, requested),
        after=text_of(resource, left),
        amount=Amount(cut, requested - 1, step, lambda more: request_less(resource, requested, more)),
    )


def units_of(resource: str, text: Any) -> int:
    """A quantity in the scheduler's units, as `kwhatif.kube.matching.requests` counts them."""
    return units(resource, ceil_to_milli(parse_quantity(text)))


def _limited_to(resource: str, most: int) -> Revise:
    """Limit the pod's total request: the container with the largest request is reduced first."""

    def revise(spec: Spec) -> None:
        overhead = units_of(resource, (spec.get("overhead") or {}).get(resource, 0))
        room = max(most - overhead, 0)
        whole = spec.get("resources")
        if whole and resource in (whole.get("requests") or {}):
            _set(whole, resource, min(_asked(whole, resource), room))
        sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
        _share([*(spec.get("containers") or ()), *sidecars], resource, room)
        beside = 0
        for container in spec.get("initContainers") or ():
            if container.get("restartPolicy") == "Always":
                beside += _of(container, resource)
            elif _of(container, resource) + beside > room:
                _set(container.setdefault("resources", {}), resource, max(room - beside, 0))

    return revise


def _share(containers: list[dict[str, Any]], resource: str, room: int) -> None:
    """Reduce the largest in turn until all fit into the room together."""
    over = sum(_of(each, resource) for each in containers) - room
    for each in sorted(containers, key=lambda each: _of(each, resource), reverse=True):
        if over <= 0:
            return
        asked = _of(each, resource)
        _set(each.setdefault("resources", {}), resource, max(asked - over, 0))
        over -= asked


def _of(container: dict[str, Any], resource: str) -> int:
    return _asked(container.get("resources") or {}, resource)


def _asked(resources: dict[str, Any], resource: str) -> int:
    """The request; without one, the limit."""
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    return units_of(resource, requests.get(resource, limits.get(resource, 0)))


def _set(resources: dict[str, Any], resource: str, amount: int) -> None:
    text = text_of(resource, amount)
    resources.setdefault("requests", {})[resource] = text
    limits = resources.get("limits") or {}
    # Extended resources and huge pages cannot be overcommitted: request and limit are equal.
    if resource in limits and ("/" in resource or resource.startswith(HUGEPAGES_PREFIX)):
        limits[resource] = text


#: The most workloads, and bare pods, that use up a quota to try.
_MOST_TRIED = 4


def refused(
    refusal: Refusal | None, namespace: str, pod: Pod | None, own: tuple[str, str], state: State
) -> Iterator[AdvisedChange]:
    """Changes for a pod that is not even created.

    Args:
        refusal: why the API server does not create it.
        namespace: that of the pod.
        pod: as its workload's template has it, if that is known.
        own: kind and name of that workload, which is not scaled down.
        state: the cluster.
    """
    if isinstance(refusal, QuotaExceeded):
        quota = state.cluster.get(ResourceQuota, f"{namespace}/{refusal.quota}")
        if quota is not None:
            amounts = PodInfo(pod).resources.requested if pod is not None else None
            requested = {name: amounts.of(name) for name in amounts.asked} if amounts is not None else {}
            yield from _of_quota(quota, refusal, requested)
        yield from _fewer_in(namespace, pod or Pod(), own, state)
    elif isinstance(refusal, ObjectNotFound) and refusal.kind == "Namespace":
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


def _of_quota(quota: ResourceQuota, exceeded: QuotaExceeded, requested: dict[str, int]) -> Iterator[AdvisedChange]:
    key = key_of(quota)
    asked, used, limited = map(amounts, (exceeded.requested, exceeded.used, exceeded.limited))
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
