"""The verdicts about a node on a map, and their marks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from kwhatif.report.decision import CandidateRow

Kind = Literal["new", "goes", "lands", "tie", "fits", "evicts", "candidate", "loses", "swaps", "rejected", "none"]


class Look(NamedTuple):
    """How a verdict about a node is marked: its letter in the page's data, glyph, and words."""

    letter: str
    glyph: str
    words: str


LOOKS: Mapping[Kind, Look] = {
    "new": Look("N", "✚", "new"),
    "goes": Look("G", "⊖", "goes"),
    "lands": Look("L", "✔", "lands here"),
    "tie": Look("T", "≈", "equally good"),
    "fits": Look("F", "○", "fits"),
    "evicts": Look("E", "!", "would evict here"),
    "candidate": Look("C", "△", "could evict here"),
    "loses": Look("S", "▽", "has fewer pods"),
    "swaps": Look("W", "⇄", "has other pods"),
    "rejected": Look("R", "✘", "does not fit"),
    "none": Look("-", "·", "not asked"),
}


class View(NamedTuple):
    """The subject of the map: a pod, all pods, replicas, or scenarios."""

    title: str
    #: the requests of one of them
    requests: Mapping[str, int]
    #: Node -> its verdict.
    marks: Mapping[str, Mark]
    #: Other names for verdicts in this view.
    words: Mapping[Kind, str] = {}

    def needs(self, mark: Mark) -> Mapping[str, int]:
        """The requests of all pods that land there; if none does, those of one."""
        if mark.needs is not None:
            return mark.needs
        return {name: count * max(mark.landing, 1) for name, count in self.requests.items()}

    def called(self, kind: Kind) -> str:
        """The verdict in words."""
        return self.words.get(kind, LOOKS[kind].words)


class Mark(NamedTuple):
    """A verdict about one node."""

    kind: Kind
    #: In a few words, and in full.
    why: str = ""
    evidence: tuple[str, ...] = ()
    #: How many pods land here.
    landing: int = 0
    #: Their total requests, if that is not the view's amount for each.
    needs: Mapping[str, int] | None = None
    #: The use of each resource in the end, if pods come or go.
    after: Mapping[str, int] | None = None
    scores: Mapping[str, int] = {}
    candidate: CandidateRow | None = None
