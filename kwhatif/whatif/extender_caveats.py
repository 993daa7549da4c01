"""Caveats about extenders: what they did that kube-scheduler accepts without a word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from kwhatif.framework.extender import Oddity, Remark


def extender_caveats(pod: str, remarks: Sequence[Remark]) -> Iterator[str]:
    """One sentence per remark."""
    for remark in remarks:
        yield f"extender {remark.extender}, asked to {remark.verb} for {pod}, {_deed(remark)}"


def _deed(remark: Remark) -> str:
    nodes = ", ".join(remark.nodes)
    match remark.oddity:
        case Oddity.IGNORED_FAILURE:
            return f"failed; kube-scheduler goes on without it: {remark.error}"
        case Oddity.FAILURE:
            return f"failed, and the attempt with it: {remark.error}"
        case Oddity.UNKNOWN_NODES if remark.verb == "prioritize":
            return f"scored nodes that are not feasible, which counts nothing: {nodes}"
        case Oddity.UNKNOWN_NODES:
            return f"let nodes pass that it was not asked about; kube-scheduler takes them: {nodes}"
        case Oddity.REPEATED_NODES:
            return f"let nodes pass more than once: {nodes}"
        case Oddity.SCORE_OUT_OF_RANGE:
            return f"gave scores outside 0 to 10, which count as they are: {nodes}"
        case Oddity.NO_VICTIMS:
            return f"left nodes without victims, which are no candidates then: {nodes}"
    assert_never(remark.oddity)
