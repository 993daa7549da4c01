"""Evidence in words, which is only done here: a sentence for one node, and one for many nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar, assert_never, cast

from kwhatif.render.amounts import amount, plural, some
from kwhatif.scheduler.framework.evidence import (
    BindingFailed,
    BindingTimedOut,
    ClaimElsewhere,
    CordonedNode,
    DeviceShortage,
    Evidence,
    ExistingAntiAffinity,
    InsufficientResource,
    InvalidDevicePool,
    Mismatch,
    MissingFeature,
    MissingTopologyLabel,
    Note,
    PodAffinityUnmatched,
    PodAntiAffinityMatched,
    PortConflict,
    SpreadSkew,
    UnboundClaim,
    UnmatchedSelector,
    UntoleratedTaint,
    VolumeConflict,
    VolumeLimit,
    WrongNode,
    taint_text,
)

#: The maximum number of different sentences about nodes; and about selectors, beside the most frequent one.
_MOST_SENTENCES = 3
_MOST_SELECTORS = 2

Found = tuple[str, Evidence]
E = TypeVar("E")


def sentence(evidence: Evidence) -> str:  # noqa: C901, PLR0911, PLR0912 - one arm per kind of evidence, nothing else
    """The evidence about one node, as a sentence."""
    match evidence:
        case InsufficientResource():
            return _insufficient(evidence)
        case UntoleratedTaint():
            return f"taint {taint_text(evidence)} is not tolerated"
        case CordonedNode():
            return "cordoned (spec.unschedulable)"
        case WrongNode(wanted=wanted):
            return f"the pod asks for node {wanted}"
        case UnmatchedSelector():
            return f"wants {' and '.join(evidence.terms)}; {_labels(evidence)}"
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
        case UnboundClaim():
            return _unbound(evidence)
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
    if not evidence.allocatable:
        return f"{needs}, the node has none"
    if evidence.requested > evidence.allocatable:
        return f"{needs}, the whole node has {amount(name, evidence.allocatable)}"
    # Victims that have not ended yet count, and also the pods that will take their room.
    free = max(evidence.allocatable - evidence.used, 0)
    return f"{needs}, {amount(name, free)} of {amount(name, evidence.allocatable)} free"


def _labels(evidence: UnmatchedSelector) -> str:
    said = [f"{key}={value}" if value is not None else f"no {key}" for key, value in evidence.labels.items()]
    return f"the node has {', '.join(said)}" if said else "the node does not match"


def _unbound(unbound: UnboundClaim) -> str:
    """Which claim, and why it is not bound."""
    of = f"class {unbound.storage_class}" + (" (the default)" if unbound.is_default else "")
    if not unbound.storage_class:
        of = "no class"
    claim = f"claim {unbound.claim} has {of}"
    if not unbound.is_named and not unbound.is_known:
        claim += ", which is not there"
    elif unbound.provisioner:
        return f"{claim}, whose provisioner {unbound.provisioner} has made no volume for it yet"
    if unbound.is_named and not unbound.is_there:
        return f"{claim}, and names PersistentVolume {unbound.volume}, which is not there"
    if not unbound.volume:
        return f"{claim}, and no PersistentVolume is free"
    which = "and names" if unbound.is_named else "the nearest is"
    lacks = " and ".join(map(_mismatch, unbound.mismatches)) or "is not bound yet"
    return f"{claim}, {which} PersistentVolume {unbound.volume}, which {lacks}"


def _mismatch(found: Mismatch) -> str:
    match found.field:
        case "claimRef":
            return f"belongs to claim {found.found}"
        case "phase":
            return f"is {found.found or 'not available'}"
        case "deletionTimestamp":
            return "is being deleted"
        case "selector":
            return f"does not match {found.wanted}"
        case "storageClassName":
            return f"has {f'class {found.found}' if found.found else 'no class'}"
        case "capacity":
            return f"has {found.found} of {found.wanted}"
        case "accessModes":
            return f"has {found.found}, not {found.wanted}"
        case field:
            return f"has {field} {found.found or 'none'}, not {found.wanted or 'none'}"


def _devices(shortage: DeviceShortage) -> str:
    request = f"claim {shortage.claim}, request {shortage.request}"
    wanted, matching, free = shortage.wanted, shortage.matching, shortage.free
    if not matching:
        return f"{request}: no device matches"
    tainted = f", {shortage.tainted} tainted with {', '.join(shortage.taints)}" if shortage.tainted else ""
    if wanted is None:
        return f"{request}: wants all of {plural(matching, 'matching device')}, {free} free{tainted}"
    if free < wanted:
        return f"{request}: needs {wanted}, {free} of {plural(matching, 'matching device')} free{tainted}"
    return f"{request}: {free} free for {wanted}, but none that go with constraints, counters and other requests"


def _address(ip: str, port: int) -> str:
    return str(port) if ip in ("", "0.0.0.0") else f"{ip}:{port}"  # noqa: S104 - shown, not bound


def _skew(evidence: SpreadSkew) -> str:
    skew = evidence.matching + evidence.self_match - evidence.minimum
    return (
        f"{evidence.topology_key}={evidence.domain} would hold {evidence.matching + evidence.self_match},"
        f" the least holds {evidence.minimum}: skew {skew} > maxSkew {evidence.max_skew}"
    )


def summary(found: Sequence[Found], *, counted: bool = True) -> list[str]:
    """Sentences about many nodes that were rejected for the same reasons.

    Args:
        found: pairs of node name and evidence, of any kinds.
        counted: these are all nodes, so that each kind of evidence gets a number.
    """
    lines: list[str] = []
    kinds = dict.fromkeys(_kind(evidence) for _, evidence in found)
    for kind in kinds:
        alike = [(node, evidence) for node, evidence in found if _kind(evidence) == kind]
        lines.extend(_summarise(alike, counted=counted))
    return lines


def _kind(evidence: Evidence) -> tuple[type, str]:
    return type(evidence), evidence.resource if isinstance(evidence, InsufficientResource) else ""


def _summarise(found: Sequence[Found], *, counted: bool) -> list[str]:
    if len(found) == 1:
        return [sentence(found[0][1])]
    first = found[0][1]
    if isinstance(first, InsufficientResource):
        return [_most_free(cast("Sequence[tuple[str, InsufficientResource]]", found))]
    if isinstance(first, UntoleratedTaint):
        return [_taints(cast("Sequence[tuple[str, UntoleratedTaint]]", found), counted=counted)]
    if isinstance(first, UnmatchedSelector):
        return _selectors(cast("Sequence[tuple[str, UnmatchedSelector]]", found), counted=counted)
    return _by_sentence(found, counted=counted)


def _most_free(found: Sequence[tuple[str, InsufficientResource]]) -> str:
    """`needs 2, at most 1.3 free on general-a2`: the node that came closest."""
    node, best = max(found, key=lambda item: (item[1].allocatable - item[1].used, item[0]))
    name = best.resource
    largest = max(evidence.allocatable for _, evidence in found)
    needs = f"{name}: needs {amount(name, best.requested)}"
    if not largest:
        return f"{needs}, none of these nodes has any"
    if best.requested > largest:
        return f"{needs}, the largest of these nodes has {amount(name, largest)} in all"
    return f"{needs}, {free_on(name, best.allocatable - best.used, node, only=False)}"


def free_on(resource: str, free: int, node: str, *, only: bool) -> str:
    """The free amount on the node, which is the largest one unless there is only one node."""
    if free <= 0:
        return f"none free on {node}" if only else "none free"
    return f"{'' if only else 'at most '}{amount(resource, free)} free on {node}"


def _taints(found: Sequence[tuple[str, UntoleratedTaint]], *, counted: bool) -> str:
    counts = Counter(taint_text(evidence) for _, evidence in found)
    shown = [f"{what} ({count:,})" if counted and len(counts) > 1 else what for what, count in counts.most_common()]
    return f"taint {some(shown)}"


def _by_sentence(found: Sequence[Found], *, counted: bool) -> list[str]:
    counts = Counter(sentence(evidence) for _, evidence in found)
    several = counted and len(counts) > 1
    lines = [f"{text} ({plural(count, 'node')})" if several else text for text, count in counts.most_common()]
    return lines if len(lines) <= _MOST_SENTENCES + 1 else _cut(lines, _MOST_SENTENCES)


def _cut(lines: Sequence[str], most: int) -> list[str]:
    return [*lines[:most], f"… and {len(lines) - most:,} more like these"]


def _selectors(found: Sequence[tuple[str, UnmatchedSelector]], *, counted: bool) -> list[str]:
    """The requirement that most nodes do not meet, and what they have instead; other requirements with counts."""
    wanted = Counter(evidence.terms for _, evidence in found)
    terms, count = wanted.most_common(1)[0]
    said: Counter[str] = Counter()
    for _, evidence in found:
        if evidence.terms == terms:
            said.update(
                f"{key}={value}" if value is not None else f"no {key}" for key, value in evidence.labels.items()
            )
    shown = some(
        [what if times == count or not counted else f"{what} ({times:,})" for what, times in said.most_common()]
    )
    wants, have = f"wants {' and '.join(terms)}", f"have {shown}" if shown else "do not match"
    if len(wanted) == 1:
        return [f"{wants}; nodes {have}"]
    nodes = plural(count, "node") if counted else "nodes"
    return [f"{wants}; {nodes} {have}", *_other_selectors(wanted, terms, counted=counted)]


def _other_selectors(wanted: Counter[tuple[str, ...]], shown: tuple[str, ...], *, counted: bool) -> list[str]:
    lines = [
        f"wants {' and '.join(terms)}" + (f" ({plural(count, 'node')})" if counted else "")
        for terms, count in wanted.most_common()
        if terms != shown
    ]
    return lines if len(lines) <= _MOST_SELECTORS else _cut(lines, _MOST_SELECTORS)
