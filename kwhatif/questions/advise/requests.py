"""Smaller requests of one resource."""

from __future__ import annotations

from typing import Any

from kwhatif.kube.matching.requests import EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY, units
from kwhatif.kube.model.quantity import ceil_to_milli, parse_quantity
from kwhatif.questions.advise.change import AdvisedChange, Amount, Revise, Spec, in_spec
from kwhatif.questions.rows import text_of

_MI = 1 << 20


def request_less(resource: str, requested: int, cut: int) -> AdvisedChange:
    """Request `cut` less of a resource of which the whole pod requests `requested` (milli-cpu, bytes, units)."""
    left = requested - cut
    step = _MI if resource in (MEMORY, EPHEMERAL_STORAGE) and requested > 64 * _MI else 1
    return in_spec(
        "request-less",
        _limited_to(resource, left),
        # A small cut costs little, a large one a lot.
        extra=60 * cut // max(requested, 1),
        about=resource,
        before=text_of(resource, requested),
        after=text_of(resource, left),
        amount=Amount(cut, requested - 1, step, lambda more: request_less(resource, requested, more)),
    )


def units_of(resource: str, text: Any) -> int:
    """A quantity in the scheduler's units, as `kwhatif.kube.matching.requests` counts them."""
    return units(resource, ceil_to_milli(parse_quantity(text)))


def _limited_to(resource: str, most: int) -> Revise:
    """Limit the pod's total request: the container with the largest request is reduced first."""

    def revise(spec: Spec) -> None:
        overhead = units_of(resource, (spec.get("overhead") or {}).get(resource, 0))
        room = max(most - overhead, 0)
        whole = spec.get("resources")
        if whole and resource in (whole.get("requests") or {}):
            _set(whole, resource, min(_asked(whole, resource), room))
        sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
        _share([*(spec.get("containers") or ()), *sidecars], resource, room)
        beside = 0
        for container in spec.get("initContainers") or ():
            if container.get("restartPolicy") == "Always":
                beside += _of(container, resource)
            elif _of(container, resource) + beside > room:
                _set(container.setdefault("resources", {}), resource, max(room - beside, 0))

    return revise


def _share(containers: list[dict[str, Any]], resource: str, room: int) -> None:
    """Reduce the largest in turn until all fit into the room together."""
    over = sum(_of(each, resource) for each in containers) - room
    for each in sorted(containers, key=lambda each: _of(each, resource), reverse=True):
        if over <= 0:
            return
        asked = _of(each, resource)
        _set(each.setdefault("resources", {}), resource, max(asked - over, 0))
        over -= asked


def _of(container: dict[str, Any], resource: str) -> int:
    return _asked(container.get("resources") or {}, resource)


def _asked(resources: dict[str, Any], resource: str) -> int:
    """The request; without one, the limit."""
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    return units_of(resource, requests.get(resource, limits.get(resource, 0)))


def _set(resources: dict[str, Any], resource: str, amount: int) -> None:
    text = text_of(resource, amount)
    resources.setdefault("requests", {})[resource] = text
    limits = resources.get("limits") or {}
    # Extended resources and huge pages cannot be overcommitted: request and limit are equal.
    if resource in limits and ("/" in resource or resource.startswith(HUGEPAGES_PREFIX)):
        limits[resource] = text
