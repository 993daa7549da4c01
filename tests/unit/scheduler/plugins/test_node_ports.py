"""NodePorts."""

import pytest

from kwhatif.scheduler.framework.evidence import PortConflict
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Code
from kwhatif.scheduler.plugins.node_ports import NodePorts
from tests.builders import PodBuilder, node, pod, snapshot

ANY = "0.0.0.0"


def compiled(asking: PodBuilder) -> NodeFilter:
    result = NodePorts().pre_filter(asking.info(), snapshot())
    assert isinstance(result, NodeFilter)
    return result


def test_a_pod_without_host_ports_is_not_checked() -> None:
    assert NodePorts().pre_filter(pod().info(), snapshot()) is SKIP


@pytest.mark.parametrize(
    ("asking", "free"),
    [
        pytest.param(pod().host_port(8080), True, id="another port"),
        pytest.param(pod().host_port(80), False, id="the same port"),
        pytest.param(pod().host_port(80, "UDP"), True, id="another protocol"),
        pytest.param(pod().host_port(80, ip="10.0.0.9"), False, id="one address of a port that is taken on all"),
        pytest.param(pod().host_port(53, "UDP", "10.0.0.2"), True, id="another address"),
        pytest.param(pod().host_port(53, "UDP"), False, id="all addresses of a port that is taken on one"),
        pytest.param(pod().host_port(8080).host_port(80), False, id="one of two ports"),
        pytest.param(pod().host_port(8080).host_port(8080), True, id="conflicts within the pod do not count"),
    ],
)
def test_filter(asking: PodBuilder, free: bool) -> None:
    found = snapshot(
        node("n"),
        pod("web").on("n").host_port(80),
        pod("dns").on("n").host_port(53, "UDP", "10.0.0.1"),
        pod("x").on("n"),
    )
    assert (compiled(asking).filter(found.by_name["n"]) is SUCCESS) is free


def test_eviction_may_help_and_the_evidence_says_whose() -> None:
    found = snapshot(
        node("n"),
        pod("plain").on("n"),
        pod("web", "shop").on("n").host_port(80, ip="10.0.0.1"),
        pod("dns").on("n").host_port(53, "UDP"),
    )
    status = compiled(pod().host_port(80).host_port(81).host_port(53, "UDP")).filter(found.by_name["n"])
    assert status.code is Code.UNSCHEDULABLE
    assert status.reasons == ("node(s) didn't have free ports for the requested pod ports",)
    assert status.evidence == (
        PortConflict(ANY, "TCP", 80, "shop/web"),
        PortConflict(ANY, "UDP", 53, "default/dns"),
    )


def test_the_answer_follows_the_pods_on_the_node() -> None:
    web = pod("web").host_port(80).info()
    info = node("n").info()
    check = compiled(pod().host_port(80))
    assert check.reads is Reads.PODS
    assert check.filter(info) is SUCCESS
    info.add_pod(web)
    assert check.filter(info).rejected
    info.remove_pod(web)
    assert check.filter(info) is SUCCESS
