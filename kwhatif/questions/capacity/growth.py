"""`grow`: how many more pods fit if an autoscaler adds nodes up to its limits."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.autoscaler.loop import AutoscalerLoop
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import CloudCapacityUnknown, PodsLeftByAutoscaler
from kwhatif.questions.capacity.filling import CapacityCount, Fit
from kwhatif.questions.judging.question import as_unschedulable
from kwhatif.questions.session.session import Session
from kwhatif.report.capacity import GrownRow
from kwhatif.state.change import Upsert
from kwhatif.state.state import State

#: The autoscaler is asked at most this many times, if the scheduler does not use its nodes.
_MOST_ROUNDS = 100


class Grown(NamedTuple):
    """The answer with the nodes that came."""

    row: GrownRow
    fit: Fit
    caveats: tuple[Caveat, ...]


def grow(session: Session, filling: CapacityCount, fit: Fit, limit: int) -> Grown:
    """Go on where the next pod finds no node: all pods that are missing wait, and the autoscaler looks at them.

    A pod that could evict others waits like one that cannot: as everywhere here, counted is what fits beside all that
    runs. (In a cluster it evicts them, and those that come back in their place wait for the nodes.)

    Args:
        session: with its autoscaler.
        filling: filled without new nodes, which is `fit`.
        fit: that.
        limit: the most sets to count.
    """
    scaling = session.scaling
    assert scaling is not None, "it was asked for"
    loop, refused = AutoscalerLoop(scaling.autoscaler), None
    added: Counter[str] = Counter()
    left: tuple[Caveat, ...] = ()
    for _ in range(_MOST_ROUNDS):
        stop = fit.row.stop
        if stop is None or stop.outcome not in ("Unschedulable", "Preempts"):
            break
        loop, found = loop.look(_waiting(filling, limit), session.profiles, scaling.at)
        if not found.nodes:
            refused = next((row for row in found.round.refused if row.pod == stop.pod), None)
            if refused is None and added:
                left = (PodsLeftByAutoscaler(pods=(stop.pod,)),)
            break
        added.update(node.group for node in found.nodes)
        filling.come(found.nodes)
        loop = replace(loop, autoscaler=loop.autoscaler.with_nodes(found.nodes))
        before = _bound(filling.state)
        fit = filling.fill(limit)
        filling.end()
        if _bound(filling.state) == before and not fit.row.gangs:
            left = (PodsLeftByAutoscaler(pods=(stop.pod,)),)
            break
    row = GrownRow(
        autoscaler=scaling.autoscaler.name,
        at=scaling.at,
        fit=fit.row,
        nodes=dict(sorted(added.items())),
        unbounded=tuple(name for name in sorted(added) if not loop.autoscaler.is_bounded(name, filling.state)),
        refused=refused,
    )
    said = (*scaling.caveats, *loop.caveats, *left, *((CloudCapacityUnknown(),) if added else ()))
    return Grown(row, fit, said)


def _waiting(filling: CapacityCount, limit: int) -> State:
    """A fork of the cluster in which the pods that are missing wait for a node."""
    state = filling.state.fork()
    for pod in filling.ahead(limit):
        state.apply(Upsert(as_unschedulable(pod)))
    return state


def _bound(state: State) -> int:
    return len(state.pods) - len(state.pending)
