"""That pods of groups are judged one by one is said, wherever groups are on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.kube.model.caveat.scheduling import GangsNotModelled
from kwhatif.report import Report
from tests.unit.questions.test_upgrade import NODES, pod

ON = "GenericWorkload=true"
GROUPED = {"schedulingGroup": {"podGroupName": "train"}}
IN_1_35 = {"workloadRef": {"name": "train", "podGroup": "workers"}}


def grouped(name: str, **spec: Any) -> dict[str, Any]:
    made = pod(name)
    return {**made, "spec": {**made["spec"], **(spec or GROUPED)}}


def group(version: str = "v1beta1", kind: str = "PodGroup", name: str = "scheduling.k8s.io") -> dict[str, Any]:
    return {"apiVersion": f"{name}/{version}", "kind": kind, "metadata": {"name": "train", "namespace": "shop"}}


def said(report: Report) -> list[tuple[int, tuple[str, ...]]]:
    found = [each for each in report.caveat_details if isinstance(each, GangsNotModelled)]
    assert all("here each is judged by itself" in each.message for each in found)
    return [(each.groups, each.objects) for each in found]


def load(*objects: dict[str, Any], version: str = "1.37", gates: str = "") -> kwhatif.Session:
    return kwhatif.load([*NODES, *objects], kubernetes_version=version, feature_gates=gates or None)


#: What the dump holds -> what is said of it.
DUMPS: dict[str, tuple[list[dict[str, Any]], list[tuple[int, tuple[str, ...]]]]] = {
    "nothing of the kind": ([pod("a")], []),
    "a pod of a group": ([grouped("a"), pod("b")], [(0, ("Pod shop/a",))]),
    "in 1.35": ([grouped("a", **IN_1_35)], [(0, ("Pod shop/a",))]),
    "groups": ([pod("a"), group(), {**group(), "metadata": {"name": "b"}}], []),
    "both": ([grouped("a"), group("v1alpha2")], [(1, ("Pod shop/a",))]),
    "what groups are made of": ([group("v1alpha1", "Workload")], [(1, ())]),
    "groups of another scheduler": ([group("v1alpha1", name="scheduling.x-k8s.io")], []),
}


@pytest.mark.parametrize(("objects", "expected"), DUMPS.values(), ids=DUMPS.keys())
def test_what_a_dump_shows(objects: list[dict[str, Any]], expected: list[tuple[int, tuple[str, ...]]]) -> None:
    assert said(kwhatif.preempt(load(*objects))) == expected


def test_a_workload_of_the_dump_that_makes_such_pods() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {**GROUPED, "containers": [{"name": "c", "image": "i"}]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "shop"}}
    assert said(kwhatif.preempt(load({**job, "spec": {"template": template}}))) == [(0, ("Job shop/j",))]


def test_a_saved_snapshot_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "snapshot.json"
    kwhatif.save_snapshot(file, [*NODES, grouped("a"), group()])
    assert said(kwhatif.preempt(kwhatif.load(file, kubernetes_version="1.37"))) == []


#: Gates and manifests -> what is said of them.
MANIFESTS: dict[str, tuple[str, list[dict[str, Any]], list[tuple[int, tuple[str, ...]]]]] = {
    "the API server drops the field": ("", [grouped("a")], []),
    "where the gate is on": (ON, [grouped("a"), pod("b")], []),
    "nothing of the kind": (ON, [pod("b")], []),
    "a group": ("", [grouped("a"), group()], []),
    "a group of an alpha version": ("", [grouped("a"), group("v1alpha3")], [(1, ())]),
}


@pytest.mark.parametrize(("gates", "objects", "expected"), MANIFESTS.values(), ids=MANIFESTS.keys())
def test_what_manifests_show(
    gates: str, objects: list[dict[str, Any]], expected: list[tuple[int, tuple[str, ...]]]
) -> None:
    assert said(kwhatif.schedule(load(gates=gates), *objects)) == expected
