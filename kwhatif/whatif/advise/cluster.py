"""What could be different in the cluster, as edits: nodes, labels, taints, claims, quotas."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kwhatif.edits.edit import AddNodes, Assignment, Label, Reference, SetFields, Taint, TaintRemoval, Uncordon
from kwhatif.framework.evidence import (
    CordonedNode,
    Evidence,
    MissingTopologyLabel,
    UnmatchedSelector,
    UntoleratedTaint,
)
from kwhatif.matching.requests import CPU
from kwhatif.matching.tolerations import UNSCHEDULABLE_TAINT
from kwhatif.model.kinds import RESOURCES
from kwhatif.model.meta import ObjectMeta
from kwhatif.model.node import Node
from kwhatif.model.policy import ResourceQuota
from kwhatif.model.quantity import parse_quantity
from kwhatif.model.workload import Namespace
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State
from kwhatif.whatif.advise.change import COSTS, Amount, Change
from kwhatif.whatif.advise.claims import created
from kwhatif.whatif.advise.manifest import STATE_OF_NODE, precious
from kwhatif.whatif.advise.requests import request_less

#: Labels that say what a node is: nobody sets those to get a pod there.
_OWN_LABELS = re.compile(r"(^|\.)(kubernetes|k8s)\.io/")
_PAIR = re.compile(r"(?P<key>[^=!<> ]+)=(?P<value>[^=!<> ]*)")
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_MOST_NODES = 50
#: `exceeded quota: small, requested: requests.cpu=2, used: requests.cpu=3, limited: requests.cpu=4`
_EXCEEDED = re.compile(
    r"exceeded quota: (?P<quota>\S+), requested: (?P<requested>.*), used: (?P<used>.*), limited: (?P<limited>.*)"
)


def on_node(evidence: Evidence | None, node: NodeInfo) -> Iterator[Change]:
    """What the node could be, so that this no longer keeps the pod away from it."""
    match evidence:
        case CordonedNode():
            yield Change(
                kind="uncordon",
                by="cluster",
                target=node.name,
                cost=COSTS["uncordon"],
                edits=(Uncordon(text=f"uncordon {node.name}", nodes=(node.name,)),),
            )
        case UntoleratedTaint() if evidence.key != UNSCHEDULABLE_TAINT.key:
            yield _untaint(evidence, node.name)
        case UnmatchedSelector():
            yield from _labelled(evidence, node)
        case MissingTopologyLabel() if not _OWN_LABELS.search(evidence.topology_key):
            return


def _untaint(taint: UntoleratedTaint, node: str) -> Change:
    """Without the taint; if it says that the node is in trouble, that is for the node to get over."""
    text = f"taint {node} {taint.key}:{taint.effect}-"
    in_trouble = taint.key.startswith(STATE_OF_NODE)
    value = f"={taint.value}" if taint.value else ""
    return Change(
        kind="node-ready" if in_trouble else "untaint",
        by="waiting" if in_trouble else "cluster",
        target=node,
        about=f"{taint.key}{value}:{taint.effect}",
        cost=COSTS["node-ready"] if in_trouble else COSTS["untaint"] + precious(taint),
        edits=(Taint(text=text, nodes=(node,), removed=(TaintRemoval(taint.key, None, taint.effect),)),),
    )


def _labelled(evidence: UnmatchedSelector, node: NodeInfo) -> Iterator[Change]:
    """With the labels that the pod's node selector asks for."""
    pairs = [match for term in evidence.terms if (match := _PAIR.fullmatch(term))]
    wrong = {match["key"]: match["value"] for match in pairs if node.labels.get(match["key"]) != match["value"]}
    if len(pairs) != len(evidence.terms) or not wrong or any(map(_OWN_LABELS.search, wrong)):
        return
    said = " ".join(f"{key}={value}" for key, value in wrong.items())
    reference = Reference(f"node/{node.name}", RESOURCES[Node], node.name)
    yield Change(
        kind="label-node",
        by="cluster",
        target=node.name,
        about=said,
        cost=COSTS["label-node"],
        edits=(Label(text=f"label node/{node.name} {said}", objects=(reference,), added=wrong),),
    )


def add_nodes(like: str, count: int = 1) -> Change:
    """More nodes like one that is there."""
    return Change(
        kind="add-nodes",
        by="cluster",
        target=like,
        count=count,
        cost=COSTS["add-nodes"] + 10 * (count - 1),
        edits=(AddNodes(text=f"add {count} node{'s' * (count != 1)} like {like}", count=count, like=like),),
        amount=Amount(count, _MOST_NODES, 1, lambda more: add_nodes(like, more)),
    )


# --- what the API server refuses ---------------------------------------------------------------------------------


def refused(message: str, namespace: str, requested: dict[str, int], state: State) -> Iterator[Change]:
    """For a pod that is not even created: a quota that is used up, a namespace that is not there.

    Args:
        message: the API server's words: for these two, they are all that says what is short.
        namespace: that of the pod.
        requested: what the pod asks for, by resource in the scheduler's units.
        state: the cluster.
    """
    exceeded = _EXCEEDED.search(message)
    if exceeded is not None:
        quota = state.cluster.get(ResourceQuota, f"{namespace}/{exceeded['quota']}")
        if quota is not None:
            yield from _of_quota(quota, exceeded, requested)
    elif f'namespaces "{namespace}" not found' in message:
        yield created("create-namespace", Namespace(metadata=ObjectMeta(name=namespace)), namespace, "v1")


def _of_quota(quota: ResourceQuota, exceeded: re.Match[str], requested: dict[str, int]) -> Iterator[Change]:
    key = f"{quota.metadata.namespace}/{quota.metadata.name}"
    asked, used, limited = (_amounts(exceeded[name]) for name in ("requested", "used", "limited"))
    hard = {name: used[name] + asked[name] for name in asked if used.get(name, 0) + asked[name] > limited.get(name, 0)}
    values = {name: _quantity(name, nanos) for name, nanos in hard.items()}
    said = " ".join(f"spec.hard[{name}]={value}" for name, value in values.items())
    reference = Reference(
        f"resourcequota/{key}", RESOURCES[ResourceQuota], quota.metadata.name, quota.metadata.namespace
    )
    yield Change(
        kind="raise-quota",
        by="cluster",
        target=key,
        about=", ".join(hard),
        before=", ".join(f"{name}={quota.spec.hard.get(name, '')}" for name in hard),
        after=", ".join(f"{name}={value}" for name, value in values.items()),
        cost=COSTS["raise-quota"],
        edits=(
            SetFields(
                text=f"set resourcequota/{key} {said}",
                object=reference,
                values=tuple(Assignment(("spec", "hard", name), value) for name, value in values.items()),
            ),
        ),
    )
    for name, needed in hard.items():
        resource = name.removeprefix("requests.")
        unit = 1_000_000 if resource == CPU else 1_000_000_000
        whole = requested.get(resource, 0)
        cut = -(-(needed - limited[name]) // unit)
        if name != "pods" and 0 < cut < whole:
            yield request_less(resource, whole, cut)


def _amounts(text: str) -> dict[str, int]:
    """In nano-units."""
    pairs = (pair.partition("=") for pair in text.split(","))
    return {name: parse_quantity(amount) for name, _, amount in pairs}


def _quantity(name: str, nanos: int) -> str:
    if nanos % 1_000_000_000:
        return f"{-(-nanos // 1_000_000)}m"
    whole = nanos // 1_000_000_000
    is_bytes = name.rpartition(".")[2] in ("memory", "storage", "ephemeral-storage")
    for suffix, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)) if is_bytes and whole else ():
        if whole % size == 0:
            return f"{whole // size}{suffix}"
    return str(whole)
