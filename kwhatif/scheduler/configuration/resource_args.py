"""Validation of the arguments of resource plugins (`validation_pluginargs.go`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kwhatif.kube.matching.field_errors import Issue, duplicate, forbidden, invalid, label_name, required, unsupported

Args = Mapping[str, Any]
_NO_RATIO = "must be specified when type is RequestedToCapacityRatio"


def within_100(path: str, number: int) -> Iterator[Issue]:
    """Check a percentage or a weight."""
    if not 0 <= number <= 100:
        yield invalid(path, number, "not in valid range [0, 100]")


def shape_issues(path: str, shape: Sequence[Args]) -> Iterator[Issue]:
    """Check the points of a function from utilization to score."""
    if not shape:
        yield required(path, "at least one point must be specified")
    points = [(point.get("utilization", 0), point.get("score", 0)) for point in shape]
    for index in range(1, len(points)):
        if points[index - 1][0] >= points[index][0]:
            yield invalid(f"{path}[{index}].utilization", points[index][0], "values must be sorted in increasing order")
            break
    for index, (utilization, score) in enumerate(points):
        yield from within_100(f"{path}[{index}].utilization", utilization)
        if not 0 <= score <= 10:
            yield invalid(f"{path}[{index}].score", score, "not in valid range [0, 10]")


def node_resources_fit(path: str, args: Args) -> Iterator[Issue]:
    """Check the arguments of NodeResourcesFit."""
    yield from _ignored(path, args)
    if "scoringStrategy" in args:
        strategy, here = args["scoringStrategy"], f"{path}.scoringStrategy"
        yield from (*_scoring_strategy(here, strategy), *_ratio(f"{here}.requestedToCapacityRatio", strategy))


def node_resources_fit_until_135(path: str, args: Args) -> Iterator[Issue]:
    """Up to 1.35: the shape is allowed and checked with any strategy."""
    yield from _ignored(path, args)
    if "scoringStrategy" in args:
        strategy, here = args["scoringStrategy"], f"{path}.scoringStrategy"
        yield from _scoring_strategy(here, strategy)
        ratio = strategy.get("requestedToCapacityRatio")
        if ratio is not None:
            # QUIRK: (validation_pluginargs.go) the path lacks `requestedToCapacityRatio`.
            yield from shape_issues(f"{here}.shape", ratio.get("shape", []))
        elif strategy.get("type") == "RequestedToCapacityRatio":
            # Upstream does not check this: the scheduler crashes when it creates the plugin (`fit.go`).
            yield required(f"{here}.requestedToCapacityRatio", _NO_RATIO)


def _ignored(path: str, args: Args) -> Iterator[Issue]:
    for index, resource in enumerate(args.get("ignoredResources", [])):
        yield from label_name(f"{path}.ignoredResources[{index}]", resource)
    for index, group in enumerate(args.get("ignoredResourceGroups", [])):
        here = f"{path}.ignoredResourceGroups[{index}]"
        if "/" in group:
            yield invalid(here, group, "resource group name can't contain '/'")
        yield from label_name(here, group)


def _scoring_strategy(path: str, strategy: Args) -> Iterator[Issue]:
    kind = strategy.get("type", "")
    kinds = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
    if kind not in kinds:
        yield unsupported(f"{path}.type", kind, kinds)
    for index, resource in enumerate(strategy.get("resources", [])):
        # A weight of 0 is defaulted to 1 before validation.
        weight = resource.get("weight", 0)
        if not 0 <= weight <= 100:
            detail = f"resource weight of {resource.get('name', '')} not in valid range (0, 100]"
            yield invalid(f"{path}.resources[{index}].weight", weight, detail)


def _ratio(path: str, strategy: Args) -> Iterator[Issue]:
    ratio = strategy.get("requestedToCapacityRatio")
    if strategy.get("type", "") != "RequestedToCapacityRatio":
        if ratio is not None:
            yield forbidden(path, "must be nil when type is not RequestedToCapacityRatio")
    elif ratio is None:
        yield required(path, _NO_RATIO)
    else:
        yield from shape_issues(f"{path}.shape", ratio.get("shape", []))


def balanced_allocation(path: str, args: Args) -> Iterator[Issue]:
    """Check the arguments of NodeResourcesBalancedAllocation."""
    seen: set[str] = set()
    for index, resource in enumerate(args.get("resources", [])):
        here = f"{path}.resources[{index}]"
        name = resource.get("name", "")
        if name in seen:
            yield duplicate(f"{here}.name", name)
        seen.add(name)
        if resource.get("weight", 0) not in (0, 1):
            yield invalid(f"{here}.weight", resource["weight"], "must be 1")
