"""Groups of pods of other schedulers, by what marks their pods."""

import json
from typing import Any

import pytest

import kwhatif
from tests.gangs.generate import Builder

Json = dict[str, Any]

_LWS = {"leaderworkerset.sigs.k8s.io/name": "serve", "leaderworkerset.sigs.k8s.io/group-index": "1"}


@pytest.mark.parametrize(
    ("labels", "annotations", "group", "least"),
    [
        ({}, {"scheduling.k8s.io/group-name": "train"}, "volcano-train", 3),
        ({"volcano.sh/job-name": "train"}, {}, "volcano-train", 3),
        ({}, {"pod-group-name": "train"}, "kai-train", 3),
        ({"scheduling.x-k8s.io/pod-group": "train"}, {}, "coscheduling-train", 3),
        (
            {
                "pod-group.scheduling.sigs.k8s.io/name": "train",
                "pod-group.scheduling.sigs.k8s.io/min-available": "2",
            },
            {},
            "coscheduling-train",
            2,
        ),
        (
            {"kueue.x-k8s.io/pod-group-name": "train"},
            {"kueue.x-k8s.io/pod-group-total-count": "4"},
            "kueue-train",
            4,
        ),
        (_LWS, {"leaderworkerset.sigs.k8s.io/size": "3"}, "leaderworkerset-serve-1", 3),
        ({"jobset.sigs.k8s.io/jobset-name": "train"}, {}, "jobset-train", 3),
        ({"ray.io/cluster": "ray"}, {}, "raycluster-ray", 3),
        ({"training.kubeflow.org/job-name": "train"}, {}, "pytorchjob-train", 3),
    ],
)
def test_marked_pods_are_a_gang_where_that_is_asked(labels: Json, annotations: Json, group: str, least: int) -> None:
    it = _pods(labels, annotations)
    report = json.loads(kwhatif.schedule(_session(it, treat=True), kwhatif.text(_list(it.manifest))).to_json())
    (row,) = report["podGroups"]["groups"]
    assert (row["group"], row["minCount"], row["pods"]) == (f"default/{group}", least, 3)
    assert row["outcome"] == ("scheduled" if least <= 3 else "waiting")
    assert [each["treated"] for each in report["caveatDetails"] if each["code"] == "foreign-group"] == [True]


@pytest.mark.parametrize(
    ("labels", "systems"),
    [({"scheduling.x-k8s.io/pod-group": "train"}, ["coscheduling"]), ({"ray.io/cluster": "ray"}, []), ({}, [])],
)
def test_only_those_that_are_placed_together_are_a_caveat(labels: Json, systems: list[str]) -> None:
    it = _pods(labels, {})
    report = json.loads(kwhatif.schedule(_session(it, treat=False), kwhatif.text(_list(it.manifest))).to_json())
    assert [each["system"] for each in report["caveatDetails"] if each["code"] == "foreign-group"] == systems


@pytest.mark.parametrize(
    ("version", "marks"),
    [
        ("scheduling.volcano.sh/v1beta1", {"annotations": {"scheduling.k8s.io/group-name": "train"}}),
        ("scheduling.x-k8s.io/v1alpha1", {"labels": {"scheduling.x-k8s.io/pod-group": "train"}}),
    ],
)
@pytest.mark.parametrize("where", ["cluster", "list", "manifest"])
def test_their_own_objects_say_how_many_pods_they_need(version: str, marks: Json, where: str) -> None:
    it = _pods(marks.get("labels", {}), marks.get("annotations", {}))
    meta = {"name": "train", "namespace": "default"}
    group = {"apiVersion": version, "kind": "PodGroup", "metadata": meta, "spec": {"minMember": 2, "queue": "a"}}
    if where == "manifest":
        it.manifest.insert(0, group)
        text = _list(it.cluster)
    elif where == "cluster":
        text = _list([*it.cluster, group])
    else:
        listed = {"apiVersion": version, "kind": "PodGroupList", "items": [group]}
        text = f"{_list(it.cluster)}\n---\n{json.dumps(listed)}"
    session = kwhatif.load(kwhatif.text(text), treat_as_gang=True)
    report = json.loads(kwhatif.schedule(session, kwhatif.text(_list(it.manifest))).to_json())
    (row,) = report["podGroups"]["groups"]
    assert (row["minCount"], row["pods"], row["outcome"]) == (2, 3, "scheduled")


def test_gangs_need_the_release_that_has_them() -> None:
    with pytest.raises(kwhatif.InputError, match="gangs are judged by the rule of 1.37"):
        kwhatif.load(kwhatif.text(_list([])), kubernetes_version="1.36", treat_as_gang=True)


def _pods(labels: Json, annotations: Json) -> Builder:
    it = Builder("foreign")
    it.node("n0", 8000, {})
    for number in range(3):
        meta = it.pod(f"p{number}", "500m", schedulerName="other")["metadata"]
        meta["labels"], meta["annotations"] = labels, annotations
        if not annotations.get("pod-group-name"):
            it.manifest[-1]["spec"]["schedulerName"] = "default-scheduler"
    return it


def _session(it: Builder, *, treat: bool) -> kwhatif.Session:
    return kwhatif.load(kwhatif.text(_list(it.cluster)), treat_as_gang=treat)


def _list(objects: list[Json]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
