"""What of a descheduler and its policy is not known."""

from __future__ import annotations

from kwhatif.kube.model.caveat.base import BaseCaveat, IncompleteCaveat


class PolicyIsEmpty(BaseCaveat, tag="descheduler-policy-empty", kw_only=True):
    """The descheduler takes its policy for an empty one, and does nothing."""

    warns = True
    why: str


class NoMetrics(IncompleteCaveat, tag="no-metrics", kw_only=True):
    """A descheduler policy goes by measured use, and the input has no NodeMetrics: most dumps leave them out."""


class PrometheusNotAsked(IncompleteCaveat, tag="prometheus-not-asked", kw_only=True):
    """A descheduler policy goes by what Prometheus says, which is not asked: the strategy evicts nothing here."""

    plugin: str


class MomentNotKnown(BaseCaveat, tag="moment-not-known", kw_only=True):
    """Ages count from the newest time in the dump, since nobody said when it was taken."""

    moment: str


class EvictionOrder(BaseCaveat, tag="eviction-order", kw_only=True):
    """Which pods a descheduler evicts depends on the order in which it comes upon nodes and pods, which is random."""


DeschedulingCaveat = PolicyIsEmpty | NoMetrics | PrometheusNotAsked | MomentNotKnown | EvictionOrder
