"""The result of a cycle: eviction attempts with their reasons, and log messages."""

from __future__ import annotations

from typing import Literal

import msgspec

from kwhatif.kube.model.meta import FrozenMeta, Row

RefusedBy = Literal["total-limit", "node-limit", "namespace-limit", "pdb", "multiple-pdbs", "forbidden", "not-found"]
Stage = Literal["Filter", "PreEvictionFilter"]
ExtensionPoint = Literal["Deschedule", "Balance"]
UtilizationClass = Literal["underutilized", "overutilized", "appropriate"]


class _Why(msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True, rename="camel", tag_field="type", gc=False):
    """Base of the reasons why a strategy evicts a pod."""


class ResourceUse(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The usage of a resource of a node, and its threshold; in percent."""

    resource: str
    percent: float
    threshold: float


class NodeUse(_Why, tag="NodeUse"):
    """The node is over- or underutilized: its usage before any eviction, of each resource with a threshold."""

    node_class: UtilizationClass
    uses: tuple[ResourceUse, ...]


class Duplicate(_Why, tag="Duplicate"):
    """The node has more pods of one owner than the average of the nodes that accept them."""

    owner: str
    on_node: int
    average: int
    nodes: int


class BrokenAntiAffinity(_Why, tag="BrokenAntiAffinity"):
    """Its anti-affinity matches a pod in the same domain."""

    other: str
    topology_key: str


class BrokenNodeAffinity(_Why, tag="BrokenNodeAffinity"):
    """The node does not, or no longer, match its required node affinity."""


class BetterNode(_Why, tag="BetterNode"):
    """Another node matches its preferred node affinity better, by the sums of the weights."""

    weight: int
    best: int


class UntoleratedTaint(_Why, tag="UntoleratedTaint"):
    """The node has a taint that the pod does not tolerate: `key=value:Effect`."""

    taint: str


class Skew(_Why, tag="Skew"):
    """The skew of its domain is larger than the constraint allows."""

    topology_key: str
    domain: str
    pods: int
    lowest: str
    lowest_pods: int
    max_skew: int


class Restarts(_Why, tag="Restarts"):
    """Its containers have restarted too often."""

    restarts: int
    threshold: int


class LifeTime(_Why, tag="LifeTime"):
    """It is too old, or too long in a certain state: `conditions` are the criteria. Times are in seconds."""

    age: int
    max_age: int | None = None
    conditions: tuple[str, ...] = ()


class Failed(_Why, tag="Failed"):
    """It has failed, long enough ago; in seconds."""

    age: int
    min_age: int
    reasons: tuple[str, ...] = ()


Why = (
    NodeUse
    | Duplicate
    | BrokenAntiAffinity
    | BrokenNodeAffinity
    | BetterNode
    | UntoleratedTaint
    | Skew
    | Restarts
    | LifeTime
    | Failed
)


class WantedRow(Row):
    """A pod that a plugin wants to evict; `order` is its place among all attempts."""

    order: int
    pod: str
    node: str
    profile: str
    plugin: str
    why: Why


class EvictionAttempt(WantedRow):
    """An attempted eviction. `by`: the part that refused it; None if the pod is gone. `budgets` that refused it."""

    by: RefusedBy | None = None
    message: str = ""
    budgets: tuple[str, ...] = ()


class NodeClassRow(Row):
    """The class of a node for Low- or HighNodeUtilization; `percent` is the used share of each resource."""

    profile: str
    plugin: str
    node: str
    node_class: UtilizationClass = msgspec.field(name="class")
    percent: dict[str, float]


class StrategyRow(Row):
    """One plugin of one profile: the number of evicted pods and of refused evictions, its error, and its notes."""

    profile: str
    plugin: str
    extension_point: ExtensionPoint
    evicted: int
    refused: int
    error: str | None = None
    #: Its log messages that explain why it evicts nothing, or stops.
    notes: tuple[str, ...] = ()


class SparedRow(Row):
    """A pod that the evictor's filters protect before anything is evicted; `reasons` are upstream's words."""

    profile: str
    pod: str
    node: str
    stage: Stage
    reasons: tuple[str, ...]


class DeschedulingCycle(msgspec.Struct, frozen=True):
    """One cycle. `skipped`: why the cycle did nothing."""

    skipped: str = ""
    attempts: tuple[EvictionAttempt, ...] = ()
    plugins: tuple[StrategyRow, ...] = ()
    classes: tuple[NodeClassRow, ...] = ()
    spared: tuple[SparedRow, ...] = ()
