"""Caveats about the descheduler and its policy."""

from __future__ import annotations

from kwhatif.kube.model.caveat.base import BaseCaveat, IncompleteCaveat


class PolicyIsEmpty(BaseCaveat, tag="descheduler-policy-empty", kw_only=True):
    """The descheduler treats its policy as empty, and does nothing."""

    warns = True
    why: str


class NoMetrics(IncompleteCaveat, tag="no-metrics", kw_only=True):
    """A descheduler policy uses measured usage, and the input has no NodeMetrics: most dumps leave them out."""


class PrometheusNotAsked(IncompleteCaveat, tag="prometheus-not-asked", kw_only=True):
    """A descheduler policy uses metrics of Prometheus, which is not queried: the strategy evicts nothing here."""

    plugin: str


class MomentNotKnown(BaseCaveat, tag="moment-not-known", kw_only=True):
    """Ages count from the newest time in the dump, because it is not known when the dump was taken."""

    moment: str


class EvictionOrder(BaseCaveat, tag="eviction-order", kw_only=True):
    """Which pods a descheduler evicts depends on the order in which it visits nodes and pods, which is random."""


DeschedulingCaveat = PolicyIsEmpty | NoMetrics | PrometheusNotAsked | MomentNotKnown | EvictionOrder
