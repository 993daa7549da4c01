"""Helpers of controllers: finished pods, availability, changes that matter to owners, generated names, revisions."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from msgspec.structs import replace

from kwhatif.controllers.contract import View
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.overlay import KeySets
from kwhatif.kube.model.pod import Pod, PodTemplateSpec, is_ready, is_terminal, pod_condition
from kwhatif.kube.model.workload import DaemonSet, StatefulSet
from kwhatif.state.state import State
from kwhatif.workloads.daemon_set import newest_label
from kwhatif.workloads.deployment import names_for
from kwhatif.workloads.names import uid_of
from kwhatif.workloads.removal import is_active
from kwhatif.workloads.stateful_set import REVISION_LABEL
from kwhatif.workloads.survey import survey_of
from kwhatif.workloads.template import same_template


class FinishedPods:
    """Finished pods by node: they still exist, but the scheduler ignores them.

    Built once for a cluster, and updated when pods finish or are removed (`Cluster.derived`).
    """

    def __init__(self, cluster: Cluster) -> None:
        by_node: dict[str, dict[str, bool]] = {}
        for pod in survey_of(cluster).restless:  # they include finished pods
            if is_terminal(pod):
                by_node.setdefault(pod.spec.node_name, {})[key_of(pod)] = True
        self._by_node = KeySets(by_node)
        #: The number of finished pods.
        self.count = sum(map(len, by_node.values()))

    def on(self, node: str) -> tuple[str, ...]:
        """The keys of finished pods on the node with that name; "" for pods that were never bound."""
        return tuple(self._by_node.get(node))

    def nodes(self) -> Iterable[str]:
        """The node names of finished pods, whether or not these nodes exist."""
        return self._by_node.groups()

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> FinishedPods | None:
        """See `Index`."""
        was, now, obj = _node_of_finished(before), _node_of_finished(after), before or after
        if obj is None or was == now:
            return self
        other = FinishedPods.__new__(FinishedPods)
        other._by_node, other.count = self._by_node.moved(key_of(obj), was, now), self.count + len(now) - len(was)
        return other


def _node_of_finished(obj: KubernetesObject | None) -> list[str]:
    return [obj.spec.node_name] if isinstance(obj, Pod) and is_terminal(obj) else []


def finished_pods(cluster: Cluster) -> FinishedPods:
    """The finished pods of the cluster."""
    return cluster.derived(FinishedPods, Pod)


def pods_assigned_to(node: str, state: State) -> list[str]:
    """The keys of all pods on the node, including finished ones, by namespace and name."""
    info = state.node(node)
    live = state.strays.get(node, ()) if info is None else info.pods
    return sorted([*(pod.key for pod in live), *finished_pods(state.cluster).on(node)])


#: Key of the memory: the number of generated pod names.
_MADE = "made"


def is_available(pod: Pod, min_ready_seconds: int, view: View) -> bool:
    """Whether the pod has been ready long enough (`IsPodAvailable`); yes, if it is not known since when it is ready."""
    if not is_ready(pod):
        return False
    if not min_ready_seconds:
        return True
    since = _ready_since(pod, view)
    return since is None or since + min_ready_seconds <= view.now


def next_available(pods: Iterable[Pod], min_ready_seconds: int, view: View) -> float | None:
    """When the next pod becomes available, if all stay ready (`FindMinNextPodAvailabilityCheck`)."""
    if not min_ready_seconds:
        return None
    times = (_ready_since(pod, view) for pod in pods if is_ready(pod))
    due = (since + min_ready_seconds for since in times if since is not None)
    return min((time for time in due if time > view.now), default=None)


def _ready_since(pod: Pod, view: View) -> float | None:
    ready = pod_condition(pod, "Ready")
    return view.at(ready.last_transition_time) if ready and ready.last_transition_time else None


def standing(pod: KubernetesObject | None) -> tuple[bool, bool, bool, bool]:
    """The state that syncs of workloads depend on: whether the pod exists, is active, is ready, is finished."""
    if not isinstance(pod, Pod):
        return False, False, False, False
    return True, is_active(pod), is_ready(pod), is_terminal(pod)


def controllers_of(before: KubernetesObject | None, after: KubernetesObject | None, kind: str) -> Iterator[str]:
    """The keys of the objects of that kind that control the object, before or after the change."""
    found = None
    for obj in (before, after):
        owner = controller_of(obj.metadata) if obj is not None else None
        if obj is not None and owner is not None and owner.kind == kind and owner != found:
            found = owner
            yield f"{obj.metadata.namespace}/{owner.name}"


def owners_of_changed(before: KubernetesObject | None, after: KubernetesObject | None, kind: str) -> Sequence[str]:
    """The keys of a pod's controllers of that kind, if the change of the pod matters to their syncs."""
    keys = list(controllers_of(before, after, kind))
    if not keys:
        return ()
    return keys if standing(before) != standing(after) or is_handed_over(before, after) else ()


def is_handed_over(before: KubernetesObject | None, after: KubernetesObject | None) -> bool:
    """Whether the controller of the object has changed."""
    if before is None or after is None:
        return False
    return controller_of(before.metadata) != controller_of(after.metadata)


def named(pod: Pod, view: View, made: int) -> Iterator[Pod]:
    """An endless series of pods like this one with generated names; `made`: the number of earlier names."""
    meta = pod.metadata
    for name in names_for(pod, view.state.cluster, skip=made):
        yield replace(pod, metadata=replace(meta, name=name, uid=uid_of("Pod", meta.namespace, name)))


def next_named(pod: Pod, count: int, memory: dict[str, Any], view: View) -> list[Pod]:
    """`count` pods like this one with generated names; the number of names is kept in the memory of the key."""
    made = memory.get(_MADE, 0)
    memory[_MADE] = made + count
    return list(islice(named(pod, view, made), count))


def keys_of(*objects: KubernetesObject | None, kind: type) -> Iterator[str]:
    """The keys of the objects of this kind."""
    return (key_of(obj) for obj in objects if obj is not None and isinstance(obj, kind))


# --- revisions of StatefulSets and DaemonSets ---------------------------------------------------------
# Upstream stores the templates as ControllerRevisions (`pkg/controller/history/controller_history.go`), which are not
# in the model. Here a controller remembers the templates that it has seen. The template in a dump counts as the newest
# revision; of older revisions only the names are known, from the labels of their pods.

_REVISIONS = "revisions"
_MISSED = "missed"


class Revision(NamedTuple):
    """A template that the workload has had."""

    name: str
    template: PodTemplateSpec | None


def revisions_of(
    workload: StatefulSet | DaemonSet, view: View, known: str, made_up: Callable[[], str]
) -> tuple[Revision, ...]:
    """The known revisions; the newest one, with the workload's own template, comes last.

    Args:
        workload: the current workload.
        view: the view of the cluster, with the memory of the workload.
        known: the newest revision in its status; "": none.
        made_up: the name for a new one.
    """
    memory = view.memory(type(workload).__name__, key_of(workload))
    seen: tuple[Revision, ...] = memory.get(_REVISIONS, ())
    template = workload.spec.template
    if seen and seen[-1].template is template:
        return seen
    if not seen:
        seen = (Revision(known or newest_label(view.pods_of(workload)) or made_up(), template),)
    else:
        if has_others(view.pods_of(workload), {each.name for each in seen}):
            note_missed(workload, view)
        equal = next((each for each in seen if same_template(each.template, template)), None)
        name = made_up() if equal is None else equal.name
        seen = (*(each for each in seen if each is not equal), Revision(name, template))
    memory[_REVISIONS] = seen
    return seen


def has_others(pods: Iterable[Pod], known: Container[str]) -> bool:
    """Whether any of the pods has a revision whose template is not known."""
    return any((name := revision_label(pod)) and name not in known for pod in pods)


def note_missed(workload: StatefulSet | DaemonSet, view: View) -> None:
    """Record that the template of an older revision was needed, but is not known."""
    view.memory(type(workload).__name__, key_of(workload))[_MISSED] = True


def has_missed(workload: StatefulSet | DaemonSet, view: View) -> bool:
    """Whether an unknown template of an older revision was needed."""
    return _MISSED in view.memory(type(workload).__name__, key_of(workload))


def revision_label(pod: Pod) -> str:
    """The name of the pod's revision; "" if it has none."""
    return pod.metadata.labels.get(REVISION_LABEL, "")
