"""TaintToleration."""

import pytest

from kwhatif.scheduler.framework.evidence import UntoleratedTaint
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, Reads
from kwhatif.scheduler.framework.status import SUCCESS, Code
from kwhatif.scheduler.plugins.taint_toleration import TaintToleration
from tests.builders import NodeBuilder, PodBuilder, node, pod, snapshot

GPU_POD = pod().toleration("gpu", "Exists")


@pytest.mark.parametrize(
    ("asking", "asked", "taint"),
    [
        pytest.param(pod(), node().taint("gpu"), ("gpu", "", "NoSchedule"), id="NoSchedule keeps away"),
        pytest.param(
            pod(), node().taint("gpu", "a100", "NoExecute"), ("gpu", "a100", "NoExecute"), id="NoExecute keeps away"
        ),
        pytest.param(pod(), node().taint("gpu", effect="PreferNoSchedule"), None, id="PreferNoSchedule does not"),
        pytest.param(GPU_POD, node().taint("gpu").taint("gpu", effect="NoExecute"), None, id="all tolerated"),
        pytest.param(
            GPU_POD, node().taint("gpu").taint("b").taint("a"), ("b", "", "NoSchedule"), id="the first untolerated one"
        ),
        pytest.param(
            pod().toleration("gpu", "Exists", effect="PreferNoSchedule"),
            node().taint("gpu"),
            ("gpu", "", "NoSchedule"),
            id="a toleration of another effect",
        ),
    ],
)
def test_filter(asking: PodBuilder, asked: NodeBuilder, taint: tuple[str, str, str] | None) -> None:
    found = snapshot(asked, node("closed").taint("closed"))
    compiled = TaintToleration().pre_filter(asking.info(), found)
    assert isinstance(compiled, NodeFilter)
    assert compiled.reads is Reads.SHAPE
    status = compiled.filter(found.by_name["node"])
    if taint is None:
        assert status is SUCCESS
    else:
        assert status.code is Code.UNRESOLVABLE
        assert status.message == "node(s) had untolerated taint(s)"
        assert status.evidence == (UntoleratedTaint(*taint),)


@pytest.mark.parametrize(
    ("asking", "fits"),
    [
        pytest.param(GPU_POD, True, id="all taints are tolerated"),
        pytest.param(pod().toleration("gpu", "Exists", effect="NoSchedule"), True, id="soft taints do not count"),
        pytest.param(pod(), False, id="one is not"),
    ],
)
def test_a_taint_that_comes_later_counts(asking: PodBuilder, fits: bool) -> None:
    compiled = TaintToleration().pre_filter(asking.info(), snapshot(node("a")))
    assert isinstance(compiled, NodeFilter)
    tainted = node("b").taint("gpu").taint("gpu", effect="PreferNoSchedule").info()
    assert (compiled.filter(tainted) is SUCCESS) is fits


@pytest.mark.parametrize(
    ("asking", "raw", "normalized"),
    [
        pytest.param(pod(), [0, 1, 3], [100, 67, 0], id="fewer soft taints are better"),
        pytest.param(pod().toleration("a", "Exists"), [0, 0, 2], [100, 100, 0], id="tolerated ones do not count"),
        pytest.param(
            pod().toleration("a", "Exists", effect="PreferNoSchedule"), [0, 0, 2], [100, 100, 0], id="by their effect"
        ),
        pytest.param(
            pod().toleration("a", "Exists", effect="NoSchedule"), [0, 1, 3], [100, 67, 0], id="not by another effect"
        ),
        pytest.param(pod().toleration(operator="Exists"), [0, 0, 0], [100, 100, 100], id="all tolerated: all the best"),
    ],
)
def test_score(asking: PodBuilder, raw: list[int], normalized: list[int]) -> None:
    soft = "PreferNoSchedule"
    found = snapshot(
        node("none").taint("hard"),
        node("one").taint("a", effect=soft),
        node("three").taint("a", effect=soft).taint("b", effect=soft).taint("c", effect=soft),
    )
    scorer = TaintToleration().pre_score(asking.info(), found, found.nodes)
    assert isinstance(scorer, NodeScorer)
    assert getattr(scorer, "by_shape", None)
    scores = [scorer.score(one) for one in found.nodes]
    assert scores == raw
    assert scorer.normalize(scores, found.nodes) == normalized
