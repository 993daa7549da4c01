"""The parts of an install or an upgrade, where objects are Helm hooks: what runs before, what stays, what runs after.

Helm creates one hook after another, each once the Pod or Job before it has succeeded. Objects of other kinds it does
not wait for: they are there with the rest, unless their policy deletes them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kwhatif.edits.edit import Apply, DeleteObjects, Reference, SourcedEdit
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.helm import Phase
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import Job
from kwhatif.questions.manifests.applied import Applied
from kwhatif.state.change import Delete
from kwhatif.state.state import State
from kwhatif.workloads.owners import pods_of


class Phases(NamedTuple):
    """Hooks in the order in which Helm runs them; each has ended, and its pods are gone, before what comes next."""

    before: tuple[Applied, ...]
    #: What is not a hook, and hooks that do not end, in the order of the manifests.
    staying: tuple[Applied, ...]
    after: tuple[Applied, ...]
    #: Objects that make no pods, and are there only while these hooks run; or also later, for those before.
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
    """Whether it is a hook that Helm waits for: its pods end, before what comes next."""
    return applied.hook is not None and isinstance(applied.object, Pod | Job)


def _in_order(applied: Sequence[Applied], phase: Phase) -> tuple[Applied, ...]:
    """By weight, then by name; then by kind, a Pod before a Job (`InstallOrder`)."""
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
    """The state without what is left of earlier runs of these hooks; the state itself if there is nothing."""
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
    """Steps that apply everything: each hook, and that it goes when it has run, around the rest.

    Args:
        where: who has written it, for errors.
        applied: everything.
        text: the words for applying what is not a hook.
        cluster: before any of it.
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
    """It is applied, and deleted when nothing happens any more: how long it takes is not known."""
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
