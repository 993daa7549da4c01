"""Nodes: selectors and why one does not match, host ports, taints and tolerations."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.matching.labels import describe
from kwhatif.kube.matching.nodes import (
    UNSCHEDULABLE_TAINT,
    HostPort,
    Mismatch,
    PreferredTerms,
    RequiredNodeAffinity,
    Term,
    TermError,
    compile_terms,
    conflicts,
    first_untolerated,
    host_ports,
    tolerated,
    tolerates,
)
from kwhatif.kube.model.meta import Requirement
from kwhatif.kube.model.node import Taint
from kwhatif.kube.model.pod_spec import ContainerPort, NodeSelectorTerm, PreferredSchedulingTerm, Toleration
from tests.builders import PodBuilder, on_name, pod, requirement, term


class SomeNode(NamedTuple):
    name: str
    labels: dict[str, str]


N1 = SomeNode("n1", {"disk": "ssd", "cores": "16", "odd": "-5", "empty": ""})
SSD = requirement("disk", "In", "ssd")
HDD = requirement("disk", "In", "hdd")
IS_N1 = requirement("metadata.name", "In", "n1")
NOT_N1 = requirement("metadata.name", "NotIn", "n1")
#: Parses upstream's way to an error: the value is no integer.
BROKEN = requirement("cores", "Gt", "many")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param(SSD, True, id="In: listed"),
        pytest.param(HDD, False, id="In: not listed"),
        pytest.param(requirement("gpu", "In", ""), False, id="In: absent is not the empty value"),
        pytest.param(requirement("empty", "In", ""), True, id="In: the empty value is a value"),
        pytest.param(requirement("disk", "NotIn", "hdd"), True, id="NotIn: not listed"),
        pytest.param(requirement("disk", "NotIn", "hdd", "ssd"), False, id="NotIn: listed"),
        pytest.param(requirement("gpu", "NotIn", "a100"), True, id="NotIn: absent"),
        pytest.param(requirement("empty", "Exists"), True, id="Exists: present, though empty"),
        pytest.param(requirement("gpu", "Exists"), False, id="Exists: absent"),
        pytest.param(requirement("gpu", "DoesNotExist"), True, id="DoesNotExist: absent"),
        pytest.param(requirement("disk", "DoesNotExist"), False, id="DoesNotExist: present"),
        pytest.param(requirement("cores", "Gt", "8"), True, id="Gt: compares numbers, not text"),
        pytest.param(requirement("cores", "Gt", "16"), False, id="Gt: equal is not greater"),
        pytest.param(requirement("cores", "Lt", "17"), True, id="Lt: less"),
        pytest.param(requirement("cores", "Lt", "16"), False, id="Lt: equal is not less"),
        pytest.param(requirement("cores", "Gt", "007"), True, id="Gt: leading zeros"),
        pytest.param(requirement("odd", "Lt", "0"), True, id="Lt: a negative label"),
        pytest.param(requirement("disk", "Gt", "1"), False, id="Gt: the label is no number"),
        pytest.param(requirement("gpu", "Lt", "1"), False, id="Lt: absent"),
    ],
)
def test_expressions(expression: Requirement, expected: bool) -> None:
    assert Term((expression,), ()).matches(*N1) is expected


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        pytest.param(IS_N1, True, id="this node"),
        pytest.param(NOT_N1, False, id="any but this node"),
        pytest.param(requirement("metadata.name", "In", "n2"), False, id="another node"),
        pytest.param(requirement("metadata.name", "NotIn", "n2"), True, id="any but another node"),
        pytest.param(requirement("spec.x", "In", "n1"), False, id="an unknown field has no value"),
        pytest.param(requirement("spec.x", "NotIn", "n1"), True, id="an unknown field differs from any value"),
    ],
)
def test_fields(field: Requirement, expected: bool) -> None:
    assert Term((), (field,)).matches(*N1) is expected


@pytest.mark.parametrize(
    ("expressions", "fields", "message"),
    [
        pytest.param(
            [requirement("disk", "in", "ssd")],
            [],
            'matchExpressions[0].operator: Unsupported value: "in": '
            'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
            id="an unknown operator",
        ),
        pytest.param(
            [SSD, requirement("cores", "Gt", "1", "2")],
            [],
            'matchExpressions[1].values: Invalid value: ["1","2"]: '
            "for 'Gt', 'Lt' operators, exactly one value is required",
            id="two bounds",
        ),
        pytest.param(
            [BROKEN],
            [],
            'matchExpressions[0].values[0]: Invalid value: "many": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
            id="a bound that is no number",
        ),
        pytest.param(
            [requirement("disk", "In")],
            [],
            "matchExpressions[0].values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
            id="In without values",
        ),
        pytest.param(
            [],
            [requirement("metadata.name", "Exists")],
            'matchFields[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn"',
            id="a field that exists",
        ),
        pytest.param(
            [],
            [requirement("metadata.name", "In", "n1", "n2")],
            'matchFields[0].values: Invalid value: ["n1","n2"]: must have one element',
            id="two names in one field",
        ),
        pytest.param(
            [requirement("disk", "Exists", "x")],
            [requirement("metadata.name", "In")],
            '[matchExpressions[0].values: Invalid value: ["x"]: values set must be empty for exists and does not exist,'
            " matchFields[0].values: Invalid value: null: must have one element]",
            id="several problems at once",
        ),
    ],
)
def test_terms_that_do_not_parse(expressions: list[Requirement], fields: list[Requirement], message: str) -> None:
    with pytest.raises(TermError) as refusal:
        Term(expressions, fields)
    assert str(refusal.value) == message


def test_a_negative_bound_does_not_parse_as_it_is_no_label_value() -> None:
    with pytest.raises(TermError, match=r'values\[0\]\[odd\]: Invalid value: "-5": a valid label must be'):
        Term((requirement("odd", "Lt", "-5"),), ())


@pytest.mark.parametrize(
    ("asking", "expected"),
    [
        pytest.param(pod(), True, id="nothing asked"),
        pytest.param(pod().node_selector(), True, id="an empty nodeSelector"),
        pytest.param(pod().node_selector(disk="ssd", cores="16"), True, id="all pairs of nodeSelector hold"),
        pytest.param(pod().node_selector(disk="ssd", gpu="yes"), False, id="a pair of nodeSelector is missing"),
        pytest.param(pod().node_affinity(term(HDD), term(SSD)), True, id="one of the terms holds"),
        pytest.param(pod().node_affinity(term(SSD, HDD)), False, id="all expressions of a term must hold"),
        pytest.param(pod().node_affinity(term(SSD, fields=(NOT_N1,))), False, id="fields must hold as well"),
        pytest.param(pod().node_affinity(), False, id="no terms at all match nothing"),
        pytest.param(pod().node_affinity(term()), False, id="an empty term matches nothing"),
        pytest.param(pod().node_affinity(term(BROKEN)), False, id="a term that does not parse matches nothing"),
        pytest.param(pod().node_affinity(term(BROKEN), term(SSD)), True, id="another term still may"),
        pytest.param(pod().node_affinity(term(SSD, requirement("disk", "NotIn", "a b"))), False, id="invalid values"),
        pytest.param(
            pod().node_selector(disk="hdd").node_affinity(term(SSD)), False, id="nodeSelector and affinity must agree"
        ),
    ],
)
def test_required(asking: PodBuilder, expected: bool) -> None:
    required = RequiredNodeAffinity(asking.build().spec)
    assert required.matches(N1) is expected
    assert required.mismatch(N1) == ((), {}) or not expected


@pytest.mark.parametrize(
    ("asking", "keys", "reads_name"),
    [
        pytest.param(
            pod().node_selector(a="1").node_affinity(term(SSD), term(BROKEN)), {"a", "disk"}, False, id="keys"
        ),
        pytest.param(pod().node_affinity(on_name("n1")), set(), True, id="the name"),
    ],
)
def test_required_says_what_it_reads(asking: PodBuilder, keys: set[str], reads_name: bool) -> None:
    required = RequiredNodeAffinity(asking.build().spec)
    assert required.keys == keys
    assert required.reads_name is reads_name


@pytest.mark.parametrize(
    ("asking", "expected"),
    [
        pytest.param(
            pod().node_selector(disk="ssd", gpu="yes", odd="5"),
            Mismatch(("gpu=yes", "odd=5"), {"gpu": None, "odd": "-5"}),
            id="the pairs that are missing or differ",
        ),
        pytest.param(
            pod().node_affinity(term(SSD, requirement("cores", "Gt", "32"), requirement("gpu", "Exists"))),
            Mismatch(("cores>32 and gpu",), {"cores": "16", "gpu": None}),
            id="the failing requirements of the only term",
        ),
        pytest.param(
            pod().node_affinity(term(HDD), term(SSD, fields=(NOT_N1,))),
            Mismatch(("disk in (hdd) or metadata.name notin (n1)",), {"disk": "ssd", "metadata.name": "n1"}),
            id="one alternative per term",
        ),
        pytest.param(
            pod().node_selector(disk="hdd").node_affinity(term(HDD)),
            Mismatch(("disk=hdd", "disk in (hdd)"), {"disk": "ssd"}),
            id="nodeSelector and affinity",
        ),
        pytest.param(
            pod().node_affinity(term(BROKEN)), Mismatch(("no valid term",), {}), id="nothing that could match"
        ),
    ],
)
def test_mismatch(asking: PodBuilder, expected: Mismatch) -> None:
    assert RequiredNodeAffinity(asking.build().spec).mismatch(N1) == expected


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (requirement("disk", "In", "ssd", "nvme"), "disk in (nvme,ssd)"),
        (requirement("disk", "NotIn", "hdd"), "disk notin (hdd)"),
        (requirement("gpu", "Exists"), "gpu"),
        (requirement("gpu", "DoesNotExist"), "!gpu"),
        (requirement("cores", "Gt", "8"), "cores>8"),
        (requirement("cores", "Lt", "8"), "cores<8"),
    ],
)
def test_requirements_read_as_selectors_do(wanted: Requirement, text: str) -> None:
    assert describe(wanted) == text


def prefer(weight: int, preference: NodeSelectorTerm) -> PreferredSchedulingTerm:
    return PreferredSchedulingTerm(weight=weight, preference=preference)


def test_preferences_add_up() -> None:
    terms = PreferredTerms([prefer(5, term(SSD)), prefer(7, term(HDD)), prefer(11, on_name("n1"))])
    assert terms.score(N1) == 16
    assert terms.keys == {"disk"}
    assert terms.reads_name


def test_preferences_without_weight_or_content_count_nothing_and_are_not_parsed() -> None:
    terms = PreferredTerms([prefer(0, term(BROKEN)), prefer(5, term())])
    assert terms.score(N1) == 0
    assert not terms.keys


def test_all_preferences_that_do_not_parse_are_reported_with_their_place() -> None:
    with pytest.raises(TermError) as refusal:
        PreferredTerms([prefer(1, term(BROKEN)), prefer(1, term(SSD)), prefer(1, term(requirement("gpu", "In")))])
    assert refusal.value.problems == (
        '[0].matchExpressions[0].values[0]: Invalid value: "many": '
        "for 'Gt', 'Lt' operators, the value must be an integer",
        "[2].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
    )


requirements = st.builds(
    lambda key, operator, values: requirement(key, operator, *values),
    st.sampled_from(["disk", "cores", "gpu"]),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near"]),
    st.lists(st.sampled_from(["ssd", "8", "16", "-"]), max_size=2),
)
fields = st.builds(
    lambda operator, values: requirement("metadata.name", operator, *values),
    st.sampled_from(["In", "NotIn", "Exists"]),
    st.lists(st.sampled_from(["n1", "n2"]), max_size=2),
)
terms = st.builds(
    lambda expressions, names: term(*expressions, fields=tuple(names)),
    st.lists(requirements, max_size=2),
    st.lists(fields, max_size=1),
)
nodes = st.builds(
    SomeNode,
    st.sampled_from(["n1", "n2"]),
    st.dictionaries(st.sampled_from(["disk", "cores", "gpu"]), st.sampled_from(["ssd", "8", "16", "17"])),
)


@given(st.lists(terms, max_size=3), nodes)
def test_terms_are_alternatives(alternatives: list[NodeSelectorTerm], node: SomeNode) -> None:
    together = RequiredNodeAffinity(pod().node_affinity(*alternatives).build().spec)
    alone = [RequiredNodeAffinity(pod().node_affinity(one).build().spec) for one in alternatives]
    assert together.matches(node) == any(one.matches(node) for one in alone)


@given(st.lists(terms, max_size=3), nodes)
def test_a_mismatch_is_reported_exactly_when_there_is_one(alternatives: list[NodeSelectorTerm], node: SomeNode) -> None:
    required = RequiredNodeAffinity(pod().node_selector(disk="ssd").node_affinity(*alternatives).build().spec)
    failed, said = required.mismatch(node)
    assert bool(failed) == (not required.matches(node))
    assert said.keys() <= required.keys | {"metadata.name"}


@given(terms, nodes)
def test_a_term_matches_when_nothing_fails(one: NodeSelectorTerm, node: SomeNode) -> None:
    for compiled in compile_terms([one]):
        empty = not one.match_expressions and not one.match_fields
        assert compiled.matches(*node) == (not compiled.failing(*node) and not empty)


@given(terms, nodes, nodes)
def test_a_term_reads_only_what_it_says(one: NodeSelectorTerm, node: SomeNode, other: SomeNode) -> None:
    for compiled in compile_terms([one]):
        name = node.name if compiled.reads_name else other.name
        labels = {key: value for key, value in node.labels.items() if key in compiled.keys}
        labels |= {key: value for key, value in other.labels.items() if key not in compiled.keys}
        assert compiled.matches(name, labels) == compiled.matches(*node)


# --- Host ports ---------------------------------------------------------------------------------------


ANY = "0.0.0.0"
SIDECAR = (ContainerPort(container_port=9000, host_port=9000),)


@pytest.mark.parametrize(
    ("asking", "ports"),
    [
        pytest.param(pod(), [], id="no ports"),
        pytest.param(pod().host_port(80), [(ANY, "TCP", 80)], id="a port on all addresses"),
        pytest.param(pod().host_port(80, "UDP", "10.0.0.1"), [("10.0.0.1", "UDP", 80)], id="protocol and address"),
        pytest.param(pod().host_port(80, protocol=""), [(ANY, "TCP", 80)], id="the protocol is TCP unless said"),
        pytest.param(
            pod().host_port(80).container("b").host_port(81),
            [(ANY, "TCP", 80), (ANY, "TCP", 81)],
            id="of all containers",
        ),
        pytest.param(pod().init_container(ports=SIDECAR), [], id="plain init containers do not count"),
        pytest.param(
            pod().init_container(ports=SIDECAR, restart_policy="Always"), [(ANY, "TCP", 9000)], id="sidecars count"
        ),
        pytest.param(
            pod().container("b", ports=(ContainerPort(container_port=8080),)), [], id="a container port is no host port"
        ),
        pytest.param(
            pod().container("b", ports=(ContainerPort(container_port=8080),)).spec(host_network=True),
            [(ANY, "TCP", 8080)],
            id="on the host's network it is one",
        ),
    ],
)
def test_host_ports(asking: PodBuilder, ports: list[tuple[str, str, int]]) -> None:
    assert list(host_ports(asking.build().spec)) == ports


@pytest.mark.parametrize(
    ("wanted", "used", "expected"),
    [
        pytest.param((ANY, "TCP", 80), (ANY, "TCP", 80), True, id="the same"),
        pytest.param((ANY, "TCP", 80), (ANY, "TCP", 81), False, id="another port"),
        pytest.param((ANY, "TCP", 80), (ANY, "UDP", 80), False, id="another protocol"),
        pytest.param((ANY, "TCP", 80), ("10.0.0.1", "TCP", 80), True, id="all addresses against one"),
        pytest.param(("10.0.0.1", "TCP", 80), (ANY, "TCP", 80), True, id="one address against all"),
        pytest.param(("10.0.0.1", "TCP", 80), ("10.0.0.1", "TCP", 80), True, id="the same address"),
        pytest.param(("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80), False, id="another address"),
    ],
)
def test_conflicts(wanted: tuple[str, str, int], used: tuple[str, str, int], expected: bool) -> None:
    assert conflicts(HostPort(*wanted), {HostPort(*used)}) is expected
    assert not conflicts(HostPort(*wanted), ())


some_ports = st.builds(
    HostPort, st.sampled_from([ANY, "10.0.0.1", "::1"]), st.sampled_from(["TCP", "UDP"]), st.integers(1, 3)
)


@given(some_ports, some_ports)
def test_conflict_is_mutual(one: HostPort, two: HostPort) -> None:
    assert conflicts(one, [two]) == conflicts(two, [one])


@given(some_ports, st.lists(some_ports))
def test_a_conflict_with_many_is_one_with_any(wanted: HostPort, used: list[HostPort]) -> None:
    assert conflicts(wanted, used) == any(conflicts(wanted, [port]) for port in used)


# --- Tolerations and taints ---------------------------------------------------------------------------


GPU = Taint(key="gpu", value="a100", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        pytest.param(Toleration(operator="Exists"), True, id="an empty key with Exists tolerates all"),
        pytest.param(Toleration(key="gpu", operator="Exists"), True, id="the key exists"),
        pytest.param(Toleration(key="gpu", operator="Exists", value="x"), True, id="Exists ignores the value"),
        pytest.param(Toleration(key="cpu", operator="Exists"), False, id="another key"),
        pytest.param(Toleration(key="gpu", operator="Equal", value="a100"), True, id="equal value"),
        pytest.param(Toleration(key="gpu", value="a100"), True, id="no operator means Equal"),
        pytest.param(Toleration(key="gpu", value="h100"), False, id="another value"),
        pytest.param(Toleration(key="gpu"), False, id="Equal without a value is the empty value"),
        pytest.param(Toleration(value="a100"), True, id="an empty key with Equal compares the value only"),
        pytest.param(Toleration(key="gpu", operator="Exists", effect="NoSchedule"), True, id="the effect"),
        pytest.param(Toleration(key="gpu", operator="Exists", effect="NoExecute"), False, id="another effect"),
        pytest.param(Toleration(key="gpu", operator="Exists", toleration_seconds=0), True, id="seconds do not matter"),
        pytest.param(Toleration(key="gpu", operator="exists"), False, id="an unknown operator"),
    ],
)
def test_tolerates(toleration: Toleration, expected: bool) -> None:
    assert tolerates(toleration, GPU) is expected


@pytest.mark.parametrize("operator", ["Lt", "Gt"])
def test_comparisons_never_tolerate_as_their_gate_is_off(operator: str) -> None:
    taint = Taint(key="age", value="5", effect="NoSchedule")
    assert not any(tolerates(Toleration(key="age", operator=operator, value=value), taint) for value in ("1", "9"))


def test_the_taint_of_a_cordon_has_no_value() -> None:
    key = "node.kubernetes.io/unschedulable"
    assert tolerated(UNSCHEDULABLE_TAINT, [Toleration(key="x"), Toleration(key=key)])
    assert not tolerated(UNSCHEDULABLE_TAINT, [Toleration(key=key, value="true")])
    assert not tolerated(UNSCHEDULABLE_TAINT, [])


def test_the_first_untolerated_taint_is_one_that_keeps_pods_away() -> None:
    prefer = Taint(key="a", effect="PreferNoSchedule")
    execute = Taint(key="b", effect="NoExecute")
    taints = (prefer, GPU, execute)
    assert first_untolerated(taints, ()) == GPU
    assert first_untolerated(taints, [Toleration(key="gpu", operator="Exists")]) == execute
    assert first_untolerated((prefer,), ()) is None
    assert first_untolerated(taints, [Toleration(operator="Exists")]) is None
