"""What of a descheduler is not known, in words."""

from __future__ import annotations

from typing import assert_never

from kwhatif.kube.model.caveat.descheduling import (
    DeschedulingCaveat,
    EvictionOrder,
    MomentNotKnown,
    NoMetrics,
    PolicyIsEmpty,
    PrometheusNotAsked,
)


def sentence(caveat: DeschedulingCaveat) -> str:
    """What is left out, or was assumed."""
    match caveat:
        case PolicyIsEmpty(why=why):
            return f"the descheduler takes the policy for an empty one, since {why}: nothing is ever evicted"
        case NoMetrics():
            return (
                "the policy goes by the measured use of nodes, and the input has none: add the output of"
                " kubectl get --raw /apis/metrics.k8s.io/v1beta1/nodes and .../pods to it"
            )
        case PrometheusNotAsked(plugin=plugin):
            return f"{plugin} goes by what Prometheus says, which kwhatif does not ask: here it evicts nothing"
        case MomentNotKnown(moment=moment):
            return f"the input does not say when it was taken: ages count to its newest time, {moment} (see --at)"
        case EvictionOrder():
            return (
                "the descheduler takes nodes and pods in random order: another order evicts other pods, here nodes come"
                " by name, and pods by namespace and name"
            )
    assert_never(caveat)
