"""The sentences about what extenders did."""

from __future__ import annotations

import pytest

from kwhatif.framework.extender import Oddity, Remark
from kwhatif.whatif.extender_caveats import extender_caveats

URL = "http://bandwidth/v1"
SENTENCES = {
    Remark(Oddity.IGNORED_FAILURE, URL, "prioritize", error="EOF"): (
        f"extender {URL}, asked to prioritize for shop/web, failed; kube-scheduler goes on without it: EOF"
    ),
    Remark(Oddity.FAILURE, URL, "filter", error="EOF"): (
        f"extender {URL}, asked to filter for shop/web, failed, and the attempt with it: EOF"
    ),
    Remark(Oddity.UNKNOWN_NODES, URL, "prioritize", ("a", "b")): (
        f"extender {URL}, asked to prioritize for shop/web, scored nodes that are not feasible,"
        " which counts nothing: a, b"
    ),
    Remark(Oddity.UNKNOWN_NODES, URL, "filter", ("a",)): (
        f"extender {URL}, asked to filter for shop/web, let nodes pass that it was not asked about;"
        " kube-scheduler takes them: a"
    ),
    Remark(Oddity.REPEATED_NODES, URL, "filter", ("a",)): (
        f"extender {URL}, asked to filter for shop/web, let nodes pass more than once: a"
    ),
    Remark(Oddity.SCORE_OUT_OF_RANGE, URL, "prioritize", ("a",)): (
        f"extender {URL}, asked to prioritize for shop/web, gave scores outside 0 to 10, which count as they are: a"
    ),
    Remark(Oddity.NO_VICTIMS, URL, "preempt", ("a",)): (
        f"extender {URL}, asked to preempt for shop/web, left nodes without victims, which are no candidates then: a"
    ),
}


@pytest.mark.parametrize(("remark", "sentence"), SENTENCES.items(), ids=lambda case: getattr(case, "oddity", None))
def test_each_oddity_has_its_sentence(remark: Remark, sentence: str) -> None:
    assert list(extender_caveats("shop/web", [remark])) == [sentence]


def test_every_oddity_is_in_the_table() -> None:
    assert {remark.oddity for remark in SENTENCES} == set(Oddity)
