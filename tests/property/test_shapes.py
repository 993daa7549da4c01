"""Asking once per node shape gives every node the answer that it would get on its own."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.matching.nodes import UNSCHEDULABLE_TAINT, RequiredNodeAffinity, tolerates
from kwhatif.kube.model.node import Taint
from kwhatif.kube.model.pod_spec import NodeAffinity as NodeAffinitySpec
from kwhatif.kube.model.pod_spec import NodeSelector, NodeSelectorTerm, RestartPolicyRule
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.plugin import FilterPlugin, NodeFilter, NodeScorer, ScorePlugin
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.scoring import score_nodes
from kwhatif.scheduler.framework.status import SUCCESS
from kwhatif.scheduler.plugins.node_affinity import NodeAffinity, NodeAffinityArgs
from kwhatif.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from kwhatif.scheduler.plugins.node_name import NodeName
from kwhatif.scheduler.plugins.node_unschedulable import NodeUnschedulable
from kwhatif.scheduler.plugins.taint_toleration import TaintToleration
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import NodeRow, State
from tests.builders import HOSTNAME, NodeBuilder, PodBuilder, node, on_name, pod, requirement, snapshot, term

EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
FEATURES = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport")
KEYS = ("disk", "rack", HOSTNAME)
VALUES = ("a", "b", "n1", "n3")


def builds_node(
    labels: dict[str, str], taints: list[tuple[str, str]], features: set[str], *, cordoned: bool
) -> NodeBuilder:
    builder = node().labels(labels).spec(unschedulable=cordoned).features(*sorted(features))
    for key, effect in taints:
        builder.taint(key, effect=effect)
    return builder


nodes = st.builds(
    builds_node,
    st.dictionaries(st.sampled_from(["disk", "rack"]), st.sampled_from("abcdefghij"), max_size=2),
    st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from(EFFECTS)), max_size=2),
    st.sets(st.sampled_from(FEATURES)),
    cordoned=st.booleans(),
)


def named(builders: list[NodeBuilder]) -> State:
    return snapshot(*(one.meta(name=f"n{index}").labels({HOSTNAME: f"n{index}"}) for index, one in enumerate(builders)))


#: Ten nodes and more, so that hostname, and now and then rack, are near-unique.
clusters = st.builds(named, st.lists(nodes, min_size=8, max_size=14))

requirements = st.builds(
    lambda key, operator, value: requirement(key, operator, *([value] if operator in ("In", "NotIn") else [])),
    st.sampled_from(KEYS),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    st.sampled_from(VALUES),
)
terms = st.one_of(
    st.lists(requirements, max_size=2).map(lambda several: term(*several)),
    st.sampled_from(["n1", "n2", "n99"]).map(on_name),
)
maybe_terms = st.none() | st.lists(terms, max_size=2)


def builds_pod(
    tolerations: list[tuple[str, str]],
    labels: dict[str, str] | None,
    required: list[NodeSelectorTerm] | None,
    preferred: list[tuple[int, NodeSelectorTerm]],
    name: str,
    demanding: bool,
) -> PodBuilder:
    builder = pod().on(name).spec(node_selector=labels)
    for key, effect in tolerations:
        builder.toleration(key, "Exists", effect=effect)
    if required is not None:
        builder.node_affinity(*required)
    for weight, preference in preferred:
        builder.prefer_nodes(weight, preference)
    if demanding:
        builder.spec(host_network=True, host_users=False)
        builder.container("b", restart_policy_rules=(RestartPolicyRule(action="RestartAllContainers"),))
    return builder


pods = st.builds(
    builds_pod,
    st.lists(
        st.tuples(st.sampled_from(["x", "y", "node.kubernetes.io/unschedulable"]), st.sampled_from(["", *EFFECTS])),
        max_size=3,
    ),
    st.none() | st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=1),
    maybe_terms,
    st.lists(st.tuples(st.integers(1, 9), terms), max_size=2),
    st.sampled_from(["", "", "", "n1"]),
    st.booleans(),
).map(PodBuilder.info)


def affinities(required: list[NodeSelectorTerm] | None) -> NodeAffinity:
    added = NodeAffinitySpec(required=None if required is None else NodeSelector(node_selector_terms=tuple(required)))
    return NodeAffinity(NodeAffinityArgs(added_affinity=added))


filters = st.one_of(
    st.sampled_from([NodeUnschedulable(), NodeName(), TaintToleration(), NodeDeclaredFeatures()]),
    maybe_terms.map(affinities),
)


@given(filters, pods, clusters)
def test_filters(plugin: FilterPlugin, asking: PodInfo, found: State) -> None:
    profile = Profile(pre_filter=(plugin,), filter=(plugin,))
    cycle = Cycle(profile, asking, found)
    if not cycle.pre_filter():
        return
    cycle.filter_nodes()
    compiled = plugin.pre_filter(asking, found)
    for one in found.nodes:
        if cycle.node_set is not None and one.name not in cycle.node_set:
            continue
        alone = compiled.filter(one) if isinstance(compiled, NodeFilter) else SUCCESS
        verdict = cycle.verdicts.get(one.name)
        assert (verdict.status if verdict else SUCCESS) == alone


@given(st.one_of(st.just(TaintToleration()), st.just(NodeAffinity())), pods, clusters)
def test_scores(plugin: ScorePlugin, asking: PodInfo, found: State) -> None:
    cycle = Cycle(Profile(pre_score=(plugin,), score=(plugin,)), asking, found)
    cycle.feasible = NodeRow.at(found, range(len(found.nodes)))
    scores = score_nodes(cycle).by_plugin
    compiled = plugin.pre_score(asking, found, found.nodes)
    if isinstance(compiled, NodeScorer):
        raw = [compiled.score(one) for one in found.nodes]
        assert scores[plugin.name] == compiled.normalize(raw, found.nodes)
    else:
        assert not scores


def tolerated_all(asking: PodInfo, taints: list[Taint]) -> bool:
    return all(any(tolerates(one, taint) for one in asking.pod.spec.tolerations) for taint in taints)


#: The rules, without thought of shapes, skipping or speed.
RULES: dict[str, Callable[[PodInfo, NodeInfo], bool]] = {
    "NodeUnschedulable": lambda asking, one: not one.unschedulable or tolerated_all(asking, [UNSCHEDULABLE_TAINT]),
    "NodeName": lambda asking, one: asking.pod.spec.node_name in ("", one.name),
    "TaintToleration": lambda asking, one: tolerated_all(
        asking, [taint for taint in one.taints if taint.effect != "PreferNoSchedule"]
    ),
    "NodeAffinity": lambda asking, one: RequiredNodeAffinity(asking.pod.spec).matches(one),
}


@given(st.sampled_from([NodeUnschedulable(), NodeName(), TaintToleration(), NodeAffinity()]), pods, clusters)
def test_a_plugin_passes_the_nodes_that_its_rule_passes(plugin: FilterPlugin, asking: PodInfo, found: State) -> None:
    """In particular, one that skips would have passed every node."""
    compiled = plugin.pre_filter(asking, found)
    for one in found.nodes:
        status = compiled.filter(one) if isinstance(compiled, NodeFilter) else compiled
        assert status.rejected != RULES[plugin.name](asking, one)
