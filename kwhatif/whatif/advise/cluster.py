"""What could be different in the cluster, as edits: nodes, labels, taints, claims, quotas."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kwhatif.edits.edit import AddNodes, Label, Reference, TaintNodes, TaintRemoval, Uncordon
from kwhatif.framework.evidence import (
    CordonedNode,
    Evidence,
    MissingTopologyLabel,
    UnmatchedSelector,
    UntoleratedTaint,
)
from kwhatif.matching.tolerations import UNSCHEDULABLE_TAINT
from kwhatif.model.kinds import RESOURCES
from kwhatif.model.node import Node
from kwhatif.state.node_info import NodeInfo
from kwhatif.whatif.advise.change import COSTS, AdvisedChange, Amount
from kwhatif.whatif.advise.manifest import STATE_OF_NODE, precious

#: Labels that say what a node is: nobody sets those to get a pod there.
_OWN_LABELS = re.compile(r"(^|\.)(kubernetes|k8s)\.io/")
_PAIR = re.compile(r"(?P<key>[^=!<> ]+)=(?P<value>[^=!<> ]*)")
_MOST_NODES = 50


def on_node(evidence: Evidence | None, node: NodeInfo) -> Iterator[AdvisedChange]:
    """What the node could be, so that this no longer keeps the pod away from it."""
    match evidence:
        case CordonedNode():
            yield AdvisedChange(
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


def _untaint(taint: UntoleratedTaint, node: str) -> AdvisedChange:
    """Without the taint; if it says that the node is in trouble, that is for the node to get over."""
    text = f"taint {node} {taint.key}:{taint.effect}-"
    in_trouble = taint.key.startswith(STATE_OF_NODE)
    value = f"={taint.value}" if taint.value else ""
    return AdvisedChange(
        kind="node-ready" if in_trouble else "untaint",
        by="waiting" if in_trouble else "cluster",
        target=node,
        about=f"{taint.key}{value}:{taint.effect}",
        cost=COSTS["node-ready"] if in_trouble else COSTS["untaint"] + precious(taint),
        edits=(TaintNodes(text=text, nodes=(node,), removed=(TaintRemoval(taint.key, None, taint.effect),)),),
    )


def _labelled(evidence: UnmatchedSelector, node: NodeInfo) -> Iterator[AdvisedChange]:
    """With the labels that the pod's node selector asks for."""
    pairs = [match for term in evidence.terms if (match := _PAIR.fullmatch(term))]
    wrong = {match["key"]: match["value"] for match in pairs if node.labels.get(match["key"]) != match["value"]}
    if len(pairs) != len(evidence.terms) or not wrong or any(map(_OWN_LABELS.search, wrong)):
        return
    said = " ".join(f"{key}={value}" for key, value in wrong.items())
    reference = Reference(f"node/{node.name}", RESOURCES[Node], node.name)
    yield AdvisedChange(
        kind="label-node",
        by="cluster",
        target=node.name,
        about=said,
        cost=COSTS["label-node"],
        edits=(Label(text=f"label node/{node.name} {said}", objects=(reference,), added=wrong),),
    )


def add_nodes(like: str, count: int = 1) -> AdvisedChange:
    """More nodes like one that is there."""
    return AdvisedChange(
        kind="add-nodes",
        by="cluster",
        target=like,
        count=count,
        cost=COSTS["add-nodes"] + 10 * (count - 1),
        edits=(AddNodes(text=f"add {count} node{'s' * (count != 1)} like {like}", count=count, like=like),),
        amount=Amount(count, _MOST_NODES, 1, lambda more: add_nodes(like, more)),
    )
