"""NodeName."""

from kwhatif.scheduler.framework.evidence import WrongNode
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Code
from kwhatif.scheduler.plugins.node_name import NodeName
from tests.builders import node, pod, snapshot

CLUSTER = snapshot(node("a"), node("b"))


def compiled(wanted: str) -> NodeFilter:
    result = NodeName().pre_filter(pod().on(wanted).info(), CLUSTER)
    assert isinstance(result, NodeFilter)
    return result


def test_a_pod_that_names_no_node_is_not_checked() -> None:
    assert NodeName().pre_filter(pod().info(), CLUSTER) is SKIP


def test_the_named_node_passes() -> None:
    assert compiled("a").filter(CLUSTER.by_name["a"]) is SUCCESS


def test_another_node_is_out_for_good() -> None:
    status = compiled("a").filter(CLUSTER.by_name["b"])
    assert status.code is Code.UNRESOLVABLE
    assert status.message == "node(s) didn't match the requested node name"
    assert status.evidence == (WrongNode("a"),)


def test_every_other_node_is_asked_and_asked_by_name() -> None:
    assert compiled("a").only_nodes is None
    assert compiled("a").reads is Reads.NODE
