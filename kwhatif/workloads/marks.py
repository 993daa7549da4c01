"""By what webhooks decide which pods get sidecars: labels and annotations, and where they are known, their selectors.

Where the input has the configurations of mutating webhooks (or mutating policies), their rules and selectors say which
of them are asked about a pod. What a pod itself says counts beside that: a webhook that is asked may still leave it
out. Where the input lacks them, the labels and annotations stand for it that webhooks are known to look at.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.asked import NewObject, asked_about
from kwhatif.kube.model.admission_hooks import MutatingWebhookConfiguration
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import PodMeta
from kwhatif.kube.model.unknown import lacks
from kwhatif.kube.model.workload import Namespace

#: (what it is, key, value): `label`, `annotation`, and both of the namespace; `webhook` and its name.
Marks = frozenset[tuple[str, str, str]]

#: Parts of the keys that service meshes and their like define: `sidecar.istio.io/inject`, `istio-injection`.
_PARTS = ("inject",)
_WEBHOOK, _MUTATING = "webhook", "Mutating"
_KEYS = frozenset({"istio.io/rev", "dapr.io/enabled"})


def marks_of(meta: PodMeta, namespace: str, cluster: Cluster) -> Marks:
    """What pods of this metadata say to webhooks in the namespace, and it for them."""
    found = frozenset(_marks(meta, namespace, cluster))
    is_asked = not are_webhooks_known(cluster) or any(what == _WEBHOOK for what, _, _ in found)
    return found if is_asked else frozenset()


def are_webhooks_known(cluster: Cluster) -> bool:
    """Whether the input says which mutating webhooks there are."""
    return not lacks(MutatingWebhookConfiguration, cluster)


def _asked(meta: PodMeta, namespace: str, cluster: Cluster) -> Iterator[tuple[str, str, str]]:
    """The mutating webhooks and policies that would be asked about such a pod."""
    request = NewObject("Pod", "", "pods", namespace, "", meta.labels)
    for each in asked_about(request, cluster):
        if each.name.startswith(_MUTATING):
            yield _WEBHOOK, each.name, ""


def _marks(meta: PodMeta, namespace: str, cluster: Cluster) -> Iterator[tuple[str, str, str]]:
    yield from (("label", key, value) for key, value in meta.labels.items() if _is_mark(key))
    yield from (("annotation", key, value) for key, value in meta.annotations.injection)
    if are_webhooks_known(cluster):
        yield from _asked(meta, namespace, cluster)
        return
    known = cluster.get(Namespace, namespace)
    if known is not None:
        labels = known.metadata.labels
        yield from (("namespace label", key, value) for key, value in labels.items() if _is_mark(key))
        if known.metadata.annotations.linkerd_inject:
            yield "namespace annotation", "linkerd.io/inject", known.metadata.annotations.linkerd_inject


def _is_mark(key: str) -> bool:
    return key in _KEYS or any(part in key for part in _PARTS)


def words_of(marks: Marks, namespace: str) -> tuple[str, ...]:
    """`label sidecar.istio.io/inject=true`, `label istio-injection=enabled of namespace shop`, a webhook's name."""
    return tuple(
        key
        if what == _WEBHOOK
        else f"{what.removeprefix('namespace ')} {key}={value}" + (f" of namespace {namespace}" if " " in what else "")
        for what, key, value in sorted(marks)
    )
