"""`Handle`: the interface for plugins, and `PodEvictor`, which counts (`descheduler/evictions/evictions.go`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import Enum

from kwhatif.controllers.eviction import FORBIDDEN, NOT_FOUND, TOO_MANY_REQUESTS, EvictionRefused
from kwhatif.descheduler.attempt import EvictionAttempt, NodeClassRow, RefusedBy, Why
from kwhatif.descheduler.build import RunnablePolicy
from kwhatif.descheduler.default_evictor import DefaultEvictor
from kwhatif.descheduler.node_fit import NodeFit
from kwhatif.descheduler.policy import Namespaces
from kwhatif.descheduler.sandbox import Sandbox
from kwhatif.kube.matching.field_errors import quoted
from kwhatif.kube.matching.labels import compile_selector
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod

PodFilter = Callable[[Pod], bool]


class Result(Enum):
    """The result of an attempt, which decides what the plugin does next."""

    EVICTED = "evicted"
    TOTAL_LIMIT = "total-limit"
    NODE_LIMIT = "node-limit"
    #: Any other failure: continue with the next pod.
    FAILED = "failed"


class PodEvictor:
    """Evicts as long as the policy's limits allow; only successful evictions count. One for all profiles of a cycle."""

    def __init__(self, policy: RunnablePolicy, sandbox: Sandbox) -> None:
        self.policy = policy
        self.sandbox = sandbox
        self._per_node: Counter[str] = Counter()
        self._per_namespace: Counter[str] = Counter()
        self.attempts: list[EvictionAttempt] = []

    def evict(self, pod: Pod, why: Why, profile: str, plugin: str) -> Result:
        """Try to evict the pod, and record the attempt."""
        by, message, budgets = self._limited(pod) or self._evicted(pod)
        node = pod.spec.node_name
        self.attempts.append(
            EvictionAttempt(len(self.attempts) + 1, key_of(pod), node, profile, plugin, why, by, message, budgets)
        )
        if by is None:
            self._per_node[node] += 1
            self._per_namespace[pod.metadata.namespace] += 1
            return Result.EVICTED
        return Result(by) if by in ("total-limit", "node-limit") else Result.FAILED

    def _limited(self, pod: Pod) -> tuple[RefusedBy | None, str, tuple[str, ...]] | None:
        policy = self.policy
        if policy.max_total is not None and self._per_node.total() >= policy.max_total:
            return "total-limit", "maximum number of evicted pods per a descheduling cycle reached", ()
        if policy.max_per_node is not None and self._per_node[pod.spec.node_name] >= policy.max_per_node:
            return "node-limit", "maximum number of evicted pods per node reached", ()
        if (
            policy.max_per_namespace is not None
            and self._per_namespace[pod.metadata.namespace] >= policy.max_per_namespace
        ):
            return "namespace-limit", "maximum number of evicted pods per namespace reached", ()
        return None

    def _evicted(self, pod: Pod) -> tuple[RefusedBy | None, str, tuple[str, ...]]:
        """Call the Eviction API."""
        refused = self.sandbox.evict(pod)
        if refused is None:
            return None, "", ()
        return *_worded(refused, pod.metadata.name), refused.budgets


def _worded(refused: EvictionRefused, name: str) -> tuple[RefusedBy, str]:
    if refused.code == TOO_MANY_REQUESTS:
        return "pdb", f"error when evicting pod (ignoring) {quoted(name)}: {refused.message}"
    if refused.code == NOT_FOUND:
        return "not-found", f"pod not found when evicting {quoted(name)}: {refused.message}"
    return "forbidden" if refused.code == FORBIDDEN else "multiple-pdbs", refused.message


class Handle:
    """The interface for one plugin of one profile."""

    def __init__(
        self, profile: str, plugin: str, nodes: Sequence[Node], evictor: DefaultEvictor, pod_evictor: PodEvictor
    ) -> None:
        self.profile = profile
        self.plugin = plugin
        #: The nodes that are processed, by name.
        self.nodes = nodes
        self.evictor = evictor
        self.policy = pod_evictor.policy
        self.sandbox = pod_evictor.sandbox
        self.fit = NodeFit(self.sandbox)
        self.notes: list[str] = []
        self.classes: list[NodeClassRow] = []
        self._pod_evictor = pod_evictor

    def evict(self, pod: Pod, why: Why) -> Result:
        """Try to evict the pod."""
        return self._pod_evictor.evict(pod, why, self.profile, self.plugin)

    def evict_each(self, pods: Iterable[tuple[Pod, Why]]) -> bool:
        """Evict pods of one node until its limit is reached; returns False if the total limit is reached."""
        for pod, why in pods:
            result = self.evict(pod, why)
            if result is Result.TOTAL_LIMIT:
                return False
            if result is Result.NODE_LIMIT:
                break
        return True

    def note(self, message: str, **values: object) -> None:
        """Record a log message of upstream, with its values."""
        details = ", ".join(f"{name} {value}" for name, value in values.items())
        self.notes.append(f"{message}: {details}" if details else message)

    def is_evictable(self, pod: Pod) -> bool:
        """Whether none of the evictor's filters protects the pod."""
        return self.evictor.filter(pod) and self.evictor.pre_eviction_filter(pod)


def chosen(namespaces: Namespaces | None, selector: LabelSelector | None = None) -> PodFilter:
    """A filter for pods in these namespaces, with these labels (`podutil.Options`)."""
    include: Collection[str] = frozenset(namespaces.include) if namespaces else ()
    exclude: Collection[str] = frozenset(namespaces.exclude) if namespaces else ()
    compiled = None if selector is None else compile_selector(selector)

    def test(pod: Pod) -> bool:
        namespace = pod.metadata.namespace
        if (include and namespace not in include) or namespace in exclude:
            return False
        return compiled is None or compiled.matches(pod.metadata.labels)

    return test
