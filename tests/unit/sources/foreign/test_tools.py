"""What other tools dump is the same cluster, as far as it goes; what it does not hold is said."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.kube.model.cluster import Cluster
from kwhatif.questions.session.inventory import Inventory
from kwhatif.questions.session.session import Session
from kwhatif.sources.decoding.kinds import BY_KIND
from tests import dumps
from tests.dumps import Files

PODS = sorted((dumps.DEMO.parent / "pods").glob("*.yaml"))
BUDGETS = (
    "budgets count as if there were none, so whether an eviction violates one is unknown, and with it whom the"
    " scheduler would rather spare"
)


TIME = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z"


class Tool:
    """A tool: how its dump looks, and kinds of the demo cluster that are not in it."""

    def __init__(self, files: Callable[[], Files], lacks: str = "") -> None:
        self.files = files
        self.lacks = set(lacks.split())


TOOLS = {
    "cluster-info in JSON": Tool(
        dumps.cluster_info, "LimitRange Namespace PodDisruptionBudget PriorityClass ResourceQuota StatefulSet"
    ),
    "cluster-info in YAML": Tool(
        lambda: dumps.cluster_info("yaml"),
        "LimitRange Namespace PodDisruptionBudget PriorityClass ResourceQuota StatefulSet",
    ),
    "must-gather": Tool(dumps.must_gather),
    "support bundle": Tool(dumps.support_bundle),
    "kwokctl": Tool(lambda: {"export.yaml": dumps.kwokctl()}, "PodDisruptionBudget ResourceQuota"),
    "kwokctl, packed": Tool(lambda: {"e.yaml.gz": gzip.compress(dumps.kwokctl())}, "PodDisruptionBudget ResourceQuota"),
}


def rest(lacks: set[str], folder: Path) -> Path:
    """The demo's dump without these kinds."""
    path = folder / "rest.json"
    path.write_bytes(
        dumps.to_json(
            {"apiVersion": "v1", "kind": "List", "items": [o for o in dumps.demo() if o["kind"] not in lacks]}
        )
    )
    return path


def contents(cluster: Cluster) -> dict[str, dict[str, object]]:
    return {kind.__name__: dict(sorted(cluster.all(kind).items())) for kind in cluster.counts()}


@pytest.mark.parametrize("suffix", ["folder", *dumps.PACKERS])
@pytest.mark.parametrize("name", [name for name in TOOLS if "kwok" not in name])
def test_a_tree_holds_the_cluster(name: str, suffix: str, tmp_path: Path) -> None:
    tool = TOOLS[name]
    dump = kwhatif.load(dumps.packed(tmp_path, suffix, tool.files()))
    assert contents(dump.cluster) == contents(kwhatif.load(rest(tool.lacks, tmp_path)).cluster)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_its_decisions_are_those_of_the_cluster(tool: Tool, tmp_path: Path) -> None:
    dump = kwhatif.load(dumps.packed(tmp_path, "zip", tool.files()))
    same = kwhatif.load(rest(tool.lacks, tmp_path))
    pods = [pod for pod in PODS if "PriorityClass" not in tool.lacks or "priorityClassName" not in pod.read_text()]
    assert pods
    assert decisions(dump, pods) == decisions(same, pods)


def decisions(session: Session, pods: list[Path]) -> list[dict[str, Any]]:
    """Decisions, with the order in which pods began instead of the times."""
    report = kwhatif.preempt(session, *pods).to_json()
    times = sorted(set(re.findall(TIME, report)))
    return json.loads(re.sub(TIME, lambda match: f"time {times.index(match[0])}", report))["decisions"]


def described(path: Path) -> Inventory:
    return kwhatif.describe(path)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_every_kind_that_it_cannot_hold_is_a_caveat(tool: Tool, tmp_path: Path) -> None:
    found = described(dumps.packed(tmp_path, "tar.gz", tool.files()))
    assert tool.lacks <= found.unread.keys()
    assert not found.unread.keys() & (found.kinds.keys() - {"PriorityClass"})  # every cluster has two of those
    for kind in found.unread:
        assert any(BY_KIND[kind].plural in caveat for caveat in found.caveats)


class TestClusterInfo:
    def test_without_budgets_violations_are_unknown(self, tmp_path: Path) -> None:
        found = described(dumps.as_folder(tmp_path, dumps.cluster_info()))
        assert f"a kubectl cluster-info dump has no poddisruptionbudgets in policy: {BUDGETS}" in found.caveats

    def test_the_namespaces_that_it_holds_are_counted(self, tmp_path: Path) -> None:
        files = {name: text for name, text in dumps.cluster_info().items() if name.startswith(("nodes", "shop/"))}
        found = described(dumps.as_folder(tmp_path, files))
        assert found.caveats[0] == (
            "a kubectl cluster-info dump holds the namespaces that it was asked for, here 1: pods of others count"
            " nowhere, unless it was taken with --all-namespaces"
        )

    def test_the_budgets_may_come_from_elsewhere(self, tmp_path: Path) -> None:
        budgets = tmp_path / "budgets.yaml"
        budgets.write_bytes(
            dumps.to_yaml(
                dumps.listing("PodDisruptionBudget", [o for o in dumps.demo() if o["kind"] == "PodDisruptionBudget"])
            )
        )
        folder = dumps.as_folder(tmp_path / "dump", dumps.cluster_info())
        found = kwhatif.describe(folder, budgets)
        assert found.kinds["PodDisruptionBudget"] == 5
        assert "PodDisruptionBudget" not in found.unread
        assert not [caveat for caveat in found.caveats if "poddisruptionbudgets" in caveat]
        assert found.sources == (str(budgets), str(folder))

    def test_the_same_object_from_elsewhere_with_other_contents_is_a_problem(self, tmp_path: Path) -> None:
        folder = dumps.as_folder(tmp_path / "dump", dumps.cluster_info())
        node = next(obj for obj in dumps.demo() if obj["kind"] == "Node")
        (tmp_path / "node.json").write_bytes(dumps.to_json(node | {"spec": {"unschedulable": True}}))
        with pytest.raises(kwhatif.InputError, match="is there twice, with different contents; the other: .*node.json"):
            kwhatif.load(folder, tmp_path / "node.json")

    def test_a_namespace_may_have_the_name_of_a_list(self, tmp_path: Path) -> None:
        files = dumps.cluster_info() | {
            "nodes/replication-controllers.json": dumps.to_json(dumps.listing("ReplicationController", [])),
            "nodes/pods.json": dumps.to_json(dumps.listing("Pod", [])),
            "elsewhere/deeper/pods.json": b"not of this dump",
        }
        assert described(dumps.as_folder(tmp_path, files)).kinds["Node"] == 12

    def test_of_one_that_was_printed_it_says_how_to_read_it(self, tmp_path: Path) -> None:
        logs = b"==== START logs for container web of pod shop/web ====\nhello\n"
        (tmp_path / "dump.json").write_bytes(dumps.to_json(dumps.listing("Node", [])) + b"\n" + logs)
        with pytest.raises(
            kwhatif.InputError, match=r"has logs between its lists .kubectl cluster-info dump writes files"
        ):
            kwhatif.load(tmp_path / "dump.json")


class TestMustGather:
    def test_of_two_files_of_a_pod_the_list_counts(self, tmp_path: Path) -> None:
        found = described(dumps.as_folder(tmp_path, dumps.must_gather()))
        assert found.finished_pods == 0
        assert not [caveat for caveat in found.caveats if "more than once" in caveat]

    def test_a_pod_may_have_a_file_only(self, tmp_path: Path) -> None:
        files = {name: text for name, text in dumps.must_gather().items() if not name.endswith("shop/core/pods.yaml")}
        found = described(dumps.as_folder(tmp_path, files))
        shop = len(dumps.grouped()["Pod", "shop"])
        assert (found.kinds["Pod"], found.finished_pods) == (49, shop)

    def test_what_two_images_have_gathered_counts_once(self, tmp_path: Path) -> None:
        files = dumps.must_gather()
        name = next(name for name in files if name.endswith("nodes/general-a1.yaml"))
        other = name.replace("quay-io-origin-must-gather", "other-image")
        changed = files[name].replace(b"metadata:\n", b"metadata:\n  resourceVersion: '7'\n", 1)
        found = described(dumps.packed(tmp_path, "zip", files | {other: changed}))
        assert found.kinds["Node"] == 12
        assert not [caveat for caveat in found.caveats if "more than once" in caveat]
        cordoned = dumps.to_yaml(
            next(o for o in dumps.demo() if o["metadata"]["name"] == "general-a1") | {"spec": {"unschedulable": True}}
        )
        found = described(dumps.packed(tmp_path, "tar", files | {other: cordoned}))
        assert found.kinds["Node"] == 12
        assert (
            "a must-gather that holds 1 objects more than once, with different contents, such as Node general-a1: the"
            " first of each counts" in found.caveats
        )


class TestSupportBundle:
    TOP = "support-bundle-2026-11-21T07_19_00/cluster-resources"

    def test_of_all_namespaces_nothing_is_said(self, tmp_path: Path) -> None:
        found = described(dumps.as_folder(tmp_path, dumps.support_bundle()))
        assert not [caveat for caveat in found.caveats if "asked for" in caveat]

    @pytest.mark.parametrize("single", [True, False], ids=["one namespace", "some namespaces"])
    def test_of_some_namespaces_it_is_a_caveat(self, tmp_path: Path, single: bool) -> None:
        names = [obj for obj in dumps.demo() if obj["kind"] == "Namespace"][:2]
        bare = [{"metadata": obj["metadata"]} for obj in names]
        files = dumps.support_bundle() | {f"{self.TOP}/namespaces.json": dumps.to_json(names[0] if single else bare)}
        found = described(dumps.as_folder(tmp_path, files))
        assert found.kinds["Namespace"] == (1 if single else 2)
        assert "a support bundle that was asked for some namespaces only: pods of others count nowhere" in found.caveats

    @pytest.mark.parametrize(
        ("name", "failures", "reported"),
        [
            ("pods-errors", {"ml": "forbidden"}, "pods of namespace ml are missing"),
            ("pods-errors", {"ml": "forbidden", "shop": "timeout"}, "pods of 2 namespaces, such as ml are missing"),
            ("pod-disruption-budgets-info", {"ml": "no"}, "poddisruptionbudgets of namespace ml are missing"),
            ("nodes-errors", ["nodes is forbidden"], "nodes are missing"),
            ("pvs-errors", [], None),
            ("pvs-errors", None, None),
            ("events-errors", ["forbidden"], None),
        ],
    )
    def test_what_could_not_be_collected_is_a_caveat(
        self, tmp_path: Path, name: str, failures: object, reported: str | None
    ) -> None:
        files = dumps.support_bundle() | {f"{self.TOP}/{name}.json": dumps.to_json(failures)}
        found = described(dumps.as_folder(tmp_path, files))
        missing = [caveat for caveat in found.caveats if "are missing" in caveat]
        said = f"a support bundle in which {reported}: cluster-resources/{name}.json says why"
        assert missing == ([] if reported is None else [said])

    def test_what_says_so_may_be_broken(self, tmp_path: Path) -> None:
        files = dumps.support_bundle() | {f"{self.TOP}/pods-errors.json": b"{", f"{self.TOP}/pvcs-errors.json": b""}
        assert described(dumps.as_folder(tmp_path, files)).kinds["Pod"] == 49

    def test_a_list_may_be_empty_or_null(self, tmp_path: Path) -> None:
        files = dumps.support_bundle() | {f"{self.TOP}/pvs.json": b"", f"{self.TOP}/storage-classes.json": b"null\n"}
        assert described(dumps.as_folder(tmp_path, files)).kinds["Pod"] == 49

    def test_replica_sets_may_be_in_the_wrong_place(self, tmp_path: Path) -> None:
        files = {
            name.replace("/replicasets/", "/statefulsets-errors.json/"): text
            for name, text in dumps.support_bundle().items()
        }
        assert described(dumps.packed(tmp_path, "tar.gz", files)).kinds["ReplicaSet"] == 7

    def test_a_list_that_is_none_is_a_problem(self, tmp_path: Path) -> None:
        files = dumps.support_bundle() | {f"{self.TOP}/pods/shop.json": b"[1, 2"}
        with pytest.raises(kwhatif.InputError, match=r"dump: .*cluster-resources/pods/shop.json: is not valid JSON"):
            kwhatif.load(dumps.packed(tmp_path, "folder", files))


class TestKwokctl:
    def test_it_tells_no_dates(self, tmp_path: Path) -> None:
        (tmp_path / "export.yaml").write_bytes(dumps.kwokctl())
        reported = described(tmp_path / "export.yaml").caveats
        assert reported[0].startswith("a kwokctl export has no dates: ages are wrong")
        times = {info.pod.status.start_time for info in sessions(tmp_path).state.pods.values()}
        assert all(time.startswith("1999-12-31T") and time.endswith("Z") for time in times if time)

    def test_what_was_recorded_afterwards_is_not_applied(self, tmp_path: Path) -> None:
        change = b"---\napiVersion: action.kwok.x-k8s.io/v1alpha1\nkind: ResourcePatch\nresource: {resource: pods}\n"
        (tmp_path / "export.yaml").write_bytes(dumps.kwokctl() + change * 2)
        assert (
            "a kwokctl export with 2 recorded changes: the cluster is as it was before the first one"
            in described(tmp_path / "export.yaml").caveats
        )

    def test_without_the_filter_of_some_kinds(self, tmp_path: Path) -> None:
        budgets = b"".join(b"---\n" + dumps.to_yaml(o) for o in dumps.demo() if o["kind"] == "PodDisruptionBudget")
        (tmp_path / "export.yaml").write_bytes(dumps.kwokctl() + budgets)
        assert "PodDisruptionBudget" not in described(tmp_path / "export.yaml").unread


def sessions(folder: Path) -> Session:
    return kwhatif.load(folder / "export.yaml")


class TestSimulator:
    @pytest.mark.parametrize("form", ["json", "yml", "json.gz"])
    def test_its_decisions_are_those_of_the_cluster(self, tmp_path: Path, form: str) -> None:
        export = dumps.simulator()
        text = dumps.to_yaml(export) if form == "yml" else dumps.to_json(export)
        path = tmp_path / f"export.{form}"
        path.write_bytes(gzip.compress(text) if form.endswith("gz") else text)
        lacks = {obj["kind"] for obj in dumps.demo()} - {"Node", "Pod", "Namespace", "PriorityClass"}
        reports = [
            json.loads(kwhatif.preempt(kwhatif.load(source), *PODS).to_json())
            for source in (path, rest(lacks, tmp_path))
        ]
        assert reports[0]["decisions"] == reports[1]["decisions"]
        assert (
            "the scheduler configuration in a kube-scheduler-simulator export is not applied: give it as"
            " --scheduler-config" in reports[0]["caveats"]
        )

    def test_without_a_scheduler_nothing_is_said_of_its_configuration(self, tmp_path: Path) -> None:
        path = tmp_path / "export.json"
        path.write_bytes(dumps.to_json(dumps.simulator() | {"schedulerConfig": None}))
        assert not [caveat for caveat in described(path).caveats if "configuration" in caveat]

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ('{"pods": {"a": 1}, "nodes": null}', "pods: is not a list"),
            ('{"pods": [', "is not valid JSON: the end is missing"),
            ('{"pods": [], "kind": "Pod"}', "apiVersion: is not set"),
            ("pods: [a", "is not valid YAML"),
            ('{"pods": [{"metadata": {"name": 1}}]}', "expected a string"),
        ],
    )
    def test_a_broken_one_is_a_problem(self, tmp_path: Path, text: str, problem: str) -> None:
        path = tmp_path / "export.json"
        path.write_text(text)
        with pytest.raises(kwhatif.InputError) as failure:
            kwhatif.load(path)
        assert problem in str(failure.value)
