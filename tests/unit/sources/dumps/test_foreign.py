"""What other tools dump is the same cluster, as far as it goes; what it does not hold is said."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.kube.model.bystanders import HorizontalPodAutoscaler
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.workload import Deployment
from kwhatif.questions.session.inventory import Inventory
from kwhatif.questions.session.session import Session
from kwhatif.sources.decoding.kinds import BY_KIND
from tests import dumps
from tests.dumps import Files
from tests.objects import manifest

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
    "Insights": Tool(
        dumps.insights,
        "DaemonSet Deployment LimitRange Namespace PriorityClass ReplicaSet ResourceQuota Service StatefulSet",
    ),
    "kubectl-gather": Tool(dumps.gathered),
    "Velero": Tool(dumps.velero),
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


TREES = [(name, suffix) for name in TOOLS if "kwok" not in name for suffix in ("folder", "tar.gz")]


@pytest.mark.parametrize(("name", "suffix"), [*TREES, *(("must-gather", suffix) for suffix in dumps.PACKERS)])
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

    def test_a_pod_that_was_asked_for_by_name_does_not_hide_others(self, tmp_path: Path) -> None:
        files = without(dumps.must_gather(), "shop/core/pods.yaml")
        first = next(name for name in files if "/shop/pods/" in name and name.endswith(".yaml"))
        files[first.replace("/pods/", "/core/pods/", 1).rpartition("/")[0] + ".yaml"] = files[first]
        found = described(dumps.as_folder(tmp_path, files))
        assert (found.kinds["Pod"], found.finished_pods) == (49, len(dumps.grouped()["Pod", "shop"]))

    def test_without_pods_it_is_one_too(self, tmp_path: Path) -> None:
        files = {name: text for name, text in dumps.must_gather().items() if "cluster-scoped" in name}
        found = described(dumps.as_folder(tmp_path, files))
        assert "Pod" in found.unread
        assert "a must-gather that was asked for some namespaces only: pods of others count nowhere" in found.caveats

    def test_autoscalers_and_custom_workloads_are_read(self, tmp_path: Path) -> None:
        top = "must-gather.local.1/quay-io-origin-must-gather-sha256-1a2b/namespaces/shop"
        scaler = manifest(
            "HorizontalPodAutoscaler",
            {"name": "web", "namespace": "shop"},
            spec={"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 3},
        )
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        custom = manifest(
            "CloneSet",
            {"name": "clone", "namespace": "shop"},
            version="apps.kruise.io/v1alpha1",
            spec={"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template},
        )
        files = dumps.must_gather() | {
            f"{top}/autoscaling/horizontalpodautoscalers.yaml": dumps.to_yaml(scaler),
            f"{top}/apps.kruise.io/clonesets/api.yaml": dumps.to_yaml(custom),
        }
        cluster = kwhatif.load(dumps.as_folder(tmp_path, files)).cluster
        assert cluster.all(HorizontalPodAutoscaler)
        assert cluster.all(Deployment)["shop/clone"].metadata.stands_for


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


def without(files: Files, pattern: str) -> Files:
    return {name: text for name, text in files.items() if not re.search(pattern, name)}


class TestInsights:
    def test_only_some_pods_are_known(self, tmp_path: Path) -> None:
        found = described(dumps.packed(tmp_path, "tar.gz", dumps.insights()))
        assert (
            "an Insights archive holds only some pods, poddisruptionbudgets and persistentvolumes, those of OpenShift"
            " itself and pods that fail: the others count nowhere" in found.caveats
        )
        assert not [caveat for caveat in found.caveats if "more than once" in caveat]

    def test_names_may_be_obfuscated(self, tmp_path: Path) -> None:
        files = {
            name.replace("general-a1", "general-a1.<CLUSTER_BASE_DOMAIN>"): text.replace(
                b'"general-a1"', b'"general-a1.<CLUSTER_BASE_DOMAIN>"'
            )
            for name, text in dumps.insights().items()
        }
        session = kwhatif.load(dumps.packed(tmp_path, "zip", files))
        (node,) = (node for node in session.state.nodes if "<" in node.name)
        assert node.pods

    def test_what_an_object_says_itself_counts(self, tmp_path: Path) -> None:
        node = next(obj for obj in dumps.demo() if obj["kind"] == "Node")
        files = dumps.insights() | {
            "config/node/odd.json": dumps.to_json({"items": [dumps.bare(node) | {"metadata": {"name": "odd-1"}}]}),
            "config/node/said.json": dumps.to_json(node | {"metadata": {"name": "odd-2"}}),
            "config/node/half.json": dumps.to_json(dumps.bare(node) | {"kind": "Node", "metadata": {"name": "odd-3"}}),
        }
        assert {"odd-1", "odd-2", "odd-3"} <= {
            node.name for node in kwhatif.load(dumps.packed(tmp_path, "folder", files)).state.nodes
        }

    def test_a_broken_file_is_named(self, tmp_path: Path) -> None:
        files = dumps.insights() | {"config/node/x.json": b"{", "config/pod/shop/y.json": b'{"spec": {"nodeName": 7}}'}
        with pytest.raises(kwhatif.InputError) as failure:
            kwhatif.load(dumps.packed(tmp_path, "folder", files))
        said = str(failure.value)
        assert "dump: config/node/x.json: is not valid JSON" in said
        assert "dump: config/pod/shop/y.json, document 1" in said
        assert "spec.nodeName: expected a string, got an integer" in said

    def test_an_empty_file_is_named(self, tmp_path: Path) -> None:
        files = dumps.insights() | {"config/node/general-a1.json": b"\n"}
        with pytest.raises(kwhatif.InputError, match=r"config/node/general-a1.json: is empty .the tool was stopped"):
            kwhatif.load(dumps.packed(tmp_path, "tar", files))

    def test_a_folder_with_manifests_is_not_one(self, tmp_path: Path) -> None:
        node = dumps.to_json(next(obj for obj in dumps.demo() if obj["kind"] == "Node"))
        other = node.replace(b'"batch-a1"', b'"other"')
        session = kwhatif.load(dumps.as_folder(tmp_path, {"config/node/a.json": node, "more/b.yaml": other}))
        assert len(session.state.nodes) == 2


class TestKubectlGather:
    def test_of_a_whole_cluster_nothing_is_said(self, tmp_path: Path) -> None:
        found = described(dumps.packed(tmp_path, "tar.gz", dumps.gathered()))
        assert not found.unread
        assert not [caveat for caveat in found.caveats if "gather" in caveat]

    @pytest.mark.parametrize("lacks", ["/cluster/(?!namespaces)", "namespaces/(?!shop|cluster)[^/]*/.*"])
    def test_of_some_namespaces_it_is_a_caveat(self, tmp_path: Path, lacks: str) -> None:
        found = described(dumps.packed(tmp_path, "tar.gz", without(dumps.gathered(), lacks)))
        assert any(caveat.startswith("a kubectl-gather dump holds the namespaces that it") for caveat in found.caveats)
        assert "PriorityClass" in found.unread or found.kinds["Node"]

    def test_what_could_not_be_listed_is_a_caveat(self, tmp_path: Path) -> None:
        log = b'WARN\tgather\tCannot list "policy/poddisruptionbudgets": forbidden\nWARN\tCannot list "x/y": no\n\xff'
        files = without(dumps.gathered(), "poddisruptionbudgets") | {"gather.log": log.replace(b"\xff", b"")}
        found = described(dumps.packed(tmp_path, "folder", files))
        assert [caveat for caveat in found.caveats if "gather" in caveat] == [
            "a kubectl-gather dump in which poddisruptionbudgets are missing: gather.log says why"
        ]
        assert described(dumps.packed(tmp_path, "tar", files | {"gather.log": log})).kinds["Node"] == 12

    @pytest.mark.parametrize("suffix", ["folder", "zip"])
    def test_several_clusters_are_refused(self, tmp_path: Path, suffix: str) -> None:
        path = dumps.packed(tmp_path, suffix, dumps.gathered() | dumps.gathered("dr1"))
        with pytest.raises(kwhatif.InputError) as failure:
            kwhatif.load(path)
        said = f"{path}: holds a kubectl-gather dump in each of dr1, hub (name one of these folders, unpacked)"
        assert str(failure.value) == said
        if suffix == "folder":
            assert described(path / "hub").kinds["Node"] == 12

    def test_what_looks_like_a_dump_within_it_is_a_file_of_it(self, tmp_path: Path) -> None:
        files = dumps.gathered() | {"hub/addons/x/cluster/nodes/n.yaml": b"{ never read"}
        assert described(dumps.packed(tmp_path, "tar", files)).kinds["Node"] == 12


class TestVelero:
    def test_each_object_counts_once_in_the_version_that_is_preferred(self, tmp_path: Path) -> None:
        files = dumps.velero()
        for pattern in ("never", r"resources/[^/]+/(cluster|namespaces)/"):
            found = described(dumps.packed(tmp_path, "tar.gz", without(files, pattern)))
            assert (found.kinds["Node"], found.kinds["Pod"]) == (12, 49)
            assert not [caveat for caveat in found.caveats if "more than once" in caveat or "version" in caveat]

    def test_nodes_may_come_from_elsewhere(self, tmp_path: Path) -> None:
        backup = dumps.packed(tmp_path, "tar.gz", without(dumps.velero(), "resources/nodes/"))
        assert "Node" in described(backup).unread
        nodes = tmp_path / "nodes.yaml"
        nodes.write_bytes(dumps.to_yaml(dumps.listing("Node", [o for o in dumps.demo() if o["kind"] == "Node"])))
        both = kwhatif.load(backup, nodes)
        assert "Node" not in both.cluster.facts.unread
        assert decisions(both, PODS[:2]) == decisions(kwhatif.load(dumps.DEMO), PODS[:2])

    def test_a_tool_whose_dump_has_no_objects_does_not_hide_another_one(self, tmp_path: Path) -> None:
        files = dumps.must_gather() | {"resources/secrets/namespaces/shop/s.json": b"{never read"}
        assert described(dumps.packed(tmp_path, "tar", files)).kinds["Node"] == 12

    def test_two_backups_are_refused(self, tmp_path: Path) -> None:
        twice = {f"{name}/{path}": text for name in ("a", "b") for path, text in dumps.velero().items()}
        with pytest.raises(kwhatif.InputError, match=r"holds a Velero backup in each of a, b"):
            kwhatif.load(dumps.as_folder(tmp_path, twice))


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
