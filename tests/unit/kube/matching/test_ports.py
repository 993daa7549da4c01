"""Host ports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.matching.nodes import HostPort, conflicts, host_ports
from kwhatif.kube.model.pod_spec import ContainerPort
from tests.builders import PodBuilder, pod

ANY = "0.0.0.0"
SIDECAR = (ContainerPort(container_port=9000, host_port=9000),)


@pytest.mark.parametrize(
    ("asking", "ports"),
    [
        pytest.param(pod(), [], id="no ports"),
        pytest.param(pod().host_port(80), [(ANY, "TCP", 80)], id="a port on all addresses"),
        pytest.param(pod().host_port(80, "UDP", "10.0.0.1"), [("10.0.0.1", "UDP", 80)], id="protocol and address"),
        pytest.param(pod().host_port(80, protocol=""), [(ANY, "TCP", 80)], id="the protocol is TCP unless said"),
        pytest.param(
            pod().host_port(80).container("b").host_port(81),
            [(ANY, "TCP", 80), (ANY, "TCP", 81)],
            id="of all containers",
        ),
        pytest.param(pod().init_container(ports=SIDECAR), [], id="plain init containers do not count"),
        pytest.param(
            pod().init_container(ports=SIDECAR, restart_policy="Always"), [(ANY, "TCP", 9000)], id="sidecars count"
        ),
        pytest.param(
            pod().container("b", ports=(ContainerPort(container_port=8080),)), [], id="a container port is no host port"
        ),
        pytest.param(
            pod().container("b", ports=(ContainerPort(container_port=8080),)).spec(host_network=True),
            [(ANY, "TCP", 8080)],
            id="on the host's network it is one",
        ),
    ],
)
def test_host_ports(asking: PodBuilder, ports: list[tuple[str, str, int]]) -> None:
    assert list(host_ports(asking.build().spec)) == ports


@pytest.mark.parametrize(
    ("wanted", "used", "expected"),
    [
        pytest.param((ANY, "TCP", 80), (ANY, "TCP", 80), True, id="the same"),
        pytest.param((ANY, "TCP", 80), (ANY, "TCP", 81), False, id="another port"),
        pytest.param((ANY, "TCP", 80), (ANY, "UDP", 80), False, id="another protocol"),
        pytest.param((ANY, "TCP", 80), ("10.0.0.1", "TCP", 80), True, id="all addresses against one"),
        pytest.param(("10.0.0.1", "TCP", 80), (ANY, "TCP", 80), True, id="one address against all"),
        pytest.param(("10.0.0.1", "TCP", 80), ("10.0.0.1", "TCP", 80), True, id="the same address"),
        pytest.param(("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80), False, id="another address"),
    ],
)
def test_conflicts(wanted: tuple[str, str, int], used: tuple[str, str, int], expected: bool) -> None:
    assert conflicts(HostPort(*wanted), {HostPort(*used)}) is expected
    assert not conflicts(HostPort(*wanted), ())


some_ports = st.builds(
    HostPort, st.sampled_from([ANY, "10.0.0.1", "::1"]), st.sampled_from(["TCP", "UDP"]), st.integers(1, 3)
)


@given(some_ports, some_ports)
def test_conflict_is_mutual(one: HostPort, two: HostPort) -> None:
    assert conflicts(one, [two]) == conflicts(two, [one])


@given(some_ports, st.lists(some_ports))
def test_a_conflict_with_many_is_one_with_any(wanted: HostPort, used: list[HostPort]) -> None:
    assert conflicts(wanted, used) == any(conflicts(wanted, [port]) for port in used)
