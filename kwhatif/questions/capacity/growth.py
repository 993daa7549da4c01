"""`grow`: how many more fit where an autoscaler adds nodes for what finds no room, until its bounds."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from kwhatif.autoscaler.actor import knows_no_groups
from kwhatif.autoscaler.contract import NodeAutoscaler
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import CloudCapacityUnknown, ExpanderTied, PodsLeftByAutoscaler
from kwhatif.questions.capacity.filling import CapacityCount, Fit
from kwhatif.questions.judging.question import as_unschedulable
from kwhatif.questions.session.session import Session
from kwhatif.report.capacity import GrownRow
from kwhatif.state.change import Upsert
from kwhatif.state.state import State

#: An autoscaler is not asked more often: it has added nodes so often for what the scheduler does not place.
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
    autoscaler: NodeAutoscaler = scaling.autoscaler
    added: Counter[str] = Counter()
    said: dict[Caveat, None] = dict.fromkeys(scaling.caveats)
    refused = None
    for round_ in range(_MOST_ROUNDS):
        stop = fit.row.stop
        if stop is None or stop.outcome not in ("Unschedulable", "Preempts"):
            break
        state = _waiting(filling, limit)
        said.update(dict.fromkeys(knows_no_groups(autoscaler, state)))
        found = autoscaler.decide(state, session.profiles, scaling.at)
        said.update(dict.fromkeys(each for each in found.caveats if not round_ or isinstance(each, ExpanderTied)))
        if not found.nodes:
            refused = next((row for row in found.round.refused if row.pod == stop.pod), None)
            if refused is None and added:
                said[PodsLeftByAutoscaler(pods=(stop.pod,))] = None
            break
        added.update(node.group for node in found.nodes)
        filling.come(found.nodes)
        autoscaler = found.then.with_nodes(found.nodes)
        before = _bound(filling.state)
        fit = filling.fill(limit)
        filling.end()
        if _bound(filling.state) == before and not fit.row.gangs:
            said[PodsLeftByAutoscaler(pods=(stop.pod,))] = None
            break
    if added:
        said[CloudCapacityUnknown()] = None
    row = GrownRow(
        autoscaler=autoscaler.name,
        at=scaling.at,
        fit=fit.row,
        nodes=dict(sorted(added.items())),
        unbounded=tuple(name for name in sorted(added) if not autoscaler.is_bounded(name, filling.state)),
        refused=refused,
    )
    return Grown(row, fit, tuple(said))


def _waiting(filling: CapacityCount, limit: int) -> State:
    """A fork of the cluster in which the pods that are missing wait for a node."""
    state = filling.state.fork()
    for pod in filling.ahead(limit):
        state.apply(Upsert(as_unschedulable(pod)))
    return state


def _bound(state: State) -> int:
    return len(state.pods) - len(state.pending)
