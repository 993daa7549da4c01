"""Extenders: external programs that the cycle calls (`pkg/scheduler/extender.go`). The HTTP client is in `sources`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Protocol

import msgspec

from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: Scores of an extender go to 10, those of plugins to 100 (`extenderv1.MaxExtenderPriority`).
MAX_EXTENDER_SCORE = 10
EXTENDER_SCORE_FACTOR = 10


class ExtenderError(Exception):
    """The extender failed; the consequences depend on the verb and on `ignorable`."""


class Oddity(Enum):
    """Odd answers of extenders that kube-scheduler accepts silently, or reports without naming the extender."""

    #: It failed, and the scheduler goes on without it.
    IGNORED_FAILURE = "ignored failure"
    #: It failed, and so did the attempt.
    FAILURE = "failure"
    #: It returned nodes that it was not asked about.
    UNKNOWN_NODES = "unknown nodes"
    #: It returned the same node more than once.
    REPEATED_NODES = "repeated nodes"
    #: It gave nodes scores outside 0…10, which count as they are.
    SCORE_OUT_OF_RANGE = "score out of range"
    #: It returned nodes without victims, which are then not candidates.
    NO_VICTIMS = "no victims"


class ExtenderVictims(msgspec.Struct, frozen=True):
    """Victims on one node, as exchanged with an extender."""

    pods: tuple[PodInfo, ...]
    pdb_violations: int


class FilterOutcome(msgspec.Struct, frozen=True):
    """The nodes that an extender keeps, and its messages about rejected nodes, by node name."""

    nodes: tuple[NodeInfo, ...]
    failed: Mapping[str, str]
    unresolvable: Mapping[str, str]


class Extender(Protocol):
    """One configured extender, as the cycle uses it."""

    name: str
    ignorable: bool
    weight: int
    filters: bool
    prioritizes: bool
    preempts: bool

    def interested(self, pod: PodInfo) -> bool:
        """Whether the pod uses a resource that the extender manages, or the extender handles all pods."""

    def filter(self, pod: PodInfo, nodes: Sequence[NodeInfo], state: State) -> FilterOutcome:
        """Ask which of the nodes remain.

        Raises:
            ExtenderError: it could not be asked, or answered nonsense.
        """

    def prioritize(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Sequence[tuple[str, int]]:
        """Ask for scores: (node name, score) pairs, unweighted.

        Raises:
            ExtenderError: it could not be asked, or answered nonsense.
        """

    def preempt(
        self, pod: PodInfo, victims: Mapping[str, ExtenderVictims], state: State
    ) -> Mapping[str, ExtenderVictims]:
        """Ask which of the candidate nodes remain, and with which victims.

        Raises:
            ExtenderError: it could not be asked, or answered nonsense.
        """
