"""The types of a policy file, `kwhatif.yaml`; `schema/policy.json` is made from them by `make generated`.

Rules that hold for everything have a level each; those that need details are lists, and a rule in a list may have a
name.
"""

from __future__ import annotations

from datetime import date
from typing import Literal

import msgspec

from kwhatif.kube.model.meta import FrozenMeta, LabelSelector

KIND = "Policy"

#: `pass` and `ignore` are the same: there is no finding.
Level = Literal["fail", "warn", "pass", "ignore"]


class _Part(
    msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """Base of all parts of a policy. Lists of names are patterns with `*`, `?` and `[…]`."""


class Protection(_Part):
    """Pods that must not be evicted: those of some namespaces, or those of at least a priority (one of the two)."""

    name: str = ""
    level: Level = "fail"
    namespaces: tuple[str, ...] = ()
    min_priority: int | None = None


class VictimLimit(_Part):
    """How many pods all manifests together may evict."""

    count: int
    level: Level = "fail"


class ClassRule(_Part):
    """Priority classes that pods of some namespaces may not use: the forbidden ones, or all but the allowed ones."""

    name: str = ""
    level: Level = "fail"
    namespaces: tuple[str, ...] = ("*",)
    forbidden: tuple[str, ...] = ()
    allowed: tuple[str, ...] | None = None


class PlacementRule(_Part):
    """Nodes, by labels, that pods of some namespaces must not land on: the forbidden ones, or all but the allowed ones.

    `nodes` means the same as `forbidden`.
    """

    allowed: LabelSelector | None = None
    forbidden: LabelSelector | None = None
    nodes: LabelSelector | None = None
    name: str = ""
    level: Level = "fail"
    namespaces: tuple[str, ...] = ("*",)


class ExpressionRule(_Part):
    """A CEL expression that must hold for every pod.

    It may use `decision` and `workload`, as `-o json` has them, and `node`, the chosen node's `name` and `labels` (null
    when there is none). What cannot be evaluated does not hold.
    """

    name: str
    expression: str
    message: str = ""
    level: Level = "fail"
    namespaces: tuple[str, ...] = ("*",)


class ExceptionRule(_Part):
    """Rules that some workloads need not keep, why, and the last day on which that counts.

    `rules` are patterns of rule names, such as `preemption` or `placement/*`; `workloads` of names such as
    `Deployment shop/web`.
    """

    rules: tuple[str, ...]
    workloads: tuple[str, ...]
    reason: str
    expires: date


class PendingRule(_Part):
    """Pods of at least that priority that are pending in the end, and were not at the start."""

    min_priority: int = 0
    level: Level = "fail"


class AftermathRule(_Part):
    """What must not be so once all has settled, as `kwhatif simulate` plays it: it is played only if this is there.

    `loop`: it never settles. `budget_overrun`: a budget has fewer healthy pods than it asks for, more so than at the
    start.
    """

    pending: PendingRule | None = None
    loop: Level = "fail"
    budget_overrun: Level = "fail"


class AnnotationRule(_Part):
    """Which rules an object may suppress for itself, by its annotation `kwhatif.dev/ignore`: patterns of rule names."""

    allow: tuple[str, ...] = ("*",)


class SnapshotRule(_Part):
    """How old a dump may be, such as `6h`; it fails by the caveat `stale-snapshot`."""

    max_age: str


class Policy(_Part):
    """All rules. Without a file, the defaults are the policy."""

    api_version: Literal["kwhatif.dev/v1"] = "kwhatif.dev/v1"
    kind: Literal["Policy"] = "Policy"
    unschedulable: Level = "fail"
    rollout: Level = "fail"
    denied: Level = "fail"
    gated: Level = "warn"
    ignored: Level = "warn"
    preemption: Level = "warn"
    budget_violation: Level = "fail"
    max_victims: VictimLimit | None = None
    protected_victims: tuple[Protection, ...] = ()
    priority_classes: tuple[ClassRule, ...] = ()
    placement: tuple[PlacementRule, ...] = ()
    expressions: tuple[ExpressionRule, ...] = ()
    aftermath: AftermathRule | None = None
    #: Any one of which may fail once the manifests are applied, or could not without them either.
    survives: tuple[Literal["node", "zone"], ...] = ()
    exceptions: tuple[ExceptionRule, ...] = ()
    #: Codes of caveats, or patterns of them -> level.
    caveats: dict[str, Level] = {}
    annotations: AnnotationRule = AnnotationRule()
    snapshot: SnapshotRule | None = None
