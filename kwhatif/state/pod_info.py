"""`PodInfo`: a pod with what scheduling needs of it, computed once (`pkg/scheduler/framework/types.go`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from kwhatif.kube.gates import BASE_RESIZES, ResizeRules
from kwhatif.kube.matching.nodes import HostPort, host_ports
from kwhatif.kube.matching.pods import AffinityTerms, affinity_terms
from kwhatif.kube.matching.requests import PodResources, pod_resources
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.pod import Pod

#: The most memos of a pod: a value for this state, and for a fork or two where it differs.
_MEMOS = 4
T = TypeVar("T")


class PodInfo:
    """A pod and its derived data. Immutable; compared by identity, found by `uid`."""

    # No __slots__: `cached_property` needs the instance dictionary, and most pods never fill it.

    def __init__(self, pod: Pod, resizes: ResizeRules = BASE_RESIZES) -> None:
        meta = pod.metadata
        self.pod = pod
        #: `namespace/name`.
        self.key = f"{meta.namespace}/{meta.name}"
        #: The pod's UID; for a hand-written pod without one, its key.
        self.uid = meta.uid or self.key
        self.namespace = meta.namespace
        self.labels = meta.labels
        self.priority = pod.spec.priority or 0
        self.affinity = pod.spec.affinity
        self.resources: PodResources = pod_resources(pod, resizes)
        # Computed on demand and kept; not by `cached_property`, which takes a lock up to Python 3.11:
        # preemption needs the ports and terms of 100,000 pods.
        self._ports: tuple[HostPort, ...] | None = None
        self._affinity_terms: AffinityTerms | None = None
        #: The budgets that select the pod, with the generation that this is valid for: set by `preemption.budgets`.
        self.budgets: tuple[int, tuple[str, ...]] | None = None
        #: Other cached results about the pod, by the generation of what they depend on.
        self.memos: dict[int, Any] | None = None
        self._derived: dict[Callable[[Pod], Any], Any] | None = None
        start_time = pod.status.start_time
        #: When the kubelet acknowledged the pod, nanoseconds since the epoch.
        self.start_time = parse_time(start_time) if start_time else None

    @property
    def name(self) -> str:
        """The pod's name."""
        return self.pod.metadata.name

    @property
    def terminating(self) -> bool:
        """Whether the pod is being deleted."""
        return self.pod.metadata.deletion_timestamp is not None

    @property
    def ports(self) -> tuple[HostPort, ...]:
        """Host ports that the pod occupies."""
        if self._ports is None:
            self._ports = host_ports(self.pod.spec)
        return self._ports

    @cached_property
    def claim_names(self) -> tuple[str, ...]:
        """Names of the claims its `persistentVolumeClaim` volumes use, in order."""
        return tuple(
            volume.persistent_volume_claim.claim_name
            for volume in self.pod.spec.volumes
            if volume.persistent_volume_claim is not None
        )

    @property
    def affinity_terms(self) -> AffinityTerms:
        """Its inter-pod affinity and anti-affinity, compiled."""
        if self._affinity_terms is None:
            self._affinity_terms = affinity_terms(self.pod)
        return self._affinity_terms

    def derived(self, build: Callable[[Pod], T]) -> T:
        """The result of `build` for the pod, computed once: for rules that are evaluated often."""
        known = self._derived
        if known is None:
            known = self._derived = {}
        if build not in known:
            known[build] = build(self.pod)
        made: T = known[build]
        return made

    @property
    def has_affinity(self) -> bool:
        """Whether it has any inter-pod affinity or anti-affinity (`PodsWithAffinity`)."""
        affinity = self.affinity
        return affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)

    def remember(self, generation: int, found: object) -> None:
        """Store a result in `memos`, and drop those that are likely to be out of date."""
        if self.memos is None or len(self.memos) >= _MEMOS:
            self.memos = {}
        self.memos[generation] = found

    def __getstate__(self) -> dict[str, object]:
        """Leave out cached results."""
        return self.__dict__ | {"budgets": None, "memos": None}

    def __repr__(self) -> str:
        """For people and failing tests."""
        return f"PodInfo({self.key})"
