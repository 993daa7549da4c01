"""Label keys become requirements of the selectors, once."""

import pytest

from kwhatif.admission.label_keys import merge_label_keys
from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import PodAffinityTerm
from tests.builders import PodBuilder, affinity_term, pod, requirement, selector

REV = requirement("rev", "In", "7")
TENANT = requirement("tenant", "NotIn", "t")
WEB = selector(app="web")


def labelled() -> PodBuilder:
    return pod().labels(app="web", rev="7", tenant="t")


def keyed(label_selector: LabelSelector | None = WEB) -> PodAffinityTerm:
    return affinity_term("zone", label_selector, match_label_keys=("rev", "absent"), mismatch_label_keys=("tenant",))


def selectors(made: Pod) -> list[LabelSelector | None]:
    affinity = made.spec.affinity
    parts = [affinity.pod_affinity, affinity.pod_anti_affinity] if affinity else []
    terms = [
        term
        for part in parts
        if part is not None
        for term in (*part.required, *(weighted.pod_affinity_term for weighted in part.preferred))
    ]
    return [term.label_selector for term in terms] + [c.label_selector for c in made.spec.topology_spread_constraints]


BOTH = selector(REV, TENANT, app="web")

CASES = {
    "required affinity": (labelled().pod_affinity(keyed()), [BOTH]),
    "preferred affinity": (labelled().prefer_pods(1, keyed()), [BOTH]),
    "required anti-affinity": (labelled().pod_anti_affinity(keyed()), [BOTH]),
    "preferred anti-affinity": (labelled().prefer_not_pods(1, keyed()), [BOTH]),
    "every term": (labelled().pod_affinity(affinity_term("host", WEB), keyed()), [WEB, BOTH]),
    "spread": (labelled().spread("zone", WEB, match_label_keys=("rev", "absent")), [selector(REV, app="web")]),
    "behind the requirements that are there": (
        labelled().pod_affinity(keyed(selector(requirement("a", "Exists")))),
        [selector(requirement("a", "Exists"), REV, TENANT)],
    ),
    "an empty selector": (labelled().pod_affinity(keyed(LabelSelector())), [selector(REV, TENANT)]),
    "a missing selector still matches nothing": (labelled().pod_affinity(keyed(None)), [None]),
    "labels that the pod lacks": (pod().pod_affinity(keyed()), [WEB]),
}


@pytest.mark.parametrize(("builder", "expected"), CASES.values(), ids=CASES.keys())
def test_merge(builder: PodBuilder, expected: list[LabelSelector | None]) -> None:
    assert selectors(merge_label_keys(builder.build())) == expected


@pytest.mark.parametrize("builder", [case[0] for case in CASES.values()], ids=CASES.keys())
def test_merging_twice_is_merging_once(builder: PodBuilder) -> None:
    once = merge_label_keys(builder.build())
    assert merge_label_keys(once) is once


@pytest.mark.parametrize(
    "builder", [pod(), labelled().pod_affinity(affinity_term("zone", WEB)).spread("zone", WEB)], ids=["none", "no keys"]
)
def test_without_keys_it_stays_the_same_object(builder: PodBuilder) -> None:
    made = builder.build()
    assert merge_label_keys(made) is made
