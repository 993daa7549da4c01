"""What can be said of a node on a map, and how that is marked."""

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
    """What is asked about on the map: a pod, all of them, replicas, or scenarios."""

    title: str
    #: What one of them asks for.
    requests: Mapping[str, int]
    #: Node -> what becomes of it.
    marks: Mapping[str, Mark]
    #: What verdicts are called here, where that is something else.
    words: Mapping[Kind, str] = {}

    def needs(self, mark: Mark) -> Mapping[str, int]:
        """What those that land there ask for together; where none does, what one would."""
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
    #: What they ask for together, where that is not the view's amount for each.
    needs: Mapping[str, int] | None = None
    #: What of each resource is used in the end, where pods come or go.
    after: Mapping[str, int] | None = None
    scores: Mapping[str, int] = {}
    candidate: CandidateRow | None = None
