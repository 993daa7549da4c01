"""NodeUnschedulable."""

import pytest

from kwhatif.scheduler.framework.evidence import CordonedNode
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Code
from kwhatif.scheduler.plugins.node_unschedulable import NodeUnschedulable
from tests.builders import PodBuilder, node, pod, snapshot

CORDON = "node.kubernetes.io/unschedulable"
CLUSTER = snapshot(node("cordoned").cordoned(), node("open"), node("tainted").taint(CORDON))


@pytest.mark.parametrize(
    ("asking", "rejected"),
    [
        pytest.param(pod(), True, id="no toleration"),
        pytest.param(pod().toleration(CORDON, "Exists", effect="NoSchedule"), False, id="a toleration by key"),
        pytest.param(pod().toleration(operator="Exists"), False, id="a toleration of everything"),
        pytest.param(pod().toleration(CORDON, "Equal"), False, id="a toleration of the empty value"),
        pytest.param(pod().toleration(CORDON, "Equal", "true"), True, id="a toleration of another value"),
        pytest.param(pod().toleration(CORDON, "Exists", effect="NoExecute"), True, id="a toleration of another effect"),
    ],
)
def test_pods_that_tolerate_the_taint_are_not_rejected(asking: PodBuilder, rejected: bool) -> None:
    assert (NodeUnschedulable().pre_filter(asking.info(), CLUSTER) is SKIP) is not rejected


def test_a_cordoned_node_is_out_for_good_whatever_its_taints() -> None:
    compiled = NodeUnschedulable().pre_filter(pod().info(), CLUSTER)
    assert isinstance(compiled, NodeFilter)
    assert compiled.reads is Reads.SHAPE
    status = compiled.filter(CLUSTER.by_name["cordoned"])
    assert status.code is Code.UNRESOLVABLE
    assert status.message == "node(s) were unschedulable"
    assert status.evidence == (CordonedNode(),)
    assert compiled.filter(CLUSTER.by_name["open"]) is SUCCESS
    assert compiled.filter(CLUSTER.by_name["tainted"]) is SUCCESS
