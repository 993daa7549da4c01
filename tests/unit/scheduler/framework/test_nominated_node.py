"""The node that the pod is nominated to is tried before any other; what is left of that attempt when it fails."""

from __future__ import annotations

from kwhatif.questions.session.session import Session
from kwhatif.report.decision import Decision
from tests.asking import each_alone
from tests.builders import NodeBuilder, PodBuilder, cluster, node, on_name, pod

ROOMY, FULL = node("roomy").allocatable(cpu="4", pods=10), node("full").allocatable(cpu="4", pods=0)


def decide(candidate: PodBuilder, *nodes: NodeBuilder) -> Decision:
    (decision,) = each_alone(Session.of(cluster(*nodes)), [candidate.build()]).decisions
    return decision


def test_other_nodes_are_not_looked_at_when_it_fits() -> None:
    decision = decide(pod("web").node_affinity(on_name("roomy")).nominated("roomy"), ROOMY, FULL)
    assert decision.ties == ("roomy",)
    assert [(row.node, row.plugin, row.reasons) for row in decision.rejected] == [("full", "", ())]


def test_a_plugin_that_turns_it_down_is_named_as_if_it_had_narrowed_the_search() -> None:
    decision = decide(pod("web").node_affinity(on_name("full")).nominated("full"), ROOMY, FULL)
    assert [(row.node, row.reasons) for row in decision.rejected] == [
        ("full", ("Too many pods",)),
        ("roomy", ("node(s) didn't satisfy plugin(s) [NodeAffinity NodeResourcesFit]",)),
    ]
