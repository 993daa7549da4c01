"""The proof of a consolidation: the nodes are drained in a simulation, step by step, as the plan says.

The autoscaler has its own rules for placing pods, without the scheduler's scores; budgets, rollouts and new pods take
time. So the effect of a drain is found by simulating it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from kwhatif.autoscaler.cluster_autoscaler.pods import is_expendable
from kwhatif.autoscaler.contract import NewNode
from kwhatif.controllers.contract import Create, Remove
from kwhatif.controllers.drain import KubectlDrain
from kwhatif.controllers.drain_filters import WITH_FLAGS
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, group_of, has_groups
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.played import SettledCluster
from kwhatif.report.deciders import DrainedRow, LandedRow, MovedGroupRow
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.parameters import Parameters
from kwhatif.state.state import State

_ACTOR = "autoscaler"


class Step(msgspec.Struct, frozen=True):
    """Nodes that go together, and those that come before."""

    nodes: tuple[str, ...]
    replacements: tuple[NewNode, ...] = ()


def proven(session: Session, steps: Sequence[Step], cutoff: int | None = None) -> Iterator[DrainedRow]:
    """What a drain of each step comes to, after the steps before it.

    `cutoff`: pods of a lower priority may lose their room; None: no pod may.
    """
    if not steps:
        return
    base = SettledCluster(session, Parameters())
    engine = base.fork()
    for step in steps:
        yield _drained(engine, step, cutoff)
    engine.end()


def _drained(engine: Engine, step: Step, cutoff: int | None) -> DrainedRow:
    api_server = engine.api_server
    engine.perform(lambda api_server: _come(api_server, step.replacements))
    engine.settle()
    waiting, known = set(api_server.state.pending), len(api_server.history.events)
    groups = dict(_running_groups(step.nodes, api_server.state))
    options = msgspec.structs.replace(WITH_FLAGS, parallel=len(step.nodes))  # what it evicts, it has found movable
    drain = KubectlDrain(step.nodes, options)
    engine.ask()
    engine.evict(drain)
    engine.settle()
    pending = {key: info.pod for key, info in api_server.state.pending.items() if key not in waiting}
    expendable = [key for key, pod in pending.items() if cutoff is not None and is_expendable(pod, cutoff)]
    bound = (event.node for event in api_server.history.events[known:] if event.verb == "bound" and event.node)
    stays = () if drain.done and drain.ok else tuple(_still_on(step.nodes, drain, engine))
    if not stays:
        engine.perform(lambda api_server: _go(api_server, step.nodes))
        engine.settle()
    return DrainedRow(
        nodes=step.nodes,
        added=tuple(node.row for node in step.replacements),
        landed=tuple(LandedRow(node=node, pods=count) for node, count in sorted(Counter(bound).items())),
        pending=tuple(key for key in pending if key not in expendable),
        expendable=tuple(expendable),
        stays=stays,
        preempted=sum(event.verb == "preempted" for event in api_server.history.events[known:]),
        groups=tuple(
            MovedGroupRow(group=key, min_count=least, before=before, after=_running(key, api_server.state))
            for key, (least, before) in sorted(groups.items())
        ),
    )


def _running_groups(nodes: Sequence[str], state: State) -> Iterator[tuple[str, tuple[int, int]]]:
    """The groups that run, and have pods on the nodes: by key, how many pods each needs, and how many have a node."""
    known = state.cluster.all(PodGroup) if has_groups(state.cluster) else {}
    there = (info for name in nodes if (info := state.node(name)) is not None) if known else ()
    for key in {group_of(pod.pod) for info in there for pod in info.pods} & known.keys():
        running = _running(key, state)
        if running >= known[key].min_count:
            yield key, (known[key].min_count, running)


def _running(group: str, state: State) -> int:
    """How many pods of the group have a node."""
    return sum(bool(info.pod.spec.node_name) for info in state.members_of(group).values())


def _come(api_server: ApiServer, nodes: Iterable[NewNode]) -> None:
    for node in nodes:
        for obj in (node.claim, node.node, *node.besides):
            if obj is not None:
                api_server.write(Create(obj, stored=isinstance(obj, Pod)), _ACTOR, None)


def _go(api_server: ApiServer, nodes: Iterable[str]) -> None:
    for name in nodes:
        api_server.write(Remove(Node, name), _ACTOR, None)


def _still_on(nodes: Sequence[str], drain: KubectlDrain, engine: Engine) -> Iterator[str]:
    """The pods that the drain has not got rid of."""
    for name in nodes:
        info = engine.api_server.state.node(name)
        there = {} if info is None else {pod.key: None for pod in info.pods}
        yield from (key for key in drain.log.refusals if key in there)
