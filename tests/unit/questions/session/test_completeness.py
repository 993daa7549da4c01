"""What a report says about what the dump lacks, how old it is, and what is there and not modelled."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import kwhatif
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.manifests import PodSecurityNotChecked, UnknownQuotaScope
from kwhatif.kube.model.caveat.reading import (
    Lacking,
    NoBudgets,
    NoLimits,
    NoNamespaces,
    NoPods,
    NoPriorityClasses,
    NoServices,
    StaleSnapshot,
)
from kwhatif.kube.model.caveat.scheduling import GangsNotModelled, HugeAmounts
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import LimitRange, PriorityClass, ResourceQuota, ResourceQuotaSpec
from kwhatif.kube.model.workload import Service
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Question
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.session.completeness import gaps, huge_amounts, lacking_for_story
from kwhatif.questions.session.session import Session
from kwhatif.render.caveats.input import absent
from kwhatif.report import Report
from kwhatif.report.inputs import SourceRow
from kwhatif.sources.decoding.kinds import BY_KIND
from tests.builders import PodBuilder, budget, cluster, namespace, node, pod, selector, snapshot
from tests.unit.questions.test_upgrade import NODES
from tests.unit.questions.test_upgrade import pod as written

RESTRICTED = "pod-security.kubernetes.io/enforce"


def dump(*objects: object) -> Cluster:
    """A cluster that was read from a plain dump."""
    made = cluster(*objects)  # type: ignore[arg-type]
    made.update_facts(is_whole=False)
    return made


def report_of(session: Session, candidate: Pod) -> Report:
    applied = Applied(candidate, SourceRow(file="pod.yaml", object=f"Pod {key_of(candidate)}"))
    return judge(session, Question(applied=(applied,), admission=False)).report(session, "schedule")


def admitted(of: Cluster, *there: Pod) -> list[Caveat]:
    """The caveats about limits and quotas, where a pod is asked about that is new, or one that is there."""
    candidates = there or (pod("new").image("x").requests(cpu="1").build(),)
    applied = [
        Applied(each, SourceRow(file="", object=f"Pod {key_of(each)}"), restarted=bool(there)) for each in candidates
    ]
    report = judge(Session.of(of), Question(applied=applied)).report(Session.of(of), "schedule")
    return [caveat for caveat in report.caveat_details if isinstance(caveat, NoLimits)]


def test_what_bounds_new_pods_matters_where_pods_are_made() -> None:
    quota = ResourceQuota(metadata=ObjectMeta(name="q", namespace="other"))
    limits = LimitRange(metadata=ObjectMeta(name="l", namespace="other"))
    (both,) = admitted(dump(node("n1")))
    assert both == NoLimits(kinds=("LimitRange", "ResourceQuota"))
    assert (both.level, both.missing) == ("pass", True)
    assert NoLimits(kinds=("LimitRange",), reason="no permission to list").level == "warn"
    assert admitted(dump(node("n1"), quota)) == [NoLimits(kinds=("LimitRange",))]
    assert admitted(dump(node("n1"), limits)) == [NoLimits(kinds=("ResourceQuota",))]
    assert admitted(dump(node("n1"), quota, limits)) == []
    assert admitted(cluster(node("n1"))) == []
    waits = pod("waits").requests(cpu="1").build()
    assert admitted(dump(node("n1"), waits), waits) == []


def asked(of: Cluster, cpu: str = "1", **spec: object) -> Report:
    candidate = pod("new").requests(cpu=cpu).spec(**spec).build()
    return report_of(Session.of(of), candidate)


def codes(report: Report) -> list[str]:
    return [caveat.code for caveat in report.caveat_details]


def test_of_nodes_alone_a_pod_that_fits_depends_on_pods_namespaces_and_services() -> None:
    assert asked(dump(node("n1"))).caveat_details == (
        NoPods(kinds=("Pod",)),
        NoNamespaces(kinds=("Namespace",)),
        NoServices(kinds=("Service",)),
    )


def test_a_cluster_that_was_read_whole_lacks_nothing() -> None:
    assert codes(asked(cluster(node("n1")))) == []


def test_where_somebody_is_evicted_budgets_matter() -> None:
    there = [node("n1").allocatable(cpu="1"), pod("old").requests(cpu="1").on("n1")]
    report = asked(dump(*there), priority=10)
    assert report.decisions[0].outcome == "Preempts"
    assert NoBudgets(kinds=("PodDisruptionBudget",)) in report.caveat_details
    assert NoPriorityClasses(kinds=("PriorityClass",)) not in report.caveat_details
    assert "no-budgets" not in codes(asked(dump(*there, budget("b", 1, selector(app="x"))), priority=10))


def test_where_a_pod_stays_pending_a_default_class_could_help() -> None:
    there = [node("n1").allocatable(cpu="1"), pod("old").requests(cpu="1").on("n1")]
    assert "no-priority-classes" in codes(asked(dump(*there)))
    high = PriorityClass(metadata=ObjectMeta(name="high"), value=1)
    assert "no-priority-classes" not in codes(asked(dump(*there, high)))


def test_the_classes_of_every_cluster_show_that_classes_were_read_only_if_they_were() -> None:
    read = PriorityClass(metadata=ObjectMeta(name="system-cluster-critical", uid="1"), value=2_000_000_000)
    assert "no-priority-classes" in codes(asked(dump(node("n1").allocatable(cpu="1")), cpu="2"))
    assert "no-priority-classes" not in codes(asked(dump(node("n1").allocatable(cpu="1"), read), cpu="2"))


def test_what_could_not_be_read_is_said_once_elsewhere() -> None:
    made = dump(node("n1"), Service(metadata=ObjectMeta(name="s", namespace="default")))
    made.update_facts(unread={"Namespace": "no permission to list"})
    assert codes(asked(made)) == ["no-pods"]


LABELS: dict[str, list[Caveat]] = {
    "restricted": [PodSecurityNotChecked(namespaces=(("default", "restricted"),), pods=("default/new",))],
    "privileged": [],
}


@pytest.mark.parametrize(("level", "expected"), LABELS.items(), ids=LABELS)
def test_a_standard_is_not_judged_where_the_api_server_fills_in_contexts(level: str, expected: list[Caveat]) -> None:
    openshift = node("n1").labels(**{"node.openshift.io/os_id": "rhcos"})
    space = namespace("default", **{RESTRICTED: level})
    assert list(asked(cluster(openshift, space)).caveat_details) == expected
    assert list(asked(cluster(node("n1"), space)).caveat_details) == []
    waits = pod("new").requests(cpu="1").build()
    assert list(report_of(Session.of(cluster(openshift, space, waits)), waits).caveat_details) == []


def test_a_quota_of_a_scope_that_is_not_known() -> None:
    spec = ResourceQuotaSpec(scopes=("BestEffort", "Odd"))
    quota = ResourceQuota(metadata=ObjectMeta(name="q", namespace="default"), spec=spec)
    elsewhere = replace(quota, metadata=ObjectMeta(name="q", namespace="other"))
    report = asked(cluster(node("n1"), quota, elsewhere))
    assert report.caveat_details == (UnknownQuotaScope(quota="default/q", scope="Odd"),)


@pytest.mark.parametrize(("age", "is_old"), [(3600, False), (3601, True), (None, False), (-5, False)])
def test_what_was_read_more_than_an_hour_ago_is_old(age: int | None, is_old: bool) -> None:
    moment = "2026-01-01T00:00:00Z"
    session = Session.of(cluster(node("n1")), age=age, taken_at=moment)
    report = report_of(session, pod("new").build())
    assert report.snapshot.taken_at == moment
    assert report.caveat_details == ((StaleSnapshot(taken_at=moment, age=age or 0),) if is_old else ())


@pytest.mark.parametrize(
    ("made", "evicts", "makes", "lacking"),
    [
        (dump(node("n1")), False, False, [NoPods]),
        (dump(node("n1")), True, False, [NoPods, NoBudgets]),
        (dump(node("n1"), pod("p").on("n1")), False, False, []),
        (dump(node("n1"), pod("p").on("n1")), True, False, [NoBudgets]),
        (dump(node("n1"), pod("p").on("n1"), budget("b", 1, selector(app="x"))), True, False, []),
        (dump(node("n1"), pod("p").on("n1")), False, True, [NoLimits]),
        (cluster(node("n1")), True, True, []),
    ],
)
def test_a_simulation_lacks_pods_and_where_it_evicts_budgets_and_where_it_makes_pods_limits(
    made: Cluster, evicts: bool, makes: bool, lacking: list[type[Caveat]]
) -> None:
    assert [type(caveat) for caveat in lacking_for_story(made, evicts=evicts, makes_pods=makes)] == lacking


def test_the_printed_command_silences_the_caveat_also_where_the_cluster_has_none(tmp_path: Path) -> None:
    """What it prints there: for each path an empty list that says its kind."""
    (tmp_path / "dump.json").write_text(
        '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}]}'
    )
    lacking = [each for each in gaps(kwhatif.load(tmp_path / "dump.json").cluster) if isinstance(each, Lacking)]
    assert {kind for each in lacking for kind in each.kinds} > {"Pod", "LimitRange", "ResourceQuota"}
    kinds = {BY_KIND[kind].path: kind for kind in BY_KIND}
    command = re.findall(r"/apis?/\S+[a-z]", absent(lacking)[1])
    lists = [
        {"apiVersion": BY_KIND[kinds[path]].api_version, "kind": f"{kinds[path]}List", "items": []} for path in command
    ]
    (tmp_path / "more.json").write_text("\n".join(map(json.dumps, lists)))
    found = gaps(kwhatif.load(tmp_path / "dump.json", tmp_path / "more.json").cluster)
    assert [each for each in found if isinstance(each, Lacking)] == []


# --- Caveats about what is there and is not modelled --------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "running", "huge"),
    [
        ("8Pi", [], True),
        ("8191Ti", [], False),
        ("1Gi", [pod("a").on("n1").memory("5Pi"), pod("b").on("n1").memory("3Pi")], True),
        ("1Gi", [pod("a").on("n1").memory("5Pi")], False),
        ("1Gi", [pod("a").on("n1").requests({"example.com/units": "9Pi"})], True),
    ],
)
def test_huge_amounts_are_said_of_what_a_node_has_and_what_its_pods_request(
    memory: str, running: list[PodBuilder], huge: bool
) -> None:
    made = snapshot(node("n1").allocatable(memory=memory), node("n2"), *running)
    assert list(huge_amounts(made.nodes)) == ([HugeAmounts(nodes=("n1",))] if huge else [])


# --- That pods of groups are judged one by one is said, wherever groups are on ------------------------


ON = "GenericWorkload=true"
GROUPED = {"schedulingGroup": {"podGroupName": "train"}}
IN_1_35 = {"workloadRef": {"name": "train", "podGroup": "workers"}}


def grouped(name: str, **spec: Any) -> dict[str, Any]:
    made = written(name)
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
    "nothing of the kind": ([written("a")], []),
    "a pod of a group": ([grouped("a"), written("b")], [(0, ("Pod shop/a",))]),
    "in 1.35": ([grouped("a", **IN_1_35)], [(0, ("Pod shop/a",))]),
    "groups": ([written("a"), group(), {**group(), "metadata": {"name": "b"}}], []),
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
    "where the gate is on": (ON, [grouped("a"), written("b")], []),
    "nothing of the kind": (ON, [written("b")], []),
    "a group": ("", [grouped("a"), group()], []),
    "a group of an alpha version": ("", [grouped("a"), group("v1alpha3")], [(1, ())]),
}


@pytest.mark.parametrize(("gates", "objects", "expected"), MANIFESTS.values(), ids=MANIFESTS.keys())
def test_what_manifests_show(
    gates: str, objects: list[dict[str, Any]], expected: list[tuple[int, tuple[str, ...]]]
) -> None:
    assert said(kwhatif.schedule(load(gates=gates), *objects)) == expected
