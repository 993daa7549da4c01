"""Possible changes of the cluster, as edits: nodes, labels, taints, claims, quotas."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kwhatif.edits.edit import AddNodes, Label, TaintNodes, TaintRemoval, Uncordon
from kwhatif.edits.words import reference
from kwhatif.kube.matching.tolerations import UNSCHEDULABLE_TAINT
from kwhatif.questions.advise.change import AdvisedChange, Amount, in_cluster
from kwhatif.questions.advise.manifest import STATE_OF_NODE
from kwhatif.questions.advise.reserved import is_reserved
from kwhatif.scheduler.framework.evidence import (
    CordonedNode,
    Evidence,
    MissingTopologyLabel,
    UnmatchedSelector,
    UntoleratedTaint,
    taint_text,
)
from kwhatif.state.node_info import NodeInfo

#: Labels that describe the node itself: these are not set to place a pod.
_OWN_LABELS = re.compile(r"(^|\.)(kubernetes|k8s)\.io/")
_PAIR = re.compile(r"(?P<key>[^=!<> ]+)=(?P<value>[^=!<> ]*)")
_MOST_NODES = 50


def on_node(evidence: Evidence | None, node: NodeInfo) -> Iterator[AdvisedChange]:
    """Changes of the node that remove this obstacle."""
    match evidence:
        case CordonedNode():
            yield in_cluster("uncordon", node.name, Uncordon(text=f"uncordon {node.name}", nodes=(node.name,)))
        case UntoleratedTaint() if evidence.key != UNSCHEDULABLE_TAINT.key and not is_reserved(evidence, node):
            yield _untaint(evidence, node.name)
        case UnmatchedSelector():
            yield from _labelled(evidence, node)
        case MissingTopologyLabel() if not _OWN_LABELS.search(evidence.topology_key):
            return


def _untaint(taint: UntoleratedTaint, node: str) -> AdvisedChange:
    """Without the taint; if it shows a problem of the node, once the node has recovered."""
    text = f"taint {node} {taint.key}:{taint.effect}-"
    edit = TaintNodes(text=text, nodes=(node,), removed=(TaintRemoval(taint.key, None, taint.effect),))
    if taint.key.startswith(STATE_OF_NODE):
        return in_cluster("node-ready", node, edit, about=taint_text(taint))
    return in_cluster("untaint", node, edit, about=taint_text(taint), extra=10 if "/" in taint.key else 0)


def _labelled(evidence: UnmatchedSelector, node: NodeInfo) -> Iterator[AdvisedChange]:
    """With the labels that the pod's node selector asks for."""
    pairs = [match for term in evidence.terms if (match := _PAIR.fullmatch(term))]
    wrong = {match["key"]: match["value"] for match in pairs if node.labels.get(match["key"]) != match["value"]}
    if len(pairs) != len(evidence.terms) or not wrong or any(map(_OWN_LABELS.search, wrong)):
        return
    said = " ".join(f"{key}={value}" for key, value in wrong.items())
    edit = Label(text=f"label node/{node.name} {said}", objects=(reference(f"node/{node.name}"),), added=wrong)
    yield in_cluster("label-node", node.name, edit, about=said)


def add_nodes(like: str, count: int = 1) -> AdvisedChange:
    """More nodes like an existing one."""
    edit = AddNodes(text=f"add {count} node{'s' * (count != 1)} like {like}", count=count, like=like)
    amount = Amount(count, _MOST_NODES, 1, lambda more: add_nodes(like, more))
    return in_cluster("add-nodes", like, edit, extra=10 * (count - 1), count=count, amount=amount)
