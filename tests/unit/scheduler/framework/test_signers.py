"""What a pod's verdicts depend on, as plugins sign it."""

from kwhatif.scheduler.framework import signers
from tests.builders import PodBuilder, pod, snapshot


def tolerating(*wanted: str) -> PodBuilder:
    made = pod("a")
    for each in wanted:
        key, _, value = each.partition("=")
        made = made.toleration(key=key, operator="Equal" if value else "Exists", value=value)
    return made


def test_the_order_of_tolerations_does_not_matter() -> None:
    def signed(*wanted: str) -> object:
        return signers.tolerations(tolerating(*wanted).info(), snapshot())

    assert signed("a", "b=2", "b=1") == signed("b=1", "b=2", "a") == signed("b=2", "a", "b=1")
    assert signed("a", "b=1") != signed("a", "b=2")
    assert signed("a") != signed("b")


def test_host_ports_are_signed_by_their_numbers() -> None:
    def signed(*ports: int) -> object:
        made = pod("a")
        for port in ports:
            made = made.host_port(port)
        return signers.host_ports(made.info(), snapshot())

    assert signed(80, 443) == signed(443, 80) != signed(80)
    assert signed() == {signers.HOST_PORTS: frozenset()}
