"""`SharedCandidates`: eviction candidates of pods that differ only in what no filter reads of them, such as labels.

Workloads often ask for the same amounts, and tolerate the same. While such pods find no node, a node that has changed
is evaluated once for all of them, not once for each signature.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import NamedTuple

import msgspec

from kwhatif.scheduler.batch.eviction_candidates import EvictionCandidates
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.guard import GuardedPlugin
from kwhatif.scheduler.framework.incremental import Reprieving
from kwhatif.scheduler.framework.plugin import PostFilterPlugin, Reads
from kwhatif.scheduler.preemption.policy import EvictsByPolicy, Policy, PolicySince137

#: Filters that read nothing of the pod but what `_read_of` returns, and nothing of other nodes.
_SIMPLE = frozenset(("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts"))
#: JSON, because the parts of a spec cannot be hashed.
_encode = msgspec.json.Encoder(order="deterministic").encode


def sharing_key(cycle: Cycle, candidates: EvictionCandidates) -> Hashable | None:
    """Cycles with equal keys have the same candidates on the same state; None: they cannot be shared."""
    if cycle.node_set is not None or cycle.pre_filter_message or cycle.absent or cycle.placement is not None:
        return None
    if any(isinstance(plugin, GuardedPlugin) for plugin in cycle.profile.plugins):
        return None
    if not all(map(_is_known, cycle.profile.post_filter)):
        return None
    filters: list[Hashable] = []
    for name, compiled in cycle.filters:
        if isinstance(compiled, Reprieving) and compiled.signature is not None:
            filters.append((name, compiled.signature))
        elif name in _SIMPLE and compiled.reads is not Reads.CLUSTER:
            filters.append(name)
        else:
            return None
    pod = cycle.pod
    return pod.priority, pod.pod.spec.preemption_policy, tuple(filters), _read_of(cycle), candidates.rejected_before


def _is_known(plugin: PostFilterPlugin) -> bool:
    """Whether the PostFilter plugin reads nothing of the pod but its priority, and whether it may evict others."""
    if isinstance(plugin, EvictsByPolicy):
        return type(plugin.policy) in (Policy, PolicySince137)
    return plugin.name == "DynamicResources"  # pods with claims have no batch


def _read_of(cycle: Cycle) -> bytes:
    """What the simple filters read of the pod."""
    spec = cycle.pod.pod.spec
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    ports = [container.ports for container in (*spec.containers, *spec.init_containers)]
    required = affinity.required if affinity is not None else None
    return _encode((spec.node_name, spec.node_selector, required, spec.tolerations, ports))


class Changed(NamedTuple):
    """What has changed since a generation of the state."""

    since: int
    #: The names of nodes, and the keys of budgets.
    nodes: Collection[str]
    budgets: Collection[str]


class SharedCandidates:
    """Those of one `BatchCache`, by their key. A fork of the cache begins with none: it shares what it forks."""

    def __init__(self) -> None:
        self._known: dict[Hashable, EvictionCandidates] = {}

    def updated(
        self, key: Hashable | None, own: EvictionCandidates, cycle: Cycle, changed: Changed
    ) -> EvictionCandidates:
        """The candidates to go on with, as they are now.

        Args:
            key: the `sharing_key` of the cycle.
            own: the candidates of the cycle, which were up to date when the changes began.
            cycle: has the pod that asks.
            changed: what has changed since then.

        Raises:
            CycleError: a plugin failed.
        """
        found = None if key is None else self._known.pop(key, None)
        if found is None or found.generation < changed.since:
            found = own
        found.use_for(cycle.pod)
        if found.generation != cycle.state.generation:
            found.refresh(sorted(changed.nodes), sorted(changed.budgets))
            found.generation = cycle.state.generation
        if key is not None:
            self._known[key] = found
        return found
