"""Labels and annotations by which pods and their namespaces ask webhooks for sidecars, or refuse them."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import PodMeta
from kwhatif.kube.model.workload import Namespace

#: (what it is, key, value): `label`, `annotation`, and both of the namespace.
Marks = frozenset[tuple[str, str, str]]

#: Parts of the keys that service meshes and their like define: `sidecar.istio.io/inject`, `istio-injection`.
_PARTS = ("inject",)
_KEYS = frozenset({"istio.io/rev", "dapr.io/enabled"})


def marks_of(meta: PodMeta, namespace: str, cluster: Cluster) -> Marks:
    """What pods of this metadata say to webhooks in the namespace, and it for them."""
    return frozenset(_marks(meta, namespace, cluster))


def _marks(meta: PodMeta, namespace: str, cluster: Cluster) -> Iterator[tuple[str, str, str]]:
    yield from (("label", key, value) for key, value in meta.labels.items() if _is_mark(key))
    yield from (("annotation", key, value) for key, value in meta.annotations.injection)
    known = cluster.get(Namespace, namespace)
    if known is not None:
        labels = known.metadata.labels
        yield from (("namespace label", key, value) for key, value in labels.items() if _is_mark(key))
        if known.metadata.annotations.linkerd_inject:
            yield "namespace annotation", "linkerd.io/inject", known.metadata.annotations.linkerd_inject


def _is_mark(key: str) -> bool:
    return key in _KEYS or any(part in key for part in _PARTS)


def words_of(marks: Marks, namespace: str) -> tuple[str, ...]:
    """`label sidecar.istio.io/inject=true`, `label istio-injection=enabled of namespace shop`."""
    return tuple(
        f"{what.removeprefix('namespace ')} {key}={value}" + (f" of namespace {namespace}" if " " in what else "")
        for what, key, value in sorted(marks)
    )
