"""NodeAffinity."""

import msgspec
import pytest

from kwhatif.kube.matching.nodes import TermError, named_nodes
from kwhatif.kube.model.pod_spec import NodeSelectorTerm
from kwhatif.scheduler.framework.evidence import UnmatchedSelector
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, Reads
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Code, Status
from kwhatif.scheduler.plugins.node_affinity import NodeAffinity, NodeAffinityArgs
from kwhatif.state.state import State
from tests.builders import HOSTNAME, NodeBuilder, PodBuilder, node, on_name, pod, requirement, snapshot, term

SSD = requirement("disk", "In", "ssd")
HDD = requirement("disk", "In", "hdd")
CLUSTER = snapshot(node("n1").labels(disk="ssd"), node("n2").labels(disk="hdd", gpu="true"))


def in_name(*names: str) -> NodeSelectorTerm:
    """A term of one `metadata.name` field per name."""
    return term(fields=tuple(requirement("metadata.name", "In", name) for name in names))


def added(json: str) -> NodeAffinity:
    return NodeAffinity(msgspec.json.decode(json, type=NodeAffinityArgs))


ADDED_SSD = """{"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms":
    [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]}}}"""
ADDED_PREFERENCE = """{"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3,
    "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}}]}}"""


def compiled(asking: PodBuilder, plugin: NodeAffinity | None = None, within: State = CLUSTER) -> NodeFilter:
    result = (plugin or NodeAffinity()).pre_filter(asking.info(), within)
    assert isinstance(result, NodeFilter)
    return result


@pytest.mark.parametrize(
    "asking",
    [
        pytest.param(pod(), id="no affinity and no nodeSelector"),
        pytest.param(pod().node_selector(), id="an empty nodeSelector"),
        pytest.param(pod().prefer_nodes(1, term(SSD)), id="preferences only"),
    ],
)
def test_pre_filter_skips(asking: PodBuilder) -> None:
    assert NodeAffinity().pre_filter(asking.info(), CLUSTER) is SKIP


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        pytest.param([in_name("n1")], {"n1"}, id="a term that names a node"),
        pytest.param([in_name("n1"), in_name("n2")], {"n1", "n2"}, id="terms are alternatives"),
        pytest.param([in_name("n1"), term(SSD)], None, id="a term that leaves the name open"),
        pytest.param([in_name("n1", "n2")], set(), id="two names in one term conflict"),
        pytest.param([in_name("n1", "n2"), in_name("n3")], {"n3"}, id="a conflict in one of two terms"),
        pytest.param(
            [term(fields=(requirement("metadata.name", "NotIn", "n1"),))], None, id="not this node: the name is open"
        ),
        pytest.param([on_name("n1", "n2")], {"n1", "n2"}, id="a field of two values, though it selects nothing"),
        pytest.param([on_name()], set(), id="a field of no value"),
        pytest.param([term(fields=(requirement("spec.x", "In", "n1"),))], None, id="another field"),
    ],
)
def test_named_nodes(terms: list[NodeSelectorTerm], names: set[str] | None) -> None:
    assert named_nodes(terms) == names


@pytest.mark.parametrize(
    ("asking", "only"),
    [
        pytest.param(pod().node_affinity(in_name("n1")), {"n1"}, id="named nodes"),
        pytest.param(pod().node_affinity(in_name("gone")), {"gone"}, id="a named node that does not exist"),
        pytest.param(pod().node_affinity(), None, id="no terms at all"),
        pytest.param(pod().node_selector(disk="ssd"), None, id="a nodeSelector"),
    ],
)
def test_pre_filter_narrows_the_search(asking: PodBuilder, only: set[str] | None) -> None:
    assert compiled(asking).only_nodes == only


def test_pre_filter_rejects_terms_that_conflict() -> None:
    status = NodeAffinity().pre_filter(pod().node_affinity(in_name("n1", "n2")).info(), CLUSTER)
    assert isinstance(status, Status)
    assert status.code is Code.UNRESOLVABLE
    assert status.message == "pod affinity terms conflict"


@pytest.mark.parametrize(
    ("asking", "passing"),
    [
        pytest.param(pod().node_selector(disk="ssd"), ["n1"], id="nodeSelector"),
        pytest.param(pod().node_affinity(term(SSD), term(HDD)), ["n1", "n2"], id="terms are alternatives"),
        pytest.param(pod().node_selector(gpu="true").node_affinity(term(SSD)), [], id="both must hold"),
        pytest.param(pod().node_affinity(), [], id="no terms match nothing"),
        pytest.param(pod().node_affinity(on_name("n1", "n2")), [], id="a field of two values matches nothing"),
    ],
)
def test_filter(asking: PodBuilder, passing: list[str]) -> None:
    check = compiled(asking)
    assert [one.name for one in CLUSTER.nodes if check.filter(one) is SUCCESS] == passing


def test_filter_says_what_the_pod_asks_and_the_node_answers() -> None:
    asking = pod().node_selector(gpu="true").node_affinity(term(HDD, requirement("gpu", "Exists")))
    status = compiled(asking).filter(CLUSTER.by_name["n1"])
    assert status.code is Code.UNRESOLVABLE
    assert status.message == "node(s) didn't match Pod's node affinity/selector"
    assert status.evidence == (UnmatchedSelector(("gpu=true", "disk in (hdd) and gpu"), {"gpu": None, "disk": "ssd"}),)


def test_added_affinity_comes_first_and_has_its_own_reason() -> None:
    check = compiled(pod().node_selector(disk="none"), added(ADDED_SSD))
    status = check.filter(CLUSTER.by_name["n2"])
    assert status.code is Code.UNRESOLVABLE
    assert status.message == "node(s) didn't match scheduler-enforced node affinity"
    assert status.evidence == (UnmatchedSelector(("disk in (ssd)",), {"disk": "hdd"}),)
    assert check.filter(CLUSTER.by_name["n1"]).message == "node(s) didn't match Pod's node affinity/selector"


def test_added_affinity_holds_for_pods_that_ask_nothing() -> None:
    check = compiled(pod(), added(ADDED_SSD))
    assert [one.name for one in CLUSTER.nodes if check.filter(one) is SUCCESS] == ["n1"]


def test_added_affinity_never_narrows_the_search() -> None:
    named = ADDED_SSD.replace("matchExpressions", "matchFields").replace("disk", "metadata.name")
    assert compiled(pod(), added(named)).only_nodes is None


def test_added_affinity_without_terms_matches_nothing() -> None:
    plugin = added('{"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}')
    assert not any(compiled(pod(), plugin).filter(one) is SUCCESS for one in CLUSTER.nodes)


@pytest.mark.parametrize("json", [ADDED_SSD, ADDED_PREFERENCE])
def test_added_affinity_that_does_not_parse_is_refused_at_once(json: str) -> None:
    with pytest.raises(TermError, match="matchExpressions"):
        added(json.replace('"In"', '"Gt"'))


def many(extra: NodeBuilder | None = None) -> State:
    """Enough nodes for the hostname to be near-unique."""
    nodes = [node(f"n{index}").labels(disk="ssd" if index % 2 else "hdd") for index in range(8)]
    return snapshot(*nodes, *([extra] if extra else []))


@pytest.mark.parametrize(
    ("asking", "plugin", "reads"),
    [
        pytest.param(pod().node_selector(disk="ssd"), NodeAffinity(), Reads.SHAPE, id="labels that shapes fix"),
        pytest.param(pod().node_selector({HOSTNAME: "n1"}), NodeAffinity(), Reads.NODE, id="a near-unique label"),
        pytest.param(pod().node_affinity(in_name("n1")), NodeAffinity(), Reads.NODE, id="the name"),
        pytest.param(pod(), added(ADDED_SSD), Reads.SHAPE, id="added affinity on labels"),
        pytest.param(
            pod().node_selector(disk="ssd"),
            added(ADDED_SSD.replace("disk", HOSTNAME)),
            Reads.NODE,
            id="added affinity on a near-unique label",
        ),
    ],
)
def test_filter_says_what_it_reads(asking: PodBuilder, plugin: NodeAffinity, reads: Reads) -> None:
    assert compiled(asking, plugin, many()).reads is reads


@pytest.mark.parametrize(
    ("asking", "plugin"),
    [
        pytest.param(pod().node_affinity(term(SSD)), NodeAffinity(), id="no preferences"),
        pytest.param(pod(), added(ADDED_SSD), id="added requirements only"),
    ],
)
def test_pre_score_skips(asking: PodBuilder, plugin: NodeAffinity) -> None:
    assert plugin.pre_score(asking.info(), CLUSTER, CLUSTER.nodes) is SKIP


@pytest.mark.parametrize(
    ("asking", "plugin", "raw", "normalized"),
    [
        pytest.param(
            pod().prefer_nodes(10, term(SSD)).prefer_nodes(15, term(requirement("gpu", "Exists"))),
            NodeAffinity(),
            [10, 15],
            [66, 100],
            id="weights of matching terms",
        ),
        pytest.param(
            pod().prefer_nodes(1, term(SSD)).prefer_nodes(2, in_name("n1")),
            NodeAffinity(),
            [3, 0],
            [100, 0],
            id="add up",
        ),
        pytest.param(pod().prefer_nodes(1, term(HDD)), added(ADDED_PREFERENCE), [3, 1], [100, 33], id="added ones too"),
        pytest.param(pod(), added(ADDED_PREFERENCE), [3, 0], [100, 0], id="added ones alone"),
        pytest.param(
            pod().prefer_nodes(5, term()), NodeAffinity(), [0, 0], [0, 0], id="an empty preference counts nothing"
        ),
        pytest.param(
            pod()._affine("node_affinity", preferred=()),
            NodeAffinity(),
            [0, 0],
            [0, 0],
            id="an empty list does not skip",
        ),
    ],
)
def test_score(asking: PodBuilder, plugin: NodeAffinity, raw: list[int], normalized: list[int]) -> None:
    scorer = plugin.pre_score(asking.info(), CLUSTER, CLUSTER.nodes)
    assert isinstance(scorer, NodeScorer)
    scores = [scorer.score(one) for one in CLUSTER.nodes]
    assert scores == raw
    assert scorer.normalize(scores, CLUSTER.nodes) == normalized


@pytest.mark.parametrize(
    ("preference", "by_shape"),
    [
        pytest.param(term(SSD), True, id="labels that shapes fix"),
        pytest.param(term(requirement(HOSTNAME, "In", "n1")), False, id="a near-unique label"),
        pytest.param(in_name("n1"), False, id="the name"),
    ],
)
def test_score_says_what_it_reads(preference: NodeSelectorTerm, by_shape: bool) -> None:
    within = many()
    scorer = NodeAffinity().pre_score(pod().prefer_nodes(1, preference).info(), within, within.nodes)
    assert getattr(scorer, "by_shape", None) is by_shape


def test_a_preference_that_does_not_parse_fails_the_cycle() -> None:
    asking = pod().prefer_nodes(1, term(requirement("disk", "In", "a b"))).info()
    status = NodeAffinity().pre_score(asking, CLUSTER, CLUSTER.nodes)
    assert isinstance(status, Status)
    assert status.code is Code.ERROR
    assert status.message.startswith(
        '[0].matchExpressions[0].values[0][disk]: Invalid value: "a b": a valid label must'
    )
