"""When a device was tainted, as the API server writes it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kwhatif.admission.new_objects import with_times
from kwhatif.kube.model.resource import DeviceTaint, DeviceTaintRule, ResourceSlice
from tests.builders import pod
from tests.devices import device, slice_, taint_rule

EARLIER, NOW, OTHER = "2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z", "2026-01-01T00:05:00Z"


def rule(effect: str, since: str | None) -> DeviceTaintRule:
    return taint_rule("r", {}, effect=effect, since=since)


#: The rule, what it was before, and since when it taints.
CASES: dict[str, tuple[DeviceTaintRule, DeviceTaintRule | None, str]] = {
    "new": (rule("NoExecute", None), None, NOW),
    "new, with a time": (rule("NoExecute", EARLIER), None, EARLIER),
    "another effect": (rule("NoExecute", EARLIER), rule("NoSchedule", EARLIER), NOW),
    "another effect, and no time": (rule("NoExecute", None), rule("NoSchedule", EARLIER), NOW),
    "another effect, and another time": (rule("NoExecute", OTHER), rule("NoSchedule", EARLIER), OTHER),
    "the same effect": (rule("NoExecute", EARLIER), rule("NoExecute", EARLIER), EARLIER),
    "the same effect, and no time": (rule("NoExecute", None), rule("NoExecute", EARLIER), EARLIER),
    "another time": (rule("NoExecute", OTHER), rule("NoExecute", EARLIER), OTHER),
}


@pytest.mark.parametrize(("new", "old", "since"), CASES.values(), ids=CASES.keys())
def test_since_when_a_rule_taints(new: DeviceTaintRule, old: DeviceTaintRule | None, since: str) -> None:
    found = with_times(new, old, NOW)
    assert isinstance(found, DeviceTaintRule)
    assert found.spec.taint.time_added == since


def test_taints_of_a_slice() -> None:
    taints = (DeviceTaint(key="a", time_added=EARLIER), DeviceTaint(key="b"))
    found = with_times(slice_("n1", replace(device("x"), taints=taints), device("y")), None, NOW)
    assert isinstance(found, ResourceSlice)
    assert [[taint.time_added for taint in each.taints] for each in found.spec.devices] == [[EARLIER, NOW], []]


def test_what_says_everything_stays_as_it_is() -> None:
    for obj in (pod().build(), rule("None", EARLIER), slice_("n1", device("x"))):
        assert with_times(obj, None, NOW) is obj
