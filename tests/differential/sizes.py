"""Requests and limits that the API accepts: several features have their hands in them."""

from collections.abc import Iterator

from kwhatif.kube.model.quantity import parse_quantity as parse
from tests.differential.scene import Object

#: What can be overcommitted, and set for a pod as a whole.
_NAMES = ("cpu", "memory")
_MILLI = 1_000_000
#: 1 PiB, in nano-units.
_UNBOUNDED = 2**50 * 1_000_000_000


def make_consistent(pod: Object) -> None:
    """Raise limits below requests, and what the pod as a whole has below what its containers need."""
    for container in _containers(pod):
        _raise_limits(container.get("resources", {}))
    whole = pod["spec"].get("resources")
    if not whole:
        return
    for name in _NAMES:
        least = sum(_needs(container, name) for container in _containers(pod))
        for amounts in (whole.get("requests", {}), whole.get("limits", {})):
            if name in amounts and parse(amounts[name]) < least:
                amounts[name] = _text(least)
    _raise_limits(whole)
    if any(parse(amount) >= _UNBOUNDED for amount in whole.get("requests", {}).values()):
        # Upstream holds such an amount by reference, and adds the overhead to it each time that it asks.
        for field in ("overhead", "runtimeClassName"):
            pod["spec"].pop(field, None)


def _containers(pod: Object) -> Iterator[Object]:
    yield from pod["spec"]["containers"]
    yield from pod["spec"].get("initContainers", ())


def _raise_limits(resources: Object) -> None:
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for name in _NAMES:
        if name in limits and name in requests and parse(limits[name]) < parse(requests[name]):
            limits[name] = requests[name]


def _needs(container: Object, name: str) -> int:
    resources = container.get("resources", {})
    return max(parse(resources.get(field, {}).get(name, "0")) for field in ("requests", "limits"))


def _text(nanos: int) -> str:
    return f"{-(-nanos // _MILLI)}m"
