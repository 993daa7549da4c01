"""One attempt: the nominated node comes first; all objections to a node, not only the scheduler's."""

from kwhatif.questions.session.session import Session
from kwhatif.report.decision import Decision
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.attempt import Objections
from kwhatif.scheduler.framework.cycle import Cycle
from tests.asking import each_alone
from tests.builders import NodeBuilder, PodBuilder, cluster, node, on_name, pod, snapshot

CORDONED = "node.kubernetes.io/unschedulable"


def plugins(candidate: PodBuilder, *objects: NodeBuilder | PodBuilder) -> dict[str, list[str]]:
    """Node -> the plugins that object to it."""
    cycle = Cycle(default_profile(), candidate.info(), snapshot(*objects))
    assert cycle.pre_filter()
    cycle.filter_nodes()
    asking = Objections(cycle)
    out = {each.name: cycle.verdict_of(each.name) for each in cycle.state.nodes}
    by_name = cycle.state.by_name
    return {
        name: [found.plugin for found in asking.on(by_name[name], verdict)] for name, verdict in out.items() if verdict
    }


def test_every_filter_is_asked() -> None:
    full = node("n1").taint("gpu").cordoned()
    found = plugins(pod().cpu("8").node_selector(disk="ssd"), full, node("n2").taint("gpu").labels(disk="ssd"))
    assert found == {
        "n1": ["NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodeResourcesFit"],
        "n2": ["TaintToleration", "NodeResourcesFit"],
    }


def test_nodes_that_the_pod_does_not_name_have_other_objections_too() -> None:
    found = plugins(pod().cpu("8").node_affinity(on_name("n1")), node("n1"), node("n2"), node("n3").taint("gpu"))
    assert found == {
        "n1": ["NodeResourcesFit"],
        "n2": ["", "NodeResourcesFit"],
        "n3": ["", "TaintToleration", "NodeResourcesFit"],
    }


def test_nominated_pods_count() -> None:
    nominated = pod("first", "a").cpu("3").priority(10).nominated("n1")
    found = plugins(pod().cpu("2").node_selector(disk="ssd"), node("n1"), node("n2").taint("gpu"), nominated)
    assert found == {"n1": ["NodeAffinity", "NodeResourcesFit"], "n2": ["TaintToleration", "NodeAffinity"]}


# --- The node that the pod is nominated to is tried before any other; what is left of that attempt when it fails ---


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
