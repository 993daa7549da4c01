"""Loop after loop of the Cluster Autoscaler: its nodes come, the scheduler places pods on them, and it looks again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kwhatif.autoscaler.answer import Destination, ScalingRound
from kwhatif.autoscaler.cluster_autoscaler import scale_up, with_new_nodes
from kwhatif.autoscaler.cluster_autoscaler.groups import NodeGroups
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import ExpanderTied
from kwhatif.questions.session.session import Session
from kwhatif.scheduler.batch import BatchCache
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.state.change import Bind
from kwhatif.state.state import State


def rounds_of(
    session: Session, settings: NodeGroups, at: str, most: int
) -> tuple[tuple[ScalingRound, ...], tuple[Caveat, ...]]:
    """What is added until nothing more is, in so many rounds at most, and what is to be said about it.

    A last round that only repeats what is refused is left out.
    """
    state, rounds = session.state, list[ScalingRound]()
    said: dict[Caveat, None] = {}
    while len(rounds) < most:
        found, caveats = scale_up(state, session.profiles, settings, at)
        if rounds and not found.scale_up and {row.pod for row in found.refused} <= _refused(rounds):
            break
        said.update(
            dict.fromkeys(caveats if not rounds else (each for each in caveats if isinstance(each, ExpanderTied)))
        )
        if not found.scale_up:
            rounds.append(found)
            break
        state, settings = with_new_nodes(state, settings, found, at)
        placed = tuple(_placed(state, session.profiles))
        rounds.append(replace(found, placed=placed))
        if not placed:
            break
    return tuple(rounds), tuple(said)


def _refused(rounds: list[ScalingRound]) -> set[str]:
    return {row.pod for found in rounds for row in found.refused}


def _placed(state: State, profiles: Mapping[str, Profile]) -> Iterator[Destination]:
    """Give the pending pods their nodes, as the scheduler does; those that would have to evict others go on waiting."""
    caches = {name: BatchCache(profile, state) for name, profile in profiles.items()}
    for pod in sorted(state.pending.values(), key=lambda pod: -pod.priority):
        cache = caches.get(pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER)
        result = None if cache is None else cache.attempt(pod)
        if result is None or result.outcome != "Placed" or result.node is None:
            continue
        state.apply(Bind(pod.key, result.node, tuple(result.reserve(state.by_name[result.node]))))
        yield Destination(pod=pod.key, node=result.node)
