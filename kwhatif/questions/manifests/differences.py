"""`Differences`: the objects that differ between a state and a fork of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kwhatif.admission.outcome import changes_between
from kwhatif.admission.pod_update import is_resize
from kwhatif.admission.quota import Counted, QuotaAdmission
from kwhatif.controllers.taint_eviction import ready_status
from kwhatif.edits.edit import Edit
from kwhatif.kube.matching.labels import SelectorError, compile_selector
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.workloads import ResizeAssumed, ResizeEvicts
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod, pod_condition
from kwhatif.kube.model.policy import PodDisruptionBudget, ResourceQuota
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.report.edit_notes import BudgetStale, EditNote, Resized, ResizePutOff, ResizeUnknown, ResizeUnseen
from kwhatif.report.inputs import TouchedRow
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.simulation import resizing
from kwhatif.state.change import Change, Delete, Upsert
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State


class Difference(NamedTuple):
    """An object that has changed, before and after; None: it did not exist then."""

    key: str
    before: Any
    after: Any


class Differences:
    """Found from the state's record of changes: the time depends on the number of changes, not of objects."""

    def __init__(self, before: State, after: State) -> None:
        """`after` is a fork of `before`, or the other way round; only `after` has changed since."""
        self.before, self.after = before, after
        touched = None if is_reference() else after.since(before.generation)
        #: What may differ; None: unknown.
        self._nodes: set[str] | None = None
        self._keys: dict[type, set[str]] | None = None
        if touched is not None:
            self._nodes, self._keys = touched.nodes, {}
            for kind, key in touched.objects:
                self._keys.setdefault(kind, set()).add(key)

    def kinds(self) -> list[type]:
        """The kinds with objects that may differ, sorted by name."""
        before, after = self.before.cluster, self.after.cluster
        kinds: Iterable[type] = after.counts().keys() | before.counts().keys() if self._keys is None else self._keys
        return sorted(
            (kind for kind in kinds if after.generation(kind) != before.generation(kind)),
            key=lambda kind: kind.__name__,
        )

    def of(self, kind: type) -> Iterator[Difference]:
        """The objects of that kind: first those that existed before, then new ones, in the order of their cluster."""
        before, after = self.before.cluster, self.after.cluster
        if before.generation(kind) == after.generation(kind):
            return
        was: Mapping[str, Any] = before.all(kind)
        now: Mapping[str, Any] = after.all(kind)
        if self._keys is None:
            keys = [*was, *(key for key in now if key not in was)]
        else:
            touched = self._keys.get(kind, ())
            old, new = {key for key in touched if key in was}, {key for key in touched if key not in was and key in now}
            keys = [*before.in_order(kind, old), *after.in_order(kind, new)]
        for key in keys:
            one, other = was.get(key), now.get(key)
            if one is not other:
                yield Difference(key, one, other)

    def nodes(self) -> Iterator[NodeInfo]:
        """The present nodes that may differ, or whose pods may, in the scheduler's order."""
        infos = self.after.nodes
        if self._nodes is not None:
            by_name = self.after.index_by_name
            infos = [infos[index] for index in sorted(by_name[name] for name in self._nodes if name in by_name)]
        for info in infos:
            if self.before.node(info.name) is not info:
                yield info


def recounted_quotas(differences: Differences) -> Iterator[ResourceQuota]:
    """The quotas whose used amounts have changed, with these amounts."""
    before, after = differences.before.cluster, differences.after.cluster
    kinds: tuple[type[Pod | PersistentVolumeClaim], ...] = (Pod, PersistentVolumeClaim)
    changed = [each for kind in kinds if before.all(ResourceQuota) for each in differences.of(kind)]
    if changed:
        gone: list[Counted] = [each.before for each in changed if each.before is not None]
        new: list[Counted] = [each.after for each in changed if each.after is not None]
        recounted = {key_of(quota): quota for quota in QuotaAdmission().recount(before, gone, new)}
        for key, quota in before.all(ResourceQuota).items():
            known, now = recounted.get(key, quota), after.get(ResourceQuota, key)
            if now is not None and now.spec is quota.spec and now.status != known.status:
                yield known


def stale_budgets(differences: Differences) -> Iterator[BudgetStale]:
    """Budgets whose status still counts pods that are gone, as no controller updates it."""
    before, after = differences.before.cluster, differences.after.cluster
    gone = [each.before for each in differences.of(Pod) if each.before is not None and each.after is None]
    for key, budget in after.all(PodDisruptionBudget).items() if gone else ():
        if budget is before.get(PodDisruptionBudget, key) and _selects_any(budget, gone):
            yield BudgetStale(key)


def _selects_any(budget: PodDisruptionBudget, pods: Sequence[Pod]) -> bool:
    try:
        selector = compile_selector(budget.spec.selector)
    except SelectorError:
        return False
    namespace = budget.metadata.namespace
    return any(pod.metadata.namespace == namespace and selector.matches(pod.metadata.labels) for pod in pods)


def placed_in_order(differences: Differences) -> Iterator[Change]:
    """Changes that bring the pods of a node into the order of a dump: edits add pods at the end."""
    before, after = differences.before, differences.after
    if before.cluster.generation(Pod) == after.cluster.generation(Pod):
        return
    for node in differences.nodes():
        old = before.node(node.name)
        keys = [pod.key for pod in node.pods]
        in_order = sorted(keys, key=lambda key: key.split("/"))
        is_as_before = old is not None and keys == [pod.key for pod in old.pods]
        if is_as_before or keys == in_order:
            continue
        yield from (Delete(Pod, key) for key in in_order)
        yield from (Upsert(after.pods[key].pod) for key in in_order)


def touched_rows(differences: Differences, edit: Edit) -> Iterator[TouchedRow]:
    """A row for every changed object."""
    verb = edit.text.split(maxsplit=1)[0]
    for kind in differences.kinds():
        for each in differences.of(kind):
            if each.before != each.after:
                yield _row(f"{kind.__name__} {each.key}", each.before, each.after, verb)


def _row(name: str, old: Any, new: Any, verb: str) -> TouchedRow:
    if old is None or new is None:
        return TouchedRow(object=name, change="created" if old is None else "deleted")
    rows = tuple(changes_between(verb, old, new))
    if isinstance(new, Pod):  # the notes say what its kubelet then writes
        rows = tuple(row for row in rows if not row.field.startswith("status."))
    return TouchedRow(object=name, change="changed", fields=rows)


class EditedResizes:
    """The pods that edits have resized, over all edits: one edit may make room for resizes of earlier ones."""

    def __init__(self) -> None:
        self._waiting: set[str] = set()
        self._assumed: dict[str, None] = {}
        self._critical: dict[str, None] = {}

    def settle(self, changed: Iterable[Difference], state: State) -> Iterator[EditNote]:
        """Let the kubelets decide after an edit that has changed these pods; yields notes."""
        fresh: set[str] = set()
        for key, old, pod in changed:
            if old is not None and pod is not None and is_resize(pod, old):
                fresh.add(key)
        self._waiting |= fresh
        if not self._waiting:
            return
        pods = state.cluster.all(Pod)
        there = [pods[key] for key in sorted(self._waiting) if key in pods]
        self._waiting.clear()
        for pod in resizing.in_order(there):
            yield from self._decide(pod, state, asked=key_of(pod) in fresh)

    def _decide(self, pod: Pod, state: State, *, asked: bool) -> Iterator[EditNote]:
        name, key, info = f"Pod {key_of(pod)}", key_of(pod), state.node(pod.spec.node_name)
        if info is None:
            yield ResizeUnknown(name, pod.spec.node_name)
            return
        if ready_status(info.node) == "Unknown":
            self._waiting.add(key)
            yield ResizeUnseen(name, info.name)
            return
        verdict = resizing.decide(pod, info, state.cluster)
        if verdict.decision == "Fits":
            if resizing.is_assumed(pod):
                self._assumed[key] = None
            restarting = tuple(resizing.restarts(pod))
            state.apply(Upsert(resizing.resized(pod)))
            yield Resized(name, info.name, restarting)
            return
        if verdict.decision == "Deferred":
            self._waiting.add(key)
            if resizing.is_critical(pod):
                self._critical[key] = None
        known = pod_condition(pod, resizing.PENDING)
        if not asked and known is not None and known.reason == verdict.decision:
            return
        state.apply(Upsert(resizing.put_off(pod, verdict, None)))
        yield ResizePutOff(name, info.name, verdict.decision, verdict.message)

    @property
    def caveats(self) -> Iterator[Caveat]:
        """Assumptions about kubelets, and what they do that is not modelled."""
        return caveats_of_resizes(tuple(self._assumed), tuple(self._critical))


def caveats_of_resizes(assumed: tuple[str, ...], critical: tuple[str, ...]) -> Iterator[Caveat]:
    """The caveats of stories and edits about resized pods."""
    if assumed:
        yield ResizeAssumed(pods=assumed)
    if critical:
        yield ResizeEvicts(pods=critical)
