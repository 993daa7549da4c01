"""The algebra of requirements (upstream's `pkg/scheduling/requirement_test.go` and `requirements_test.go`)."""

import pytest

from kwhatif.autoscaler.karpenter.requirements import Requirement, Requirements, label_requirements, one_of, requirement
from kwhatif.kube.model.node import HOSTNAME, ZONE


def req(text: str) -> Requirement:
    """`Gt 3`, `In a b`, `Exists`, with `min=2` at the end."""
    operator, *values = text.split()
    least = int(values.pop().removeprefix("min=")) if values and values[-1].startswith("min=") else None
    return requirement("key", operator, values, least)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("In a b", "In b c", "key In [b]"),
        ("In a", "In b", "key DoesNotExist"),
        ("In a b", "NotIn a", "key In [b]"),
        ("In a", "NotIn a", "key DoesNotExist"),
        ("In a", "Exists", "key In [a]"),
        ("In a", "DoesNotExist", "key DoesNotExist"),
        ("NotIn a", "NotIn b", "key NotIn [a b]"),
        ("NotIn a", "Exists", "key NotIn [a]"),
        ("Exists", "Exists", "key Exists"),
        ("Exists", "DoesNotExist", "key DoesNotExist"),
        ("Gt 3", "Exists", "key Exists >=4"),
        ("Gt 3", "Lt 9", "key Exists >=4 <=8"),
        ("Gte 3", "Lte 9", "key Exists >=3 <=9"),
        ("Gt 3", "Gte 8", "key Exists >=8"),
        ("Gt 9", "Lt 3", "key DoesNotExist"),
        ("Gt 3", "In 2 3 4 x", "key In [4]"),
        ("Gt 3", "NotIn 2 5", "key NotIn [5] >=4"),
        ("Gt 9223372036854775807", "Exists", "key DoesNotExist"),
        ("In a b min=1", "In b min=2", "key In [b] minValues 2"),
        ("In a b c d e f g", "Exists", "key In [a b c d e and 2 others]"),
    ],
)
def test_two_requirements_together(one: str, other: str, both: str) -> None:
    assert str(req(one).intersection(req(other))) == both
    assert str(req(other).intersection(req(one))) == both
    possible = "DoesNotExist" not in both
    assert req(one).intersects(req(other)) is req(other).intersects(req(one)) is possible


@pytest.mark.parametrize(
    ("text", "value", "has"),
    [
        ("In a", "a", True),
        ("In a", "b", False),
        ("NotIn a", "a", False),
        ("NotIn a", "b", True),
        ("Exists", "a", True),
        ("DoesNotExist", "a", False),
        ("Gt 3", "4", True),
        ("Gt 3", "3", False),
        ("Lt 3", "2", True),
        ("Lt 3", "x", False),
        ("Gte 3", "3", True),
        ("Lte 3", "4", False),
    ],
)
def test_values_that_are_allowed(text: str, value: str, *, has: bool) -> None:
    assert req(text).has(value) is has


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("In b a", "key In [a b]"),
        ("In a min=3", "key In [a] minValues=3"),
        ("Exists", "key Exists []"),
        ("Gt 3", "key Gte [4]"),
        ("Lt 3", "key Lte [2]"),
    ],
)
def test_requirements_of_node_claims(text: str, shown: str) -> None:
    assert req(text).selector == shown


def test_old_labels_count_as_their_successors() -> None:
    assert set(label_requirements({"failure-domain.beta.kubernetes.io/zone": "a"})) == {ZONE}
    assert requirement("beta.kubernetes.io/arch", "In", ["arm64"]).key == "kubernetes.io/arch"


@pytest.mark.parametrize(
    ("known", "asked", "words"),
    [
        ("In a", "In a b", None),
        ("In a", "In b", "key key, key In [b] not in key In [a]"),
        ("NotIn a", "NotIn b", None),
        ("DoesNotExist", "DoesNotExist", None),
        ("DoesNotExist", "NotIn a", None),
        ("In a", "DoesNotExist", "key key, key DoesNotExist not in key In [a]"),
        (None, "In a", 'label "key" does not have known values'),
        (None, "Exists", 'label "key" does not have known values'),
        (None, "NotIn a", None),
        (None, "DoesNotExist", None),
    ],
)
def test_what_can_be_met_together(known: str | None, asked: str, words: str | None) -> None:
    have = Requirements.of(() if known is None else (req(known),))
    refusal = have.objection(Requirements.of((req(asked),)))
    assert (refusal and refusal.text) == words


def test_labels_that_are_known_may_be_undefined() -> None:
    asked = Requirements.of((one_of(ZONE, "a"),))
    assert Requirements().objection(asked, frozenset({ZONE})) is None
    refusal = Requirements().objection(Requirements.of((one_of("zone", "a"),)), frozenset({ZONE}))
    assert refusal is not None
    assert refusal.text == f'label "zone" does not have known values (typo of "{ZONE}"?)'


def test_messages_leave_the_host_name_out() -> None:
    assert str(Requirements.of((one_of(HOSTNAME, "x"), one_of("b", "1"), one_of("a", "2")))) == "a In [2], b In [1]"
