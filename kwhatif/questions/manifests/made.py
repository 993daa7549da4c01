"""`MadeByControllers`: what controllers create for workloads, before any pod is scheduled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kwhatif.admission.outcome import Admitted, Denied
from kwhatif.admission.quota.state import QuotaUsage
from kwhatif.controllers.catalog import MAKING_PODS
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import Deployment
from kwhatif.questions.manifests.injected import injected
from kwhatif.questions.manifests.prepared import prepare
from kwhatif.questions.manifests.writes import apply_at_once
from kwhatif.simulation.clock import Clock, start_of
from kwhatif.simulation.instant import InstantEngine
from kwhatif.state.change import Change, Delete, Upsert
from kwhatif.state.state import State
from kwhatif.workloads.comparison import WorkloadUpdate


class MadeByControllers:
    """Runs controllers on a fork of a state, and returns what they created and deleted."""

    def __init__(self, state: State, usage: QuotaUsage, workloads: Sequence[Any]) -> None:
        """Set up.

        Args:
            state: without the workloads; it is not changed.
            usage: the usage of its quotas; is changed.
            workloads: that will be applied.
        """
        self._before = state.cluster.fork()
        ahead = state.fork()
        # A ReplicaSet that is scaled has the number that was asked for, whatever its Deployment makes of it later.
        rolls = any(isinstance(each, Deployment) for each in workloads)
        controllers = [each for each in MAKING_PODS if rolls or each.name != Deployment.__name__]
        self._engine = InstantEngine(
            ahead, {}, controllers, Clock(start_of(ahead.cluster)), usage, lambda _: True, counts_budgets=False
        )
        prepare(workloads, ahead.cluster, self._engine.world.complete)
        self._engine.world.watchers.append(self._observe)
        self._engine.world.admission_watcher = self._admitted
        #: By kind and key, what is new, and None for pods that are gone; in order.
        self._touched: dict[tuple[type, str], None] = {}
        self._made = 0
        self._refused = ""

    def apply(self, obj: Any, update: WorkloadUpdate) -> tuple[int, str]:
        """Apply a workload; returns the number of its new pods, and the message if others are refused."""
        self._made, self._refused = 0, ""
        world = self._engine.world
        for each in apply_at_once(obj, update, self._before, world, "final", in_order=False):
            self._engine.reactions.look_at(each, None)
        self._engine.react()
        last = [each.message for each in self._engine.reactions.refusals.values() if each.actor.endswith(key_of(obj))]
        return self._made, self._refused or next(iter(last), "")

    @property
    def caveats(self) -> Iterator[Caveat]:
        """The assumptions."""
        yield from map(injected, self._engine.world.injections.values())

    def changes(self) -> Iterator[Change]:
        """The state afterwards."""
        cluster = self._engine.world.state.cluster
        for kind, key in self._touched:
            obj = cluster.get(kind, key)
            if obj is not None:
                yield Upsert(obj)
            elif self._before.get(kind, key) is not None:
                yield Delete(kind, key)

    def _observe(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        del event
        obj = after or before
        if obj is not None and (before is None or after is None):
            self._touched[type(obj), key_of(obj)] = None
            self._made += isinstance(after, Pod)

    def _admitted(self, pod: Pod, outcome: Admitted[Pod] | Denied) -> None:
        del pod
        if isinstance(outcome, Denied):
            self._refused = self._refused or outcome.message
