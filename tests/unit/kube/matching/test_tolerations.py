"""Tolerations and taints."""

from __future__ import annotations

import pytest

from kwhatif.kube.matching.nodes import UNSCHEDULABLE_TAINT, first_untolerated, tolerated, tolerates
from kwhatif.kube.model.node import Taint
from kwhatif.kube.model.pod_spec import Toleration

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
