"""StatefulSets (`pkg/controller/statefulset/`: `stateful_set_control.go`, `stateful_pod_control.go`).

A pod is replaced by one with the same name, so only after the old one is gone. The loop over the pods is in
`workloads.stateful_set`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.controllers.contract import NOTHING, BackingOff, Create, DeletePod, How, SyncResult, Update, View, Write
from kwhatif.controllers.pods import (
    Revision,
    has_others,
    is_available,
    keys_of,
    next_available,
    note_missed,
    owners_of_changed,
    revision_label,
    revisions_of,
)
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.meta import OwnerReference
from kwhatif.kube.model.pod import Pod, PodTemplateSpec, is_ready, is_terminal
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.kube.model.workload import ClaimRetentionPolicy, StatefulSet
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.names import ordinal_of, uid_of
from kwhatif.workloads.owners import reference
from kwhatif.workloads.stateful_set import (
    REVISION_LABEL,
    Moves,
    Replica,
    claims_of,
    first_in_order,
    first_to_roll,
    is_ordered,
    made_of_old,
    most_unavailable,
    numbered_pod,
    ordinals_of,
    revision_of,
    sync,
)
from kwhatif.workloads.template import pod_of

_DELETE = "Delete"


def with_owners(claim: PersistentVolumeClaim, stateful_set: StatefulSet, surplus: Pod | None) -> PersistentVolumeClaim:
    """The claim with the owners by the set's retention policy (`updateClaimOwnerRefForSetAndPod`).

    Args:
        claim: a claim of one of the set's pods.
        stateful_set: the set.
        surplus: the pod, if the set no longer needs it.

    A claim with another controller does not change.
    """
    policy = stateful_set.spec.persistent_volume_claim_retention_policy or ClaimRetentionPolicy()
    references = claim.metadata.owner_references
    others = tuple(owner for owner in references if owner.kind not in ("StatefulSet", "Pod"))
    if any(owner.controller for owner in others):
        return claim
    wanted: tuple[OwnerReference, ...] = ()
    if surplus is not None and policy.when_scaled == _DELETE:
        wanted = (reference(surplus),)
    elif policy.when_deleted == _DELETE:
        wanted = (reference(stateful_set),)
    if references == (*others, *wanted):
        return claim
    return replace(claim, metadata=replace(claim.metadata, owner_references=(*others, *wanted)))


_CURRENT, _COUNT, _MADE, _STEADY = "current", "current replicas", "made", "steady"
#: Whether the template of the current revision is not known.
_UNKNOWN = "unknown"
_ON_DELETE = "OnDelete"


class StatefulSets(BackingOff):
    """The controller."""

    name = "StatefulSet"
    watches = (StatefulSet, Pod, PersistentVolumeClaim)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`. Upstream does not watch claims; here a set sees at once that one is gone."""
        match before or after:
            case StatefulSet():
                if isinstance(before, StatefulSet) and after is not None:
                    _revisions(before, view)
                return keys_of(after, kind=StatefulSet)
            case Pod():
                return owners_of_changed(before, after, self.name)
            case PersistentVolumeClaim() if after is None:
                return self._waiting_for(key_of(before), view) if before is not None else ()
        return ()

    def _waiting_for(self, claim: str, view: View) -> Iterator[str]:
        for key, stateful_set in view.state.cluster.all(StatefulSet).items():
            templates = stateful_set.spec.volume_claim_templates
            meta = stateful_set.metadata
            prefixes = (f"{meta.namespace}/{each.metadata.name}-{meta.name}-" for each in templates)
            if any(claim.startswith(prefix) for prefix in prefixes):
                yield key

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller` (`updateStatefulSet`)."""
        stateful_set = view.state.cluster.get(StatefulSet, key)
        if stateful_set is None or stateful_set.metadata.deletion_timestamp is not None:
            return NOTHING
        return self.synced(key, _Sync(stateful_set, view).outcome(), view)


def _revisions(stateful_set: StatefulSet, view: View) -> tuple[Revision, ...]:
    return revisions_of(stateful_set, view, stateful_set.status.update_revision, lambda: revision_of(stateful_set))


def newest_revision(stateful_set: StatefulSet, view: View) -> str:
    """The revision label of pods of its current template."""
    return _revisions(stateful_set, view)[-1].name


def moves_of(stateful_set: StatefulSet, view: View) -> Moves:
    """The moves that the controller would make now."""
    return _Sync(stateful_set, view).moves()


class _Steady(NamedTuple):
    """The first pods of a set, in the order of creation, that were available at its last sync.

    A pod that does not change stays available: a sync that finds the same pods only checks the pods after them.
    Without this, an ordered set of n pods would take n syncs of n pods each.
    """

    pods: Sequence[Pod] = ()
    by_ordinal: Mapping[int, Pod] = {}
    #: The number of these pods by revision.
    revisions: Mapping[str, int] = {}
    #: How many of the lowest ordinals these pods have.
    lowest: int = 0
    #: The ordinal of the first pod, and `minReadySeconds`, at that sync.
    of: tuple[int, int] = (0, 0)


class _Sync:
    """One sync of one StatefulSet."""

    def __init__(self, stateful_set: StatefulSet, view: View) -> None:
        self._set, self._view = stateful_set, view
        self._memory = view.memory("StatefulSet", key_of(stateful_set))
        name, pods = stateful_set.metadata.name, view.pods_of(stateful_set)
        self._ordinals = ordinals_of(stateful_set, replicas_of(stateful_set))
        self._known = self._known_of(pods)
        others = ((ordinal_of(pod.metadata, name), pod) for pod in pods[len(self._known.pods) :])
        #: The pods that the last sync did not find available.
        self._others = {ordinal: pod for ordinal, pod in others if ordinal is not None}
        self._pods = {**self._known.by_ordinal, **self._others}
        revisions = _revisions(stateful_set, view)
        self._update = revisions[-1]
        current = self._memory.get(_CURRENT) or stateful_set.status.current_revision
        known = {each.name for each in revisions}
        is_unknown = current not in known if current else has_others(self._pods.values(), known)
        self._memory.setdefault(_UNKNOWN, is_unknown)
        self._current = next((each for each in revisions if each.name == current), revisions[0])

    def _known_of(self, pods: Sequence[Pod]) -> _Steady:
        """The pods that have not changed since the last sync found them available."""
        known: _Steady = self._memory.get(_STEADY, _Steady())
        of = self._ordinals.start, self._set.spec.min_ready_seconds
        is_same = not is_reference() and known.of == of and pods[: len(known.pods)] == known.pods
        return known if is_same else _Steady(of=of)

    def _note_steady(self) -> None:
        """Record the pods that the next sync need not check, if they do not change."""
        known = self._known
        more = dict(takewhile(lambda item: self._replica_of(item[1]).is_healthy, self._others.items()))
        if more and not is_reference():
            by_ordinal, lowest = {**known.by_ordinal, **more}, known.lowest
            while self._ordinals.start + lowest in by_ordinal:
                lowest += 1
            revisions = Counter(known.revisions) + Counter(map(revision_label, more.values()))
            known = _Steady([*known.pods, *more.values()], by_ordinal, revisions, lowest, known.of)
        self._memory[_STEADY] = known

    def outcome(self) -> SyncResult:
        """The writes of the sync, and when the next pod becomes available."""
        count = self._memory.setdefault(_COUNT, self._count(self._current.name))
        moves = self.moves()
        writes = tuple(self._writes(moves, count))
        self._note_status(moves)
        self._note_steady()
        return SyncResult(writes, next_available(self._others.values(), self._set.spec.min_ready_seconds, self._view))

    def moves(self) -> Moves:
        """One step of the loop over the pods."""
        if is_ordered(self._set):
            held_up = first_in_order(self._replica, self._ordinals[self._known.lowest :])
            if held_up is not None:
                return held_up
        replicas = {ordinal: self._replica_of(pod) for ordinal, pod in self._pods.items()}
        unavailable = most_unavailable(self._set, len(self._ordinals), self._view.state.cluster.facts.gates)
        lowest = first_to_roll(self._set)
        return sync(replicas, self._ordinals, ordered=is_ordered(self._set), lowest=lowest, most=unavailable)

    def _replica(self, ordinal: int) -> Replica | None:
        pod = self._pods.get(ordinal)
        return None if pod is None else self._replica_of(pod)

    def _replica_of(self, pod: Pod) -> Replica:
        # The same as the properties, without their calls for each of thousands of pods.
        phase = pod.status.phase
        return Replica(
            pod.metadata.labels.get(REVISION_LABEL, "") == self._update.name,
            phase == "Running" and is_available(pod, self._set.spec.min_ready_seconds, self._view),
            pod.metadata.deletion_timestamp is not None,
            phase != "Running" and is_terminal(pod),
        )

    @property
    def _partition(self) -> int | None:
        """The strategy's partition; None if the strategy has a type, but no `rollingUpdate` block.

        The API server sets the block only if the type is not set either.
        """
        strategy = self._set.spec.update_strategy
        if strategy.rolling_update is not None:
            return strategy.rolling_update.partition or 0
        return None if strategy.type else 0

    def _writes(self, moves: Moves, count: int) -> Iterator[Write]:
        for ordinal in moves.create:
            writes = self._created(ordinal, count)
            if writes is None and is_ordered(self._set):
                return
            yield from writes or ()
        yield from self._missing_claims(moves)
        yield from self._owned_claims()
        for ordinal in moves.delete:
            yield DeletePod(key_of(self._pods[ordinal]), self._reason(ordinal))

    def _reason(self, ordinal: int) -> How:
        if ordinal not in self._ordinals:
            return "ScaledDown"
        return "Completed" if is_terminal(self._pods[ordinal]) else "RolledOut"

    def _created(self, ordinal: int, count: int) -> Sequence[Write] | None:
        """The pod after its claims; None if one of these belongs to an earlier pod, or is being deleted."""
        pod = self._made(ordinal, count)
        claims = list(self._claims(pod))
        if any(known is not None and _is_blocked(known, pod) for _, known in claims):
            return None
        missing = (with_owners(claim, self._set, None) for claim, known in claims if known is None)
        return *map(Create, missing), Create(pod)

    def _claims(self, pod: Pod) -> Iterator[tuple[PersistentVolumeClaim, PersistentVolumeClaim | None]]:
        """The pod's claims as they are created, each with the existing claim of that name."""
        for claim in claims_of(self._set, pod.metadata.name):
            yield claim, self._view.state.cluster.get(PersistentVolumeClaim, key_of(claim))

    def _made(self, ordinal: int, count: int) -> Pod:
        """A pod of the revision for this ordinal, with a UID that no pod with its name has had."""
        is_rolled = self._set.spec.update_strategy.type != _ON_DELETE
        old = is_rolled and made_of_old(ordinal, self._ordinals.start, self._partition, count)
        if old and self._memory[_UNKNOWN]:
            note_missed(self._set, self._view)
        revision = self._current if old else self._update
        meta = self._set.metadata
        plain = pod_of(revision.template or PodTemplateSpec(), meta.namespace, reference(self._set))
        pod = numbered_pod(self._set, plain, ordinal, revision.name)
        made = self._memory.get(_MADE, 0) + 1
        self._memory[_MADE] = made
        uid = uid_of("Pod", meta.namespace, f"{pod.metadata.name} {made}")
        return replace(pod, metadata=replace(pod.metadata, uid=uid))

    def _missing_claims(self, moves: Moves) -> Iterator[Write]:
        """Claims that pending pods lack; an ordered set continues only up to the pod that it waits for."""
        if not self._set.spec.volume_claim_templates:
            return
        last = moves.waits_for if is_ordered(self._set) and moves.waits_for is not None else self._ordinals.stop
        for ordinal, pod in sorted(self._others.items()):
            if pod.status.phase != "Pending" or ordinal not in self._ordinals or ordinal > last:
                continue
            for claim, known in self._claims(pod):
                if known is None:
                    yield Create(with_owners(claim, self._set, None))

    def _owned_claims(self) -> Iterator[Write]:
        """Set the owners of claims by the retention policy: the set, or a surplus pod."""
        if not self._set.spec.volume_claim_templates:
            return
        for ordinal, pod in sorted(self._pods.items()):
            surplus = pod if ordinal not in self._ordinals else None
            for _, known in self._claims(pod):
                if known is None or _is_blocked(known, pod):
                    continue
                owned = with_owners(known, self._set, surplus)
                if owned != known:
                    yield Update(owned)

    def _count(self, revision: str) -> int:
        return self._counts[revision]

    @cached_property
    def _counts(self) -> Counter[str]:
        """The number of pods by revision, without those that are being deleted."""
        others = (pod for pod in self._others.values() if pod.metadata.deletion_timestamp is None)
        return Counter(self._known.revisions) + Counter(map(revision_label, others))

    def _note_status(self, moves: Moves) -> None:
        """`completeRollingUpdate`: once all pods have the new revision and are ready, it is the current one."""
        is_done = self._count(self._update.name) == len(self._pods) == len(self._ordinals) and all(
            pod.status.phase == "Running" and is_ready(pod) for pod in self._others.values()
        )
        if is_done and self._set.spec.update_strategy.type != _ON_DELETE:
            self._current, self._memory[_UNKNOWN] = self._update, False
        self._memory[_CURRENT] = self._current.name
        deleted = sum(revision_label(self._pods[ordinal]) == self._current.name for ordinal in moves.delete)
        self._memory[_COUNT] = self._count(self._current.name) - deleted


def _is_blocked(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    """Whether a claim is being deleted, or belongs to an earlier pod with that name (`hasStaleOwnerRef`)."""
    references: Mapping[str, str] = {owner.kind: owner.uid for owner in claim.metadata.owner_references}
    return claim.metadata.deletion_timestamp is not None or references.get("Pod", pod.metadata.uid) != pod.metadata.uid


CONTROLLERS = (StatefulSets(),)
