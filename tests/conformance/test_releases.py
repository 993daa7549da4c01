"""What kube-scheduler of other releases answers otherwise than the one of 1.36; kwhatif must say the same."""

import json
from itertools import pairwise

import pytest

import kwhatif
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.release import MINORS
from kwhatif.scheduler.release.changes import changes
from tests.conformance import releases
from tests.conformance.compare import differences
from tests.conformance.releases import CASES, differing, merged, patch_between, recorded, settled, stored


def test_every_release_but_the_judged_one_is_recorded() -> None:
    assert recorded() == ["1.33", "1.34", "1.35", "1.37"]


@pytest.mark.parametrize("release", recorded())
def test_every_recorded_answer_differs(release: str) -> None:
    found = differing(release)
    assert len(found) > 100
    assert [name for name, answer in found.items() if answer == stored(CASES / name)] == []


def test_a_patch_makes_the_one_of_the_other() -> None:
    old = {"best": ["a"], "scores": {"a": {"total": 3}, "b": {"total": 2}}, "message": ""}
    new = {"best": ["b"], "scores": {"a": {"total": 3}, "c": {"total": 4}}}
    patch = patch_between(old, new)
    assert patch == {"best": ["b"], "scores": {"b": None, "c": {"total": 4}}, "message": None}
    assert merged(old, patch) == new


def test_of_equally_good_nodes_the_text_names_the_first() -> None:
    rows = [{"node": "a", "victims": ["d/x", "d/y"]}, {"node": "b", "victims": ["d/z"]}]
    answer = {
        "event": "No. preemption: found a potential placement for pod on node b, preempting 1 victims",
        "preemption": {"candidates": rows, "chosen": ["a", "b"]},
    }
    text = "No. preemption: found a potential placement for pod on node a, preempting 2 victims"
    assert settled(answer)["event"] == text


def test_the_cases_of_a_release_are_there() -> None:
    names = {releases.name_of(case) for case in releases.all_cases()}
    assert all(set(differing(release)) <= names for release in recorded())


#: Cases of the releases that are modelled.
ANSWERED = [
    (release, name)
    for release in recorded()
    if int(release.removeprefix("1.")) in MINORS
    for name in sorted(differing(release))
]


@pytest.mark.parametrize(("release", "name"), ANSWERED)
def test_kwhatif_decides_what_that_release_decided(release: str, name: str) -> None:
    config = CASES / name / "config.yaml"
    cluster = kwhatif.load(
        CASES / name / "cluster.yaml",
        scheduler_config=config if config.exists() else None,
        kubernetes_version=release,
    )
    report = json.loads(kwhatif.schedule(cluster, CASES / name / "pod.yaml", admission=False).to_json())
    (decision,) = report["decisions"]
    assert list(differences(differing(release)[name], decision)) == []


PAIRS = list(pairwise(sorted(MINORS)))


@pytest.mark.parametrize(("low", "high"), PAIRS)
def test_where_two_releases_take_other_nodes_a_change_concerns_the_pod(low: int, high: int) -> None:
    """`upgrade` asks only one of the releases about pods that fit and that no change concerns."""

    def best(minor: int, name: str) -> object:
        release = f"1.{minor}"
        answer = differing(release).get(name) if release in recorded() else None
        return (answer or stored(CASES / name)).get("best")

    rules = [change for change in changes(low, high) if not change.of_resizes]
    names = [releases.name_of(case) for case in releases.all_cases()]
    for name in [name for name in names if best(low, name) and best(low, name) != best(high, name)]:
        cluster = kwhatif.load(CASES / name / "pod.yaml", kubernetes_version="1.36").cluster
        (pod,) = cluster.all(Pod).values()
        assert any(change.concerns(pod) for change in rules), name
