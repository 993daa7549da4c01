"""Label selectors: as objects have them, and as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.matching.labels import (
    EVERYTHING,
    NOTHING,
    Selector,
    SelectorError,
    compile_requirement,
    compile_selector,
    parse_int64,
    parse_selector,
    selector_of_map,
)
from kwhatif.kube.model.meta import LabelSelector
from tests.builders import requirement, selector

WEB = {"app": "web", "tier": "front"}


@pytest.mark.parametrize(
    ("chosen", "labels", "matches"),
    [
        pytest.param(None, WEB, False, id="a missing selector matches nothing"),
        pytest.param(selector(), WEB, True, id="an empty selector matches everything"),
        pytest.param(selector(), {}, True, id="an empty selector matches a pod without labels"),
        pytest.param(selector(app="web"), WEB, True, id="an equal label"),
        pytest.param(selector(app="api"), WEB, False, id="another value"),
        pytest.param(selector(app="web", env="prod"), WEB, False, id="all labels must be equal"),
        pytest.param(selector(app=""), {}, False, id="an absent label is not the empty value"),
        pytest.param(selector(requirement("app", "In", "api", "web")), WEB, True, id="In: listed"),
        pytest.param(selector(requirement("app", "In", "api")), WEB, False, id="In: not listed"),
        pytest.param(selector(requirement("env", "In", "")), WEB, False, id="In: absent is not the empty value"),
        pytest.param(selector(requirement("app", "NotIn", "api")), WEB, True, id="NotIn: not listed"),
        pytest.param(selector(requirement("app", "NotIn", "web")), WEB, False, id="NotIn: listed"),
        pytest.param(selector(requirement("env", "NotIn", "prod")), WEB, True, id="NotIn: absent"),
        pytest.param(selector(requirement("app", "Exists")), WEB, True, id="Exists: present"),
        pytest.param(selector(requirement("env", "Exists")), WEB, False, id="Exists: absent"),
        pytest.param(selector(requirement("env", "DoesNotExist")), WEB, True, id="DoesNotExist: absent"),
        pytest.param(selector(requirement("app", "DoesNotExist")), WEB, False, id="DoesNotExist: present"),
        pytest.param(selector(requirement("env", "Exists"), app="web"), WEB, False, id="labels and expressions both"),
    ],
)
def test_matches(chosen: LabelSelector | None, labels: dict[str, str], matches: bool) -> None:
    assert compile_selector(chosen).matches(labels) is matches


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        pytest.param(
            selector(requirement("a", "Gt", "1")), '"Gt" is not a valid label selector operator', id="Gt is for nodes"
        ),
        pytest.param(
            selector(requirement("a", "in", "1")), '"in" is not a valid label selector operator', id="wrong case"
        ),
        pytest.param(
            selector(requirement("a", "In")),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
            id="In without values",
        ),
        pytest.param(
            selector(requirement("a", "Exists", "x", "y")),
            'values: Invalid value: ["x","y"]: values set must be empty for exists and does not exist',
            id="Exists with values",
        ),
        pytest.param(selector(a="-"), r'values[0][a]: Invalid value: "-": a valid label', id="an invalid value"),
        pytest.param(
            selector(requirement("a b", "Exists")), 'key: Invalid value: "a b": name part', id="an invalid key"
        ),
    ],
)
def test_refuses_what_is_not_valid(chosen: LabelSelector, message: str) -> None:
    with pytest.raises(SelectorError) as refusal:
        compile_selector(chosen)
    assert str(refusal.value).startswith(message)


def test_an_unknown_operator_is_refused_on_its_own() -> None:
    with pytest.raises(SelectorError, match='"Foo" is not a valid selector operator'):
        compile_requirement(requirement("a", "Foo"))


def test_several_problems_stand_in_brackets_and_each_once() -> None:
    assert str(SelectorError(["one"])) == "one"
    assert str(SelectorError(["one", "two", "one"])) == "[one, two]"


def test_only_a_selector_without_requirements_is_empty() -> None:
    assert EVERYTHING.empty
    assert not NOTHING.empty
    assert not selector_of_map({"a": "b"}).empty
    assert selector_of_map({}).empty


@pytest.mark.parametrize(
    ("text", "number"),
    [
        pytest.param("12", 12, id="digits"),
        pytest.param("+12", 12, id="a plus sign"),
        pytest.param("-12", -12, id="a minus sign"),
        pytest.param("007", 7, id="leading zeros"),
        pytest.param("0" * 5000 + "1", 1, id="very many leading zeros"),
        pytest.param("9223372036854775807", 2**63 - 1, id="the largest"),
        pytest.param("9223372036854775808", None, id="one more than the largest"),
        pytest.param("-9223372036854775808", -(2**63), id="the smallest"),
        pytest.param("-9223372036854775809", None, id="one less than the smallest"),
        pytest.param("1" * 5000, None, id="far too many digits"),
        pytest.param("", None, id="nothing"),
        pytest.param("+", None, id="a sign alone"),
        pytest.param(" 1", None, id="a blank, which Python would take"),
        pytest.param("1_0", None, id="an underscore, which Python would take"),
        pytest.param("١", None, id="a digit that is not ASCII, which Python would take"),
        pytest.param("1\n", None, id="a newline, which Python would take"),
        pytest.param("0x1", None, id="another base"),
        pytest.param("1.0", None, id="a fraction"),
    ],
)
def test_parse_int64_is_gos(text: str, number: int | None) -> None:
    assert parse_int64(text) == number


@given(st.integers(min_value=-(2**64), max_value=2**64))
def test_parse_int64_reads_back_what_fits(number: int) -> None:
    assert parse_int64(str(number)) == (number if -(2**63) <= number < 2**63 else None)


labels = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"))
expressions = st.one_of(
    st.builds(
        lambda key, operator, values: requirement(key, operator, *values),
        st.sampled_from("abc"),
        st.sampled_from(["In", "NotIn"]),
        st.sets(st.sampled_from("xyz"), min_size=1),
    ),
    st.builds(requirement, st.sampled_from("abc"), st.sampled_from(["Exists", "DoesNotExist"])),
)
selectors = st.builds(
    lambda equal, more: compile_selector(selector(*more, **equal)), labels, st.lists(expressions, max_size=2)
) | st.just(NOTHING)


@given(selectors, labels)
def test_the_answer_depends_on_no_other_keys(chosen: Selector, pod: dict[str, str]) -> None:
    read = {key: value for key, value in pod.items() if key in chosen.keys}
    assert chosen.matches(pod) == chosen.matches(read)


@given(selectors, selectors, labels)
def test_both_selectors_together_are_a_conjunction(one: Selector, two: Selector, pod: dict[str, str]) -> None:
    both = one.and_selector(two)
    assert both.matches(pod) == (one.matches(pod) and two.matches(pod))
    assert both.keys == one.keys | two.keys
    assert both.empty == (one.empty and two.empty)


@given(selectors, labels, labels)
def test_more_pairs_narrow_a_selector(chosen: Selector, pairs: dict[str, str], pod: dict[str, str]) -> None:
    narrowed = chosen.and_equals(tuple(pairs.items()))
    assert narrowed.matches(pod) == (chosen.matches(pod) and pairs.items() <= pod.items())
    assert narrowed.keys == chosen.keys | pairs.keys()


@given(st.sampled_from("abc"), st.sets(st.sampled_from("xyz"), min_size=1), labels)
def test_not_in_is_the_complement_of_in(key: str, values: set[str], pod: dict[str, str]) -> None:
    listed = compile_requirement(requirement(key, "In", *values))
    unlisted = compile_requirement(requirement(key, "NotIn", *values))
    assert listed(pod) != unlisted(pod)


# --- Label selectors as text --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("", {}, None),
        ("zone", {"zone": "a"}, {}),
        ("!zone", {}, {"zone": "a"}),
        ("zone=a", {"zone": "a"}, {"zone": "b"}),
        ("zone == a,disk", {"zone": "a", "disk": ""}, {"zone": "a"}),
        ("zone!=a", {}, {"zone": "a"}),
        ("zone in (a, b)", {"zone": "b"}, {"zone": "c"}),
        ("zone notin (a,b)", {"zone": "c"}, {"zone": "a"}),
        ("in in (in,notin)", {"in": "notin"}, {"in": "x"}),
        ("zone in (,a)", {"zone": ""}, {"zone": "b"}),
        ("zone in ()", {"zone": ""}, {"zone": "a"}),
        ("zone=", {"zone": ""}, {"zone": "a"}),
        ("cores>8", {"cores": "9"}, {"cores": "8"}),
        ("cores<8", {"cores": "7"}, {"cores": "x"}),
    ],
)
def test_selectors(text: str, yes: dict[str, str], no: dict[str, str] | None) -> None:
    selector = parse_selector(text)
    assert selector.matches(yes)
    assert no is None or not selector.matches(no)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a>x", "the value must be an integer"),
        ("a/b/c", 'unable to parse requirement: <nil>: Invalid value: "a/b/c"'),
    ],
)
def test_what_is_not_a_selector(text: str, message: str) -> None:
    with pytest.raises(SelectorError, match=r".*") as wrong:
        parse_selector(text)
    assert message in str(wrong.value)
