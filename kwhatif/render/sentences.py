"""The one place where evidence becomes prose: a sentence for one node, and one for many nodes alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar, assert_never, cast

from kwhatif.framework.evidence import (
    BindingFailed,
    BindingTimedOut,
    ClaimElsewhere,
    CordonedNode,
    DeviceShortage,
    Evidence,
    ExistingAntiAffinity,
    InsufficientResource,
    InvalidDevicePool,
    MissingFeature,
    MissingTopologyLabel,
    Note,
    PodAffinityUnmatched,
    PodAntiAffinityMatched,
    PortConflict,
    SpreadSkew,
    UnmatchedSelector,
    UntoleratedTaint,
    VolumeConflict,
    VolumeLimit,
    WrongNode,
)
from kwhatif.render.amounts import amount, plural, some

Found = tuple[str, Evidence]
E = TypeVar("E")


def sentence(evidence: Evidence) -> str:  # noqa: C901, PLR0911, PLR0912 - one arm per kind of evidence, nothing else
    """What the evidence says about one node."""
    match evidence:
        case InsufficientResource():
            return _insufficient(evidence)
        case UntoleratedTaint():
            return f"taint {_taint(evidence)} is not tolerated"
        case CordonedNode():
            return "cordoned (spec.unschedulable)"
        case WrongNode(wanted=wanted):
            return f"the pod asks for node {wanted}"
        case UnmatchedSelector():
            return f"wants {' or '.join(evidence.terms)}; {_labels(evidence)}"
        case PortConflict(ip=ip, protocol=protocol, port=port, pod=pod):
            return f"host port {_address(ip, port)}/{protocol} is taken by {pod}"
        case SpreadSkew():
            return _skew(evidence)
        case MissingTopologyLabel(topology_key=key):
            return f"no label {key} to spread over"
        case PodAffinityUnmatched(topology_key=key, domain=domain, selector=selector):
            where = f"{key}={domain}" if domain is not None else f"the node has no label {key}"
            return f"no pod matches {selector} in {where}" if domain is not None else where
        case PodAntiAffinityMatched(topology_key=key, domain=domain, selector=selector, count=count):
            return f"{plural(count, 'pod')} matching {selector} in {key}={domain}"
        case ExistingAntiAffinity(topology_key=key, domain=domain, count=count):
            return f"{plural(count, 'pod')} in {key}={domain} refuse it by their own anti-affinity"
        case VolumeConflict(claim=claim, detail=detail):
            return f"{claim}: {detail}" if claim else detail
        case VolumeLimit(driver=driver, attached=attached, new=new, limit=limit):
            return f"{driver}: {attached} attached + {new} new > limit {limit}"
        case DeviceShortage():
            return _devices(evidence)
        case InvalidDevicePool(pool=pool, problem=problem):
            return f"device pool {pool} is broken: {problem}"
        case ClaimElsewhere(claim=claim, devices=devices):
            return f"claim {claim} has {', '.join(devices) or 'its devices'} already, out of reach from here"
        case BindingFailed(claim=claim, device=device, condition=condition):
            return f"claim {claim}: device {device} could not be prepared ({condition})"
        case BindingTimedOut(claim=claim, device=device, seconds=seconds, limit=limit):
            return f"claim {claim}: device {device} is not ready after {seconds} s (bindingTimeout {limit} s)"
        case MissingFeature(features=features):
            return f"does not declare {', '.join(features)}"
        case Note(text=text):
            return text
    assert_never(evidence)


def _insufficient(evidence: InsufficientResource) -> str:
    name = evidence.resource
    needs = f"{name}: needs {amount(name, evidence.requested)}"
    if evidence.requested > evidence.allocatable:
        return f"{needs}, the whole node has {amount(name, evidence.allocatable)}"
    free = evidence.allocatable - evidence.used
    return f"{needs}, {amount(name, free)} of {amount(name, evidence.allocatable)} free"


def _taint(taint: UntoleratedTaint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _labels(evidence: UnmatchedSelector) -> str:
    said = [f"{key}={value}" if value is not None else f"no {key}" for key, value in evidence.labels.items()]
    return f"the node says {', '.join(said)}" if said else "the node does not match"


def _devices(shortage: DeviceShortage) -> str:
    request = f"claim {shortage.claim}, request {shortage.request}"
    wanted, matching, free = shortage.wanted, shortage.matching, shortage.free
    if not matching:
        return f"{request}: no device matches"
    if wanted is None:
        return f"{request}: wants all of {plural(matching, 'matching device')}, {free} free"
    if free < wanted:
        return f"{request}: needs {wanted}, {free} of {plural(matching, 'matching device')} free"
    return f"{request}: {free} free for {wanted}, but none that go with constraints, counters and other requests"


def _address(ip: str, port: int) -> str:
    return str(port) if ip in ("", "0.0.0.0") else f"{ip}:{port}"  # noqa: S104 - shown, not bound


def _skew(evidence: SpreadSkew) -> str:
    skew = evidence.matching + evidence.self_match - evidence.minimum
    return (
        f"{evidence.topology_key}={evidence.domain} would hold {evidence.matching + evidence.self_match},"
        f" the least holds {evidence.minimum}: skew {skew} > maxSkew {evidence.max_skew}"
    )


def summary(found: Sequence[Found]) -> list[str]:
    """Sentences about many nodes that were refused alike; (node name, evidence) pairs of any kinds."""
    lines: list[str] = []
    kinds = dict.fromkeys(_kind(evidence) for _, evidence in found)
    for kind in kinds:
        alike = [(node, evidence) for node, evidence in found if _kind(evidence) == kind]
        lines.extend(_summarise(alike))
    return lines


def _kind(evidence: Evidence) -> tuple[type, str]:
    return type(evidence), evidence.resource if isinstance(evidence, InsufficientResource) else ""


def _summarise(found: Sequence[Found]) -> list[str]:
    if len(found) == 1:
        return [sentence(found[0][1])]
    first = found[0][1]
    if isinstance(first, InsufficientResource):
        return [_most_free(cast("Sequence[tuple[str, InsufficientResource]]", found))]
    if isinstance(first, UntoleratedTaint):
        return [_counted(found, lambda evidence: _taint(cast("UntoleratedTaint", evidence)), "taint ")]
    if isinstance(first, SpreadSkew | PodAntiAffinityMatched | ExistingAntiAffinity | PodAffinityUnmatched):
        return _by_sentence(found)
    if isinstance(first, CordonedNode):
        return [sentence(first)]
    if isinstance(first, UnmatchedSelector):
        return _selectors(cast("Sequence[tuple[str, UnmatchedSelector]]", found))
    return _by_sentence(found)


def _most_free(found: Sequence[tuple[str, InsufficientResource]]) -> str:
    """`needs 2, at most 1.3 free on general-a2`: the node that came closest."""
    node, best = max(found, key=lambda item: (item[1].allocatable - item[1].used, item[0]))
    name = best.resource
    largest = max(evidence.allocatable for _, evidence in found)
    needs = f"{name}: needs {amount(name, best.requested)}"
    if best.requested > largest:
        return f"{needs}, the largest of these nodes has {amount(name, largest)} in all"
    return f"{needs}, at most {amount(name, best.allocatable - best.used)} free on {node}"


def _counted(found: Sequence[Found], text: Callable[[Evidence], str], prefix: str = "") -> str:
    counts = Counter(text(evidence) for _, evidence in found)
    shown = [f"{what} ({count:,})" if len(counts) > 1 else what for what, count in counts.most_common()]
    return prefix + some(shown)


def _by_sentence(found: Sequence[Found], limit: int = 3) -> list[str]:
    counts = Counter(sentence(evidence) for _, evidence in found)
    lines = [f"{text} ({plural(count, 'node')})" if len(counts) > 1 else text for text, count in counts.most_common()]
    return lines if len(lines) <= limit + 1 else [*lines[:limit], f"… and {len(lines) - limit:,} more like these"]


def _selectors(found: Sequence[tuple[str, UnmatchedSelector]]) -> list[str]:
    terms = Counter(" or ".join(evidence.terms) for _, evidence in found)
    said: Counter[str] = Counter()
    for _, evidence in found:
        said.update(f"{key}={value}" if value is not None else f"no {key}" for key, value in evidence.labels.items())
    shown = some([f"{what} ({count:,})" for what, count in said.most_common()])
    return [f"wants {some(list(terms))}" + (f"; nodes say {shown}" if shown else "")]
