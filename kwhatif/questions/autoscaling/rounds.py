"""Rounds of an autoscaler at one moment: its nodes come, the scheduler places pods on them, and it looks again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.autoscaler.actor import knows_no_groups
from kwhatif.autoscaler.answer import Destination, ScalingRound
from kwhatif.autoscaler.cluster_autoscaler.pods import is_unschedulable
from kwhatif.kube.matching.groups import group_of, has_groups
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import ExpanderTied, PodsLeftByAutoscaler
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.questions.groups.turns import GroupTurns
from kwhatif.questions.manifests.daemons import arrive
from kwhatif.questions.manifests.new_pods import NewPods
from kwhatif.questions.placing.pending_pods import in_queue_order
from kwhatif.questions.session.scaling import Scaling
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.simulation.instant import InstantEngine
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


def rounds_of(
    state: State, profiles: Mapping[str, Profile], scaling: Scaling, most: int
) -> tuple[tuple[ScalingRound, ...], tuple[Caveat, ...]]:
    """The rounds until nothing more is added, up to a limit, and caveats about them.

    A last round that only repeats what is refused is left out. The state stays as it is.
    """
    autoscaler, rounds = scaling.autoscaler, list[ScalingRound]()
    said: dict[Caveat, None] = dict.fromkeys(knows_no_groups(autoscaler, state))
    while len(rounds) < most:
        found = autoscaler.decide(state, profiles, scaling.at)
        if rounds and not found.nodes and {row.pod for row in found.round.refused} <= _refused(rounds):
            break
        said.update(dict.fromkeys(each for each in found.caveats if not rounds or isinstance(each, ExpanderTied)))
        if not found.nodes:
            rounds.append(found.round)
            break
        engine = InstantEngine(state.fork(), profiles)
        state = engine.world.state
        arrive(NewPods(engine.world), found.nodes, profiles)
        autoscaler = found.then.with_nodes(found.nodes)
        placed = tuple(_placed(engine, profiles))
        rounds.append(replace(found.round, placed=placed, added=tuple(node.row for node in found.nodes)))
        if not placed and not any(_waits_for_others(info, state) for info in state.pending.values()):
            break
    left = () if len(rounds) == most else tuple(_left(state, rounds))
    if left and any(each.new_nodes or each.scale_up for each in rounds):
        said[PodsLeftByAutoscaler(pods=left)] = None
    return tuple(rounds), tuple(said)


def _refused(rounds: Iterable[ScalingRound]) -> set[str]:
    return {row.pod for found in rounds for row in found.refused}


def _left(state: State, rounds: Sequence[ScalingRound]) -> Iterator[str]:
    """The pods that wait for a node, and for which no round gives a reason."""
    explained = _refused(rounds) | {row.pod for found in rounds for row in found.ignored}
    return (key for key, info in state.pending.items() if is_unschedulable(info.pod) and key not in explained)


def _waits_for_others(info: PodInfo, state: State) -> bool:
    """Whether the pod gets no node before others of its group do: then what comes for those may still help."""
    return has_groups(state.cluster) and group_of(info.pod) in state.cluster.all(PodGroup)


def _placed(engine: InstantEngine, profiles: Mapping[str, Profile]) -> Iterator[Destination]:
    """Give the pending pods their nodes, as the scheduler does; those that would have to evict others go on waiting.

    The scheduler places a group of pods as a whole, though no autoscaler knows of groups.
    """
    state, groups = engine.world.state, GroupTurns(profiles, engine, evicts=False)
    for pod in in_queue_order(state.pending.values(), state.cluster.scheduling_events):
        of_group = groups.decide(pod)
        if of_group is not None:
            if of_group.node is not None:
                yield Destination(pod=pod.key, node=of_group.node)
            continue
        result = engine.attempt(pod)
        if result.outcome == "Placed" and result.node is not None:
            engine.carry_out(pod, result)
            yield Destination(pod=pod.key, node=result.node)
