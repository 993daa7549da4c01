"""`requests from …`: pods as they would be, had they been started with the requests that they need.

What was measured counts as what a VerticalPodAutoscaler would recommend: of each container the most that it used in any
pod of its workload. New pods get it by that autoscaler's webhook (`admission/vertical_autoscaler.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.new_pod import workload_of
from kwhatif.admission.vertical_autoscaler import (
    OFF,
    REQUESTS_ONLY,
    SCALED,
    WEBHOOK_CONFIGURATION,
    controlling,
    custom_name,
    is_registered,
    recommended,
    strength,
    to_texts,
    update_mode,
    with_recommended,
)
from kwhatif.edits.edit import FROM_METRICS, FROM_VPA, Measured, Requests, Resolved, Wrong
from kwhatif.edits.selection import Lookup, some
from kwhatif.kube.matching.requests import CPU, computed_qos_class, max_into, pod_requests, resource_nanos
from kwhatif.kube.model.bystanders import (
    ContainerResourcePolicy,
    CrossVersionObjectReference,
    PodMetrics,
    RecommendedContainerResources,
    RecommendedPodResources,
    VerticalPodAutoscaler,
    VerticalPodAutoscalerSpec,
    VerticalPodAutoscalerStatus,
    VerticalResourcePolicy,
    VerticalUpdatePolicy,
)
from kwhatif.kube.model.caveat.workloads import RequestsKept
from kwhatif.kube.model.cluster import Cluster, ObjectRef, key_of
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.policy import MutatingWebhookConfiguration
from kwhatif.kube.model.quantity import NANO, ceil_to_milli, parse_quantity, value
from kwhatif.kube.model.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from kwhatif.report.edit_notes import (
    EditNote,
    MostMeasured,
    NodesExceeded,
    NothingChanges,
    PodsNotMeasured,
    RequestsChanged,
)
from kwhatif.simulation.resizing import resized
from kwhatif.state.change import Upsert
from kwhatif.workloads.owners import reference

#: Name of a container -> nano-units by resource.
_Used = dict[str, dict[str, int]]
#: The mode in which an autoscaler sets requests of new pods, and leaves running ones alone.
_INITIAL = "Initial"


def requests(edit: Requests, lookup: Lookup) -> Resolved:
    """The autoscalers that set requests of new pods, and in `follow` the pods that run or wait.

    In a simulation that is under way, only new pods get them: the autoscalers do not evict (mode "Initial").
    """
    cluster = lookup.cluster
    used, strangers = _by_workload(edit, lookup)
    vpas = _recommending(edit, used, cluster)
    if not vpas:
        raise _nothing(edit, strangers)
    changed: list[tuple[Pod, Pod]] = []
    kept: dict[str, None] = {}
    for pod in cluster.all(Pod).values():
        if is_terminal(pod):
            continue
        owner = _owner(pod, cluster)
        vpa = vpas.get(owner) or vpas.get(custom_name(owner, cluster))
        rows = {} if vpa is None else recommended(pod, vpa, cluster)
        left = [each.name for each in pod.spec.containers if each.name not in rows]
        if left or pod.spec.resources is not None:
            kept[owner if not rows or pod.spec.resources is not None else f"{owner} ({', '.join(left)})"] = None
        new = pod if pod.spec.resources is not None else _started_with(with_recommended(pod, rows), pod)
        if new != pod:
            changed.append((pod, new))
    made = [vpa for owner, vpa in vpas.items() if ObjectRef.parse(owner).kind not in _ALONE]
    known = cluster.all(VerticalPodAutoscaler)
    written: list[Any] = [vpa for vpa in made if known.get(key_of(vpa)) != vpa]
    if not is_registered(cluster):  # the question is what happens if these autoscalers set requests
        written.append(MutatingWebhookConfiguration(metadata=ObjectMeta(name=WEBHOOK_CONFIGURATION)))
    source = _source(edit)
    return Resolved(
        tuple(map(Upsert, written)),
        follow=tuple(Upsert(new) for _, new in changed),
        notes=tuple(_notes(edit, changed, strangers, cluster)),
        caveats=(RequestsKept(source=source, workloads=tuple(sorted(kept))),) if kept else (),
    )


#: The owners of pods that no workload makes: themselves, or the node of a kubelet.
_ALONE = ("Pod", "Node")


def _owner(pod: Pod, cluster: Cluster) -> str:
    owner = workload_of(pod, cluster)
    return f"Pod {key_of(pod)}" if not owner or ObjectRef.parse(owner).kind in _ALONE else owner


def _source(edit: Requests) -> str:
    words = {FROM_VPA: "the VerticalPodAutoscalers", FROM_METRICS: "the PodMetrics"}
    return " and ".join(words.get(each, each) for each in edit.sources)


def _nothing(edit: Requests, strangers: Sequence[str]) -> Wrong:
    if edit.sources == (FROM_VPA,):
        hint = "kubectl get vpa -A -o yaml > vpa.yaml, and give that file, too"
        return Wrong("the input has no VerticalPodAutoscaler with a recommendation", hint)
    if edit.sources == (FROM_METRICS,):
        return Wrong("the input has no PodMetrics", "kubectl top pods -A --containers > usage.txt, and give that file")
    hint = "name the namespace with -n" if strangers and strangers[0].startswith("default/") else ""
    return Wrong(f"{_source(edit)}: none of its pods is of a workload of the input: {some(strangers)}", hint)


def _started_with(new: Pod, old: Pod) -> Pod:
    """The pod with its requests in use, as if it had been started with them: no resize is under way."""
    if new is old:
        return old
    status = new.status
    if any(row.resources is not None or row.allocated_resources for row in status.container_statuses):
        status = resized(new).status
    return replace(new, status=replace(status, qos_class=computed_qos_class(new.spec) if status.qos_class else ""))


# --- what was recommended ----------------------------------------------------------------------------------------


def _recommending(edit: Requests, used: Mapping[str, _Used], cluster: Cluster) -> dict[str, VerticalPodAutoscaler]:
    """Workload -> the autoscaler that sets requests of its pods, with what was measured before all others."""
    own = cluster.all(VerticalPodAutoscaler).values() if FROM_VPA in edit.sources else ()
    every = [vpa for vpa in (*own, *edit.found.vpas) if vpa.status.recommendation is not None]
    found: dict[str, VerticalPodAutoscaler] = {}
    for vpa in sorted(every, key=lambda vpa: (update_mode(vpa) == OFF, strength(vpa))):
        found.setdefault(vpa.target, vpa if update_mode(vpa) != OFF else _switched_on(vpa))
    for owner, containers in used.items():
        before = found.get(owner) or controlling(owner, cluster)
        found[owner] = _recommending_use(owner, containers, before)
    return found


def _switched_on(vpa: VerticalPodAutoscaler) -> VerticalPodAutoscaler:
    """An autoscaler in mode Off, as if it also set the requests of new pods."""
    return replace(vpa, spec=replace(vpa.spec, update_policy=replace(vpa.spec.update_policy, update_mode=_INITIAL)))


def _recommending_use(owner: str, used: _Used, before: VerticalPodAutoscaler | None) -> VerticalPodAutoscaler:
    """An autoscaler that recommends what was measured, and what it recommended `before` where nothing was."""
    ref = ObjectRef.parse(owner)
    status = None if before is None else before.status.recommendation
    known = {each.container_name: each.target for each in ([] if status is None else status.container_recommendations)}
    rows = tuple(
        RecommendedContainerResources(
            container_name=container, target={**known.get(container, {}), **to_texts(used.get(container, {}))}
        )
        for container in sorted({*known, *used})
    )
    made = VerticalPodAutoscaler(
        api_version="autoscaling.k8s.io/v1",
        metadata=ObjectMeta(name=f"{ref.kind.lower()}-{ref.name}", namespace=ref.namespace),
    )
    spec = VerticalPodAutoscalerSpec(
        target_ref=CrossVersionObjectReference(kind=ref.kind, name=ref.name),
        update_policy=VerticalUpdatePolicy(update_mode=_INITIAL),
        resource_policy=VerticalResourcePolicy(
            container_policies=(ContainerResourcePolicy(container_name="*", controlled_values=REQUESTS_ONLY),)
        ),
    )
    status = RecommendedPodResources(container_recommendations=rows)
    return replace(before or made, spec=spec, status=VerticalPodAutoscalerStatus(recommendation=status))


# --- what was measured -------------------------------------------------------------------------------------------


def measured_in(cluster: Cluster) -> Iterator[Measured]:
    """What the PodMetrics of a cluster say."""
    for metrics in cluster.all(PodMetrics).values():
        for row in metrics.containers:
            amounts = {name: parse_quantity(row.usage[name]) for name in SCALED if name in row.usage}
            yield Measured(metrics.metadata.name, metrics.metadata.namespace, row.name, amounts)


def _by_workload(edit: Requests, lookup: Lookup) -> tuple[dict[str, _Used], tuple[str, ...]]:
    """The highest measured usage of each workload's containers; and the pods that belong to no workload."""
    cluster = lookup.cluster
    rows = chain(edit.found.measured, measured_in(cluster) if FROM_METRICS in edit.sources else ())
    used: dict[str, _Used] = {}
    strangers: dict[str, None] = {}
    for row in rows:
        key = f"{lookup.namespace if row.namespace is None else row.namespace}/{row.pod}"
        pod = cluster.get(Pod, key)
        owner = _owner_named(key, cluster) if pod is None else _owner(pod, cluster)
        container = row.container or _only_container(pod)
        if owner is None or container is None:
            strangers[key] = None
            continue
        most = used.setdefault(owner, {}).setdefault(container, {})
        max_into(most, {name: _stored(name, nanos) for name, nanos in row.amounts.items()})
    return used, tuple(strangers)


def _stored(name: str, nanos: int) -> int:
    """As the API server stores requests: cpu in milli-units, memory in bytes."""
    return ceil_to_milli(nanos) if name == CPU else value(nanos) * NANO


def _only_container(pod: Pod | None) -> str | None:
    """The only container of a pod, to which the usage of the whole pod belongs; None: it has several."""
    names = [] if pod is None else [each.name for each in (*pod.spec.containers, *pod.spec.init_containers)]
    return names[0] if len(names) == 1 else None


#: What `utilrand.SafeEncodeString` and `names.SimpleNameGenerator` make names of.
_SAFE = "[bcdfghjklmnpqrstvwxz2456789]"
#: Kinds of workloads, by the suffix that their pods' names have.
_NAMED = (
    (re.compile(rf"(.+)-{_SAFE}{{5}}"), (ReplicaSet, DaemonSet, Job, ReplicationController)),
    (re.compile(r"(.+)-[0-9]+"), (StatefulSet,)),
    (re.compile(rf"(.+)-{_SAFE}{{1,10}}-{_SAFE}{{5}}"), (Deployment,)),
    (re.compile(rf"(.+)-[0-9]+-{_SAFE}{{5}}"), (CronJob, Job)),
)


def _owner_named(key: str, cluster: Cluster) -> str | None:
    """The workload of a pod that no longer exists, found by the pod's name; None: no workload fits the name."""
    namespace, _, name = key.partition("/")
    for pattern, kinds in _NAMED:
        match = pattern.fullmatch(name)
        for kind in kinds if match else ():
            assert match is not None
            found = cluster.get(kind, f"{namespace}/{match[1]}")
            if found is not None:
                made = Pod(metadata=replace(Pod().metadata, namespace=namespace, owner_references=(reference(found),)))
                return workload_of(made, cluster)
    return None


# --- what to know about it ---------------------------------------------------------------------------------------


def _notes(
    edit: Requests, changed: Sequence[tuple[Pod, Pod]], strangers: Sequence[str], cluster: Cluster
) -> Iterator[EditNote]:
    if not changed:
        yield NothingChanges("requests")
    sums: list[dict[str, int]] = [{}, {}]
    for pair in changed:
        for total, pod in zip(sums, pair, strict=True):
            for name, amount in pod_requests(pod).items():
                total[name] = total.get(name, 0) + amount
    before, after = sums
    if changed:
        yield RequestsChanged({name: (before.get(name, 0), after.get(name, 0)) for name in SCALED})
    if edit.found.measured or FROM_METRICS in edit.sources:
        yield MostMeasured()
    yield from _beyond(changed, cluster)
    if strangers:
        yield PodsNotMeasured(tuple(strangers))


def _beyond(changed: Sequence[tuple[Pod, Pod]], cluster: Cluster) -> Iterator[EditNote]:
    """Nodes whose pods then request more than is allocatable: they keep running, but not all could start again."""
    new = {key_of(pod): pod for _, pod in changed}
    touched = {pod.spec.node_name for pod in new.values()} - {""}
    sums: dict[str, dict[str, int]] = {}
    for key, pod in cluster.all(Pod).items() if touched else ():
        if pod.spec.node_name in touched and not is_terminal(pod):
            total = sums.setdefault(pod.spec.node_name, {})
            for name, amount in pod_requests(new.get(key, pod)).items():
                total[name] = total.get(name, 0) + amount
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for name, total in sorted(sums.items()):
        node = cluster.get(Node, name)
        there = {} if node is None else resource_nanos(node.status.allocatable)
        short = {
            each: (total[each], there[each]) for each in SCALED if each in there and total.get(each, 0) > there[each]
        }
        if short:
            found[name] = short
    if found:
        yield NodesExceeded(found)
