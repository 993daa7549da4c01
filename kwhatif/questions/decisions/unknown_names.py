"""Names in a pod that do not exist in the cluster, with similar ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from kwhatif.admission.plugins import ALWAYS_THERE
from kwhatif.kube.matching.field_errors import nearest
from kwhatif.kube.matching.nodes import tolerates
from kwhatif.kube.matching.requests import is_scalar_resource
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import Requirement
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.pod_spec import Toleration
from kwhatif.kube.model.policy import PriorityClass, RuntimeClass
from kwhatif.kube.model.resource import ResourceClaim
from kwhatif.kube.model.storage import PersistentVolumeClaim, StorageClass
from kwhatif.kube.model.workload import Namespace
from kwhatif.report.decision import NameKind, NearNameRow, UnknownNameRow
from kwhatif.scheduler.framework.evidence import taint_text
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


def unknown_names(pod: Pod, state: State, plugins: Collection[str]) -> tuple[UnknownNameRow, ...]:
    """Names of nodes' properties, and of objects, in the pod that do not exist.

    Only where it is an obstacle: `plugins` are those that object. A cluster without a single object of a kind is a dump
    without that kind, so nothing is said about it.
    """
    found: list[UnknownNameRow] = []
    if "NodeAffinity" in plugins:
        found.extend(sorted(_labels(pod.spec, state), key=_distance))
    if "TaintToleration" in plugins:
        found.extend(_tolerations(pod.spec, state))
    if "NodeResourcesFit" in plugins:
        found.extend(_resources(PodInfo(pod), state))
    return (*found, *unknown_objects(pod, state.cluster))


def unknown_objects(pod: Pod, cluster: Cluster) -> tuple[UnknownNameRow, ...]:
    """Missing objects that the pod names: also for a pod that the API server refuses for that."""
    return tuple(_objects(pod, cluster))


# --- of nodes ----------------------------------------------------------------------------------------


def _labels(spec: PodSpec, state: State) -> Iterator[UnknownNameRow]:
    """Requirements that no node meets, of the node selector, and of affinity terms if none of them can be met."""
    for key, value in (spec.node_selector or {}).items():
        yield from _label(state, key, (value,))
    affinity = spec.affinity.node_affinity if spec.affinity else None
    terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
    per_term = [[row for need in term.match_expressions for row in _needed_label(state, need)] for term in terms]
    if all(per_term):
        yield from dict.fromkeys(row for rows in per_term for row in rows)


def _distance(row: UnknownNameRow) -> float:
    """How far the nearest name is: the most likely mistake comes first."""
    names = re.split(r"[=(), ]+", row.name)
    close = [SequenceMatcher(None, name.lower(), near.name.lower()).ratio() for name in names for near in row.near]
    return -max(close, default=0.0)


def _needed_label(state: State, need: Requirement) -> Iterator[UnknownNameRow]:
    if need.operator == "In":
        yield from _label(state, need.key, need.values)
    elif need.operator in ("Exists", "Gt", "Lt"):
        yield from _label(state, need.key, ())


def _label(state: State, key: str, values: Sequence[str]) -> Iterator[UnknownNameRow]:
    """The label, if no node has it with any of the values; without values only the key counts."""
    known = Counter(node.labels[key] for node in state.nodes if key in node.labels)
    if any(value in known for value in values) or (known and not values):
        return
    name = key if not values else f"{key}={values[0]}" if len(values) == 1 else f"{key} in ({','.join(values)})"
    if known:
        near = list(dict.fromkeys(close for value in values for close in nearest(value, known)))
        yield _row("label", name, near, known)
        return
    keys = Counter(label for node in state.nodes for label in node.labels)
    yield _row("label", name, nearest(key, keys), keys)


def _tolerations(spec: PodSpec, state: State) -> Iterator[UnknownNameRow]:
    """Tolerations that match no taint, but are similar to an existing one; all others are usual."""
    taints = Counter(taint for node in state.nodes for taint in node.taints)
    by_text = {
        taint_text(taint): taint for taint in sorted(taints, key=lambda taint: (-taints[taint], taint_text(taint)))
    }
    counts = Counter({text: taints[taint] for text, taint in by_text.items()})
    for toleration in spec.tolerations:
        # Pods get those of Kubernetes itself by default, whatever taints there are.
        if (
            not toleration.key
            or toleration.key.startswith("node.kubernetes.io/")
            or any(tolerates(toleration, taint) for taint in taints)
        ):
            continue
        same = [text for text, taint in by_text.items() if taint.key == toleration.key]
        keys = {taint.key for taint in taints}
        near = same or [
            text for key in nearest(toleration.key, keys) for text, taint in by_text.items() if taint.key == key
        ]
        if near:
            yield _row("toleration", _toleration_text(toleration), near, counts)


def _toleration_text(toleration: Toleration) -> str:
    value = f"={toleration.value}" if toleration.value and toleration.operator != "Exists" else ""
    return f"{toleration.key}{value}" + (f":{toleration.effect}" if toleration.effect else "")


def _resources(pod: PodInfo, state: State) -> Iterator[UnknownNameRow]:
    """Extended resources that no node has."""
    known = Counter(name for node in state.nodes for name, _ in node.allocatable.scalars)
    for name, amount in pod.resources.requested.scalars:
        if amount > 0 and name not in known and is_scalar_resource(name):
            yield _row("resource", name, nearest(name, known), known)


# --- of objects --------------------------------------------------------------------------------------


def _objects(pod: Pod, cluster: Cluster) -> Iterator[UnknownNameRow]:
    spec, namespace = pod.spec, pod.metadata.namespace
    if namespace not in ("", *ALWAYS_THERE):
        yield from _object(cluster, "namespace", Namespace, namespace)
    if spec.priority_class_name:
        yield from _object(cluster, "priorityClass", PriorityClass, spec.priority_class_name)
    if spec.runtime_class_name:
        yield from _object(cluster, "runtimeClass", RuntimeClass, spec.runtime_class_name)
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield from _claim(cluster, namespace, volume.persistent_volume_claim.claim_name)
    for claim in spec.resource_claims:
        if claim.resource_claim_name:
            yield from _object(cluster, "resourceClaim", ResourceClaim, claim.resource_claim_name, namespace)


def _claim(cluster: Cluster, namespace: str, name: str) -> Iterator[UnknownNameRow]:
    claim = cluster.get(PersistentVolumeClaim, f"{namespace}/{name}")
    if claim is None:
        yield from _object(cluster, "persistentVolumeClaim", PersistentVolumeClaim, name, namespace)
    elif claim.spec.storage_class_name and not claim.spec.volume_name:
        yield from _object(cluster, "storageClass", StorageClass, claim.spec.storage_class_name)


_Kind = (
    type[Namespace]
    | type[PriorityClass]
    | type[RuntimeClass]
    | type[ResourceClaim]
    | type[PersistentVolumeClaim]
    | type[StorageClass]
)


def _object(cluster: Cluster, kind: NameKind, type_: _Kind, name: str, namespace: str = "") -> Iterator[UnknownNameRow]:
    known = cluster.all(type_)
    prefix = f"{namespace}/" if namespace else ""
    if not known or f"{prefix}{name}" in known:
        return
    yield _row(kind, name, nearest(name, (key.removeprefix(prefix) for key in known if key.startswith(prefix))))


def _row(kind: NameKind, name: str, near: Iterable[str], counts: Counter[str] | None = None) -> UnknownNameRow:
    rows = (NearNameRow(name=close, nodes=None if counts is None else counts[close]) for close in near)
    return UnknownNameRow(kind=kind, name=name, near=tuple(rows))
