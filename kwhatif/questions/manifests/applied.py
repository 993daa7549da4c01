"""`Applied`: an object that is about to be applied; phases, objects that take effect before pods, and warnings.

Helm creates hooks in order, each once the Pod or Job before it has succeeded. It does not wait for hooks of other
kinds: these exist together with the release, unless their policy deletes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.admission.defaults import default_object, default_pod
from kwhatif.admission.load import counted_budgets
from kwhatif.admission.new_objects import updated
from kwhatif.admission.outcome import Denied
from kwhatif.admission.pod_group import GROUP_KINDS, admit_grouping
from kwhatif.admission.pod_security import check_pod_security, fills_in_contexts, standards_of, violations
from kwhatif.edits.edit import Apply, DeleteObjects, Reference, SourcedEdit
from kwhatif.kube.gates import GROUPS_GATE
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.manifests import AdmissionNotAsked, PodSecurityWarns
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, ObjectRef, key_of
from kwhatif.kube.model.helm import HelmHook, Phase
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, PodMeta, is_terminal
from kwhatif.kube.model.pod_group import GROUPS_SINCE, PodGroup, has_groups
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.kube.model.workload import POD_SOURCES, WORKLOADS, Job, Namespace, NamespaceMeta
from kwhatif.questions.rows import workload_or_pod
from kwhatif.questions.session.admission_hooks import HookSubject, admission_not_asked, new_object
from kwhatif.questions.session.session import Session
from kwhatif.report.decision import Decision
from kwhatif.report.inputs import SourceRow
from kwhatif.scheduler.release import find_release
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.state import State
from kwhatif.workloads.applied_object import applied_object
from kwhatif.workloads.applied_template import template_of
from kwhatif.workloads.owners import pods_of


def fill_budgets(state: State) -> Iterator[Caveat]:
    """Set the status of every budget without one, as the disruption controller would; yields caveats."""
    for counted, caveat in counted_budgets(state.cluster):
        yield caveat
        state.apply(Upsert(counted))


class Applied(msgspec.Struct, frozen=True):
    """An object, its position in the input, and its annotation `kwhatif.dev/ignore`."""

    object: KubernetesObject
    source: SourceRow
    ignore: str = ""
    #: Whether it is an object of the cluster, asked about by name: a pending pod is judged as it is, a running one as
    #: if it restarted.
    restarted: bool = False
    #: How Helm runs it as a hook; None: it is part of the release.
    hook: HelmHook | None = None
    #: Whether it was read from an API server, which has admitted it: it is used as it is.
    stored: bool = False

    @property
    def runs_on(self) -> str | None:
        """The node of a pod of the cluster that was asked about by name."""
        return self.object.spec.node_name or None if self.restarted and isinstance(self.object, Pod) else None

    @property
    def is_workload(self) -> bool:
        """Whether it is a pod, or has pods."""
        return isinstance(self.object, (*POD_SOURCES, CustomResource))


def apply_surroundings(state: State, applied: Sequence[Applied], *, admission: bool) -> Iterator[Caveat]:
    """Put everything into the cluster that takes effect before pods, except claims; yields caveats.

    A new budget without a status is not a caveat: its status is computed here.
    """
    if admission:
        _keep_namespaces(state, applied)
    for each in applied:
        if not each.is_workload and not isinstance(each.object, (PersistentVolumeClaim, *GROUP_KINDS)):
            stored: Any = default_object(applied_object(each.object, state.cluster))  # type: ignore[type-var]
            state.apply(Upsert(updated(stored, state.cluster)))
    yield from (caveat for caveat in fill_budgets(state) if caveat.missing)


def apply_groups(state: State, applied: Sequence[Applied]) -> Iterator[tuple[Applied, Denied]]:
    """Put PodGroups and Workloads into the cluster; yields those that the API server refuses."""
    for each in applied:
        if not isinstance(each.object, GROUP_KINDS):
            continue
        group = applied_object(each.object, state.cluster)
        admitted = group if each.stored else admit_grouping(group, state.cluster)
        if isinstance(admitted, Denied):
            yield each, admitted
        else:
            state.apply(Upsert(admitted))


def _keep_namespaces(state: State, applied: Sequence[Applied]) -> None:
    """A dump without namespaces does not say which exist; a new namespace does not change that."""
    if not state.cluster.all(Namespace):
        for name in {each.object.metadata.namespace for each in applied} - {""}:
            state.apply(Upsert(default_object(Namespace(metadata=NamespaceMeta(name=name)))))


#: Owners whose pods no controller restarts: mirror pods of static ones.
_NODE = "Node"


class Restarted(NamedTuple):
    """A workload whose pods are restarted; pods represent a controller that is not in the input."""

    name: str
    applied: Applied
    #: The other pods of a controller that is not in the input; this one represents them.
    others: Sequence[Pod] = ()


def restarted_workloads(cluster: Cluster) -> Iterator[Restarted]:
    """Every workload without a known controller, by kind and name; then pods whose controller is not in the input."""
    covered: set[tuple[str, str]] = set()
    for kind in WORKLOADS:
        for key in sorted(cluster.all(kind)):
            obj = cluster.all(kind)[key]
            covered.add((kind.__name__, key))
            if not _has_known_controller(obj, cluster):
                yield Restarted(f"{kind.__name__} {key}", _applied(obj))
    groups: dict[str, list[Pod]] = {}
    for pod in cluster.all(Pod).values():
        owner = controller_of(pod.metadata)
        if is_terminal(pod) or not pod.spec.node_name or (owner is not None and owner.kind == _NODE):
            continue
        if owner is None or (owner.kind, f"{pod.metadata.namespace}/{owner.name}") not in covered:
            groups.setdefault(workload_or_pod(pod), []).append(pod)
    for name in sorted(groups):
        first, *others = sorted(groups[name], key=key_of)
        yield Restarted(name, _applied(first), tuple(others))


def _has_known_controller(obj: KubernetesObject, cluster: Cluster) -> bool:
    """Whether another workload controls it, such as the Deployment of a ReplicaSet, or the CronJob of a Job."""
    owner = controller_of(obj.metadata)
    kinds = {kind.__name__: kind for kind in WORKLOADS}
    if owner is None or owner.kind not in kinds:
        return False
    return f"{obj.metadata.namespace}/{owner.name}" in cluster.all(kinds[owner.kind])


def _applied(obj: KubernetesObject) -> Applied:
    name = str(ObjectRef.of(obj))
    return Applied(obj, SourceRow(file=name, object=name), restarted=True)


def not_asked(
    applied: Sequence[Applied], before: Cluster, cluster: Cluster, decisions: Sequence[Decision]
) -> Iterator[AdmissionNotAsked]:
    """The webhooks that would be called for the objects and their pods; existing pods were already admitted.

    Args:
        applied: what is applied or restarted.
        before: the cluster without it.
        cluster: with it.
        decisions: about the pods.
    """
    yield from admission_not_asked(_subjects(applied, before, decisions), cluster)


def _subjects(applied: Sequence[Applied], before: Cluster, decisions: Sequence[Decision]) -> Iterator[HookSubject]:
    for each in applied:
        obj: Any = each.object
        if not each.is_workload or (each.restarted and isinstance(obj, Pod)):
            continue
        name = each.source.object
        pods = tuple(row.pod for row in decisions if row.source == each.source and row.outcome != "Denied")
        pod = _pod_of(obj)
        if pod is not None or isinstance(obj, CustomResource):
            meta = PodMeta(namespace=obj.metadata.namespace) if pod is None else pod.metadata
            yield HookSubject(name, new_object(Pod(metadata=meta)), pods)
        if not (each.restarted or isinstance(obj, Pod | CustomResource)):
            is_there = before.get(type(obj), key_of(obj)) is not None
            yield HookSubject(name, new_object(obj, "UPDATE" if is_there else "CREATE"), pods)


def warnings_of(applied: Sequence[Applied], cluster: Cluster) -> Iterator[PodSecurityWarns]:
    """Warnings of the API server, one caveat for each text; left out if the pods are refused: the refusal says it."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in () if fills_in_contexts(cluster) else applied:
        pod = None if each.restarted or not each.is_workload else _pod_of(each.object)
        if pod is None:
            continue
        standard = standards_of(cluster.namespace_labels(pod.metadata.namespace)).warn
        violation = violations(pod, standard, cluster.facts.minor)
        if violation and check_pod_security(pod, cluster) is None:
            found.setdefault((standard.text, violation), []).append(each.source.object)
    for (standard_text, violation), objects in found.items():
        yield PodSecurityWarns(objects=tuple(objects), standard=standard_text, violation=violation)


def _pod_of(obj: Any) -> Pod | None:
    """The pod itself, or one from the template; None for a custom resource."""
    if isinstance(obj, Pod | CustomResource):
        return default_pod(obj) if isinstance(obj, Pod) else None
    template = template_of(obj)
    if template is None:
        return None
    noted = template.metadata
    meta = PodMeta(namespace=obj.metadata.namespace, labels=noted.labels, annotations=noted.annotations)
    return default_pod(Pod(metadata=meta, spec=template.spec))


class Phases(NamedTuple):
    """Objects by phase. Hooks are in Helm's order; each has ended, and its pods are gone, before the next one."""

    before: tuple[Applied, ...]
    #: Objects that are not hooks, and hooks that do not end, in the order of the manifests.
    staying: tuple[Applied, ...]
    after: tuple[Applied, ...]
    #: Hooks without pods that exist while these hooks run; those of `around_before` may also exist later.
    around_before: tuple[Applied, ...] = ()
    around_after: tuple[Applied, ...] = ()


def in_phases(applied: Sequence[Applied]) -> Phases:
    """All objects by the phase in which they are applied."""
    others = [each for each in applied if not ends(each)]
    return Phases(
        before=_in_order(applied, "before"),
        staying=tuple(each for each in others if each.hook is None or not each.hook.passes),
        after=_in_order(applied, "after"),
        around_before=tuple(_around(others, "before")),
        around_after=tuple(each for each in _around(others, "after") if each.hook is not None and each.hook.passes),
    )


def ends(applied: Applied) -> bool:
    """Whether it is a hook whose end Helm waits for."""
    return applied.hook is not None and isinstance(applied.object, Pod | Job)


def _in_order(applied: Sequence[Applied], phase: Phase) -> tuple[Applied, ...]:
    """The hooks of a phase by weight, name and kind, a Pod before a Job (`InstallOrder`)."""
    found = [each for each in applied if ends(each) and each.hook is not None and each.hook.phase == phase]
    return tuple(
        sorted(
            found,
            key=lambda each: (
                each.hook.weight if each.hook else 0,
                each.object.metadata.name,
                not isinstance(each.object, Pod),
            ),
        )
    )


def _around(others: Sequence[Applied], phase: Phase) -> Iterator[Applied]:
    for each in others:
        if each.hook is not None and each.hook.phase == phase and not each.is_workload:
            yield each


def without_earlier_runs(state: State, applied: Sequence[Applied]) -> State:
    """The state without objects of earlier runs of these hooks; the state itself if there are none."""
    there = [
        known
        for each in applied
        if ends(each) and each.hook is not None and each.hook.replaces
        if (known := state.cluster.get(type(each.object), key_of(each.object))) is not None
    ]
    if not there:
        return state
    state = state.fork()
    for known in there:
        pods = () if isinstance(known, Pod) else pods_of(known, state.cluster)
        state.apply(*map(Delete.of, pods), Delete.of(known))
    return state


def steps_of(where: str, applied: Sequence[Applied], text: str, cluster: Cluster) -> Iterator[SourcedEdit]:
    """Steps that apply everything: hooks before and after the rest, each deleted when it has run.

    Args:
        where: the position in the input, for errors.
        applied: all objects.
        text: the words for applying objects that are not hooks.
        cluster: before anything is applied.
    """
    phases = in_phases(applied)
    if around := tuple(each.object for each in phases.around_before):
        yield SourcedEdit(where, Apply(text="apply what Helm hooks need", objects=around))
    for each in phases.before:
        yield from _run(where, each, cluster)
    if passing := [each for each in phases.around_before if each.hook is not None and each.hook.passes]:
        yield _deletion(where, passing)
    if phases.staying:
        yield SourcedEdit(where, Apply(text=text, objects=tuple(each.object for each in phases.staying)))
    if around := tuple(each.object for each in phases.around_after):
        yield SourcedEdit(where, Apply(text="apply what Helm hooks need", objects=around))
    for each in phases.after:
        yield from _run(where, each, cluster)
    if phases.around_after:
        yield _deletion(where, phases.around_after)


def _run(where: str, hook: Applied, cluster: Cluster) -> Iterator[SourcedEdit]:
    """Apply the hook, and delete it when nothing happens any more: how long it runs is not known."""
    obj = hook.object
    if hook.hook is not None and hook.hook.replaces and cluster.get(type(obj), key_of(obj)) is not None:
        yield _deletion(where, [hook])
    said = f" ({hook.hook.said})" if hook.hook else ""
    yield SourcedEdit(where, Apply(text=f"apply {type(obj).__name__}/{obj.metadata.name}{said}", objects=(obj,)))
    if obj.metadata.name:
        yield _deletion(where, [hook])


def _deletion(where: str, applied: Sequence[Applied]) -> SourcedEdit:
    references = tuple(
        Reference(
            text=f"{type(each.object).__name__}/{each.object.metadata.name}",
            resource=RESOURCES[type(each.object)],
            name=each.object.metadata.name,
            namespace=each.object.metadata.namespace or None,
        )
        for each in applied
    )
    text = f"delete {' '.join(each.text for each in references)}"
    return SourcedEdit(where, DeleteObjects(text=text, objects=references, ignore_not_found=True))


# --- groups --------------------------------------------------------------------------------------------------------


def with_groups(session: Session, applied: Sequence[Applied]) -> tuple[Session, Sequence[Applied]]:
    """The session and the objects for a question about groups; unchanged for other questions.

    A PodGroup can only be applied if the gate is on: this is assumed unless it was turned off explicitly. Pods and
    groups with a UID were read from an API server, which has admitted them: they are not changed.
    """
    session = with_gate(session, [each.object for each in applied])
    if has_groups(session.cluster):
        applied = [replace(each, stored=True) if _is_stored(each) else each for each in applied]
    return session, applied


def with_gate(session: Session, objects: Iterable[object]) -> Session:
    """The session with the gate on if a PodGroup is to be applied; the same one if it is on, or turned off."""
    settings, minor = session.scheduler.feature_gates, session.cluster.facts.minor
    if has_groups(session.cluster) or minor < GROUPS_SINCE or not settings.get(GROUPS_GATE, True):
        return session
    if not any(isinstance(each, PodGroup) for each in objects):
        return session
    release = find_release(minor).with_gates({**settings, GROUPS_GATE: True})
    unedited = None if session.unedited is None else session.unedited.for_release(release)
    return replace(session.for_release(release), scheduler=session.scheduler, unedited=unedited)


def _is_stored(each: Applied) -> bool:
    return isinstance(each.object, Pod | PodGroup) and bool(each.object.metadata.uid)
