"""`ShownInjections`: what webhooks add to new pods, as the pods of a cluster show it.

A pod that has what neither its template nor the API server itself gives it has got it from a webhook (or an admission
policy): sidecars, tolerations, the requests that a vertical autoscaler recommends. The next pod of that workload gets
the same. Where a workload has no pods, others of its namespace speak for it that carry the same marks (`marks`); where
it is known which webhooks are asked about them, those of another namespace, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.new_pod import without_webhooks, workload_of
from kwhatif.admission.outcome import Denied
from kwhatif.admission.webhooks import NewObject, calls_for
from kwhatif.kube.model.cluster import Cluster, ObjectRef, key_of, lacks
from kwhatif.kube.model.meta import OwnerReference, controller_of
from kwhatif.kube.model.pod import Pod, PodMeta, PodSpec, PodTemplateSpec, is_terminal
from kwhatif.kube.model.policy import Injection, KnownInjection, MutatingWebhookConfiguration
from kwhatif.kube.model.workload import (
    POD_CONTROLLERS,
    DaemonSet,
    Deployment,
    Job,
    Namespace,
    PodController,
    ReplicaSet,
    StatefulSet,
)
from kwhatif.workloads.daemon_set import newest_label, with_own_tolerations
from kwhatif.workloads.injected import Expected, difference, read_volumes, shared
from kwhatif.workloads.owners import reference
from kwhatif.workloads.stateful_set import REVISION_LABEL
from kwhatif.workloads.template import pod_of, same_template

#: (what it is, key, value): `label`, `annotation`, and both of the namespace; `webhook` and its name.
Marks = frozenset[tuple[str, str, str]]

#: Parts of the keys that service meshes and their like define: `sidecar.istio.io/inject`, `istio-injection`.
_PARTS = ("inject",)
_WEBHOOK, _MUTATING = "webhook", "Mutating"
_KEYS = frozenset({"istio.io/rev", "dapr.io/enabled"})


def marks_of(meta: PodMeta, namespace: str, cluster: Cluster) -> Marks:
    """The labels and annotations by which webhooks decide about such pods, and the webhooks that select them.

    If the input has the configurations of mutating webhooks (or policies), their rules and selectors say which of them
    are asked about a pod; the pod's own labels count as well, as a webhook may still leave it out. Otherwise, labels
    and annotations count that webhooks are known to read.
    """
    found = frozenset(_marks(meta, namespace, cluster))
    is_asked = not are_webhooks_known(cluster) or any(what == _WEBHOOK for what, _, _ in found)
    return found if is_asked else frozenset()


def are_webhooks_known(cluster: Cluster) -> bool:
    """Whether the input says which mutating webhooks there are."""
    return not lacks(MutatingWebhookConfiguration, cluster)


def _asked(meta: PodMeta, namespace: str, cluster: Cluster) -> Iterator[tuple[str, str, str]]:
    """The mutating webhooks and policies that would be asked about such a pod."""
    request = NewObject("Pod", "", "pods", namespace, "", meta.labels)
    for each in calls_for(request, cluster):
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


#: The pods of a namespace by kind and name of what controls them.
_Controlled = Mapping[tuple[str, str], Sequence[Pod]]


class _Shown(NamedTuple):
    """What the pods of one workload show; it may be nothing."""

    injection: Injection
    pods: int
    differ: bool
    #: The marks of its template by which webhooks decide.
    marks: Marks
    host_network: bool


class ShownInjections:
    """What the pods of this cluster show; computed on demand, workload by workload."""

    def __init__(self, cluster: Cluster) -> None:
        """Set up; the cluster does not change any more."""
        self._cluster = cluster
        self._namespaces: dict[str, _Controlled] = {}
        self._workloads: dict[str, _Shown | None] = {}
        self._known: dict[str, KnownInjection | None] = {}
        #: By namespace, marks, and whether the pods use the network of their node.
        self._of_others: dict[tuple[str, Marks, bool], KnownInjection | None] = {}

    def injection(self, pod: Pod, owner: str) -> KnownInjection | None:
        """See `Webhooks`."""
        if owner and owner not in self._known:
            shown = self._shown(owner)
            self._known[owner] = None if shown is None or not shown.injection else _known(owner, shown)
        if owner and self._workloads[owner] is not None:
            return self._known[owner]
        found = self._from_others(pod)
        return None if found is None else replace(found, workload=owner or f"Pod {key_of(pod)}")

    # --- pods of the workload ------------------------------------------------------------------------

    def _shown(self, owner: str) -> _Shown | None:
        if owner not in self._workloads:
            self._workloads[owner] = self._look_at(owner)
        return self._workloads[owner]

    def _look_at(self, owner: str) -> _Shown | None:
        """What the pods of its newest template show; None where it has none."""
        for controller in self._controllers(owner):
            pods = self._pods_of(controller)
            if pods:
                return _compare(controller, pods, self._cluster)
        return None

    def _controllers(self, owner: str) -> Iterator[PodController]:
        """What makes the pods of the workload: itself; else its ReplicaSets or Jobs, the newest first."""
        kind, key = ObjectRef.parse(owner)
        if kind in POD_CONTROLLERS:
            itself: PodController | None = self._cluster.get(POD_CONTROLLERS[kind], key)
            yield from () if itself is None else (itself,)
            return
        between = self._cluster.derived(_between, ReplicaSet, Job).get(owner, ())
        deployment = self._cluster.get(Deployment, key) if kind == Deployment.__name__ else None
        if deployment is not None:
            current = [each for each in between if same_template(each.spec.template, deployment.spec.template)]
            yield from current or self._unnamed_sets(deployment, between)
            between = [each for each in between if each not in current]
        yield from sorted(between, key=lambda each: each.metadata.creation_timestamp or "", reverse=True)

    def _unnamed_sets(self, deployment: Deployment, between: Sequence[PodController]) -> Iterator[ReplicaSet]:
        """A ReplicaSet that the input lacks, though its pods are there, is taken to be that of the template."""
        namespace, start = deployment.metadata.namespace, f"{deployment.metadata.name}-"
        known = {each.metadata.name for each in between}
        names = [
            name
            for kind, name in self._controlled(namespace)
            if kind == ReplicaSet.__name__ and name not in known and name.rpartition("-")[0] == start[:-1]
        ]
        for name in names[:1] if len(names) == 1 else ():
            meta = replace(ReplicaSet().metadata, name=name, namespace=namespace)
            yield ReplicaSet(metadata=meta, spec=replace(ReplicaSet().spec, template=deployment.spec.template))

    def _controlled(self, namespace: str) -> _Controlled:
        if namespace not in self._namespaces:
            found: dict[tuple[str, str], list[Pod]] = {}
            keys = self._cluster.derived(_keys_by_namespace, Pod).get(namespace, ())
            for pod in self._cluster.select(Pod, keys):
                owner = controller_of(pod.metadata)
                if owner is not None:
                    found.setdefault((owner.kind, owner.name), []).append(pod)
            self._namespaces[namespace] = found
        return self._namespaces[namespace]

    def _pods_of(self, controller: PodController) -> Sequence[Pod]:
        """The pods that the controller has made of its template as it is; of a Job, also those that have ended."""
        meta = controller.metadata
        pods = self._controlled(meta.namespace).get((type(controller).__name__, meta.name), ())
        own = [pod for pod in pods if _is_of(controller, pod)]
        if isinstance(controller, Job):
            return own
        running = [pod for pod in own if not is_terminal(pod)]
        return [pod for pod in running if pod.metadata.deletion_timestamp is None] or running

    # --- pods of others ------------------------------------------------------------------------------

    def _from_others(self, pod: Pod) -> KnownInjection | None:
        """What all workloads of the namespace with the same marks get."""
        namespace, host_network = pod.metadata.namespace, pod.spec.host_network
        marks = marks_of(pod.metadata, namespace, self._cluster)
        if not marks:
            return None
        place = namespace, marks, host_network
        if place not in self._of_others:
            similar = dict(self._similar(namespace, marks, host_network=host_network))
            if not similar and are_webhooks_known(self._cluster):
                similar = self._elsewhere(marks, host_network=host_network)
            self._of_others[place] = _known_of_others(similar, marks, namespace) if similar else None
        return self._of_others[place]

    def _elsewhere(self, marks: Marks, *, host_network: bool) -> dict[str, _Shown]:
        """The pods of the first other namespace that has such: webhooks do not stop at a namespace."""
        for namespace in sorted(self._cluster.derived(_keys_by_namespace, Pod)):
            stands_for = (pods[0].metadata for pods in self._controlled(namespace).values())
            if any(marks_of(meta, namespace, self._cluster) == marks for meta in stands_for):
                found = dict(self._similar(namespace, marks, host_network=host_network))
                if found:
                    return found
        return {}

    def _similar(self, namespace: str, marks: Marks, *, host_network: bool) -> Iterator[tuple[str, _Shown]]:
        owners = (workload_of(pods[0], self._cluster) for pods in self._controlled(namespace).values())
        for owner in sorted(set(owners)):
            shown = self._shown(owner)
            if shown is not None and shown.marks == marks and shown.host_network == host_network:
                yield owner, shown


def _keys_by_namespace(cluster: Cluster) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for key in cluster.all(Pod):
        found.setdefault(key.partition("/")[0], []).append(key)
    return found


def _between(cluster: Cluster) -> Mapping[str, Sequence[ReplicaSet | Job]]:
    """ReplicaSets and Jobs by what controls them, such as `Deployment shop/web`."""
    found: dict[str, list[ReplicaSet | Job]] = {}
    objects: tuple[ReplicaSet | Job, ...] = (*cluster.all(ReplicaSet).values(), *cluster.all(Job).values())
    for each in objects:
        owner = controller_of(each.metadata)
        if owner is not None:
            found.setdefault(f"{owner.kind} {each.metadata.namespace}/{owner.name}", []).append(each)
    return found


def _is_of(controller: PodController, pod: Pod) -> bool:
    owner, uid = controller_of(pod.metadata) or OwnerReference(), controller.metadata.uid
    return not uid or not owner.uid or uid == owner.uid


def _compare(controller: PodController, pods: Sequence[Pod], cluster: Cluster) -> _Shown | None:
    """What these pods have beyond the controller's template; None where none of them is of that."""
    template = controller.spec.template or PodTemplateSpec()
    current = [pod for pod in _of_newest(controller, pods) if _has_containers_of(template.spec, pod.spec)]
    if not current:
        return None
    expected = _expected(controller, template, cluster)
    found: list[Injection] = []
    last: tuple[object, Injection] | None = None
    for pod in current:
        spec = pod.spec
        like = (
            *(spec.containers, spec.init_containers, spec.tolerations, spec.node_selector),
            *(read_volumes(spec), pod.metadata.generation > 1),
        )
        if last is None or last[0] != like:  # most pods of a workload are equal
            last = like, difference(pod, expected)
        found.append(last[1])
    injection, differ = shared(found)
    marks = marks_of(template.metadata, controller.metadata.namespace, cluster)
    return _Shown(injection, len(current), differ, marks, template.spec.host_network)


def _of_newest(controller: PodController, pods: Sequence[Pod]) -> Sequence[Pod]:
    """Those of the newest revision, as far as the input says which that is."""
    labels = {pod.metadata.labels.get(REVISION_LABEL, "") for pod in pods}
    match controller:
        case StatefulSet() if labels != {""} and controller.status.update_revision:
            newest = controller.status.update_revision
        case StatefulSet() | DaemonSet():
            newest = newest_label(pods)
        case _:
            return pods
    found = [pod for pod in pods if pod.metadata.labels.get(REVISION_LABEL, "") == newest]
    template = (controller.spec.template or PodTemplateSpec()).spec
    return [pod for pod in found if isinstance(controller, StatefulSet) or _has_images(pod.spec, template)]


def _has_containers_of(template: PodSpec, spec: PodSpec) -> bool:
    """Whether all containers of the template are there: webhooks add some, and take none away."""
    names = {each.name for each in (*spec.containers, *spec.init_containers)}
    return names.issuperset(each.name for each in (*template.containers, *template.init_containers))


def _has_images(spec: PodSpec, template: PodSpec) -> bool:
    """Whether it runs what the template says: of a DaemonSet, no status says which revision that is."""
    images = {each.name: each.image for each in (*spec.containers, *spec.init_containers)}
    own = [each for each in (*template.containers, *template.init_containers) if each.image]
    return all(images.get(each.name, each.image) in ("", each.image) for each in own)


def _expected(controller: PodController, template: PodTemplateSpec, cluster: Cluster) -> Expected:
    pod = pod_of(template, controller.metadata.namespace, reference(controller))
    if isinstance(controller, DaemonSet):
        pod = replace(pod, spec=replace(pod.spec, tolerations=with_own_tolerations(pod.spec)))
    claims = controller.spec.volume_claim_templates if isinstance(controller, StatefulSet) else ()
    made = without_webhooks(pod, cluster)
    is_known = not isinstance(made, Denied)
    spec = default_object(pod).spec if isinstance(made, Denied) else made.spec
    return Expected(
        spec=spec,
        template=default_object(pod).spec,
        claims=frozenset(each.metadata.name for each in claims),
        # A class that the input lacks may change both.
        places=is_known or template.spec.runtime_class_name is None,
    )


def _known(owner: str, shown: _Shown) -> KnownInjection:
    return KnownInjection(workload=owner, injection=shown.injection, pods=shown.pods, differ=shown.differ)


def _known_of_others(similar: Mapping[str, _Shown], marks: Marks, namespace: str) -> KnownInjection | None:
    # Requests are recommended for one workload, not for all with the same marks.
    injection, differ = shared([replace(each.injection, resources={}) for each in similar.values()])
    if not injection:
        return None
    return KnownInjection(
        workload="",
        injection=injection,
        pods=sum(each.pods for each in similar.values()),
        like=tuple(similar),
        marks=words_of(marks, namespace),
        differ=differ or any(each.differ for each in similar.values()),
    )
