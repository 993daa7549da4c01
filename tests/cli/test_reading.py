"""Manifests and names as people give them: what is printed, and the exit code."""

import json
from pathlib import Path

import pytest

from tests.cli.running import run

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: x, resources: {requests: {cpu: "3"}}}]}
"""
CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: default}
---
apiVersion: v1
kind: Namespace
metadata: {name: ml}
"""
PENDING = """
---
apiVersion: v1
kind: Pod
metadata: {name: first, namespace: ml, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {containers: [{name: main, image: x, resources: {requests: {cpu: "4"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: second, namespace: default, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {containers: [{name: main, image: x, resources: {requests: {cpu: "4"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: third, namespace: default, creationTimestamp: "2026-01-03T00:00:00Z"}
spec: {containers: [{name: main, image: x, resources: {requests: {cpu: "4"}}}]}
"""
SAVED = "---\napiVersion: kwhatif.dev/v1\nkind: SavedSnapshot\nmetadata: {name: a}\ntakenAt: '2026-01-01T00:00:00Z'\n"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "pending.yaml").write_text(CLUSTER + PENDING)
    (tmp_path / "web.yaml").write_text(DEPLOYMENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


def test_a_workload_has_one_verdict_and_the_first_pod_of_each_outcome_its_tables() -> None:
    ran = run("kwhatif schedule web.yaml --from cluster.yaml")
    assert ran.code == 1
    lines = ran.stdout.splitlines()
    assert lines[0].startswith(
        "✘ Deployment default/web: 2 of 3 pods fit, 1 stays pending: 2 nodes fail by one thing only"
    )
    # A cluster file without PriorityClasses: pods that fit do so with a doubt.
    assert [line[:1] for line in lines if line[1:].startswith(" default/web-")] == ["!", "✘"]
    wide = run("kwhatif schedule web.yaml --from cluster.yaml -o wide").stdout.splitlines()
    assert len([line for line in wide if line[1:].startswith(" default/web-")]) == 3


def test_quiet_is_one_line_a_workload() -> None:
    ran = run("kwhatif schedule web.yaml --from pending.yaml -q")
    assert ran.stdout.startswith(
        "✘ Deployment default/web: all 3 pods stay pending after ml/first and default/second, which were pending: 2"
        " nodes fail by\none thing only"
    )
    assert ran.stdout.count("✘") == 1


def test_quiet_says_once_what_all_verdicts_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    dump = Path("stale.yaml")
    dump.write_text(Path("pending.yaml").read_text() + SAVED)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1798761600")
    *lines, last = run(f"kwhatif preempt --from {dump} -q").stdout.splitlines()
    assert [line[:1] for line in lines] == ["!", "!", "✘"]
    assert not any("the cluster is as of" in line for line in lines)
    assert last == "3 pods, in sequence: 1 stays pending, 2 fit; but the cluster is as of 1y ago"
    one = " ".join(run(f"kwhatif schedule pod/ml/first --from {dump} -q").stdout.splitlines())
    assert one.endswith("; but the cluster is as of 1y ago")


NOTHING = "nothing was judged: the manifests hold no pod, and nothing that makes pods"


@pytest.mark.parametrize("command", ["schedule", "preempt", "gate"])
def test_where_there_is_nothing_to_judge_no_command_is_content(command: str, tmp_path: Path) -> None:
    manifest = tmp_path / "service.yaml"
    manifest.write_text("apiVersion: v1\nkind: Service\nmetadata: {name: s}\n")
    asked = f"kwhatif {command} {manifest} --from cluster.yaml"
    ran = run(asked)
    assert (ran.code, ran.stdout[:1]) == (0, "!")
    assert "nothing was judged" in ran.stdout.splitlines()[0]
    assert NOTHING in run(f"{asked} -o markdown").stdout
    assert "|---|" not in run(f"{asked} -o markdown").stdout
    assert run(f"{asked} --strict").code == 1
    assert (
        next(each["code"] for each in json.loads(run(f"{asked} -o json").stdout)["caveatDetails"]) == "nothing-judged"
    )


def test_pods_that_were_pending_already_are_mentioned() -> None:
    ran = run("kwhatif schedule web.yaml --from pending.yaml")
    assert "2 pods that were pending already are placed first" in ran.stdout
    report = json.loads(run("kwhatif schedule web.yaml --from pending.yaml -o json").stdout)
    assert [(row["pod"], row["node"]) for row in report["queuedBefore"]] == [
        ("ml/first", "n1"),
        ("default/second", "n2"),
        ("default/third", None),
    ]


def test_alone_and_without_admission_one_of_equal_pods_is_judged() -> None:
    for option in ("--alone", "--no-admission"):
        report = json.loads(run(f"kwhatif schedule web.yaml --from pending.yaml -o json {option}").stdout)
        assert [decision["outcome"] for decision in report["decisions"]] == ["Placed"]
        assert report["alone"] is True


def test_a_namespace_filters_what_is_pending() -> None:
    assert run("kwhatif preempt --from pending.yaml -q").stdout.count("\n") == 5
    ran = run("kwhatif preempt -n ml --from pending.yaml -q")
    assert (ran.code, ran.stdout.count("\n"), "ml/first" in ran.stdout) == (0, 1, True)


def test_a_namespace_that_is_not_there_is_bad_input() -> None:
    ran = run("kwhatif preempt -n mll --from pending.yaml")
    assert (ran.code, ran.stderr) == (3, "error: namespace mll: not found (did you mean ml?)\n")


def test_objects_of_the_cluster_by_name() -> None:
    for names in ("pod/default/third", "po/third", "pod/third -n default"):
        ran = run(f"kwhatif schedule {names} --from pending.yaml -q")
        assert ran.code == 1
        assert ran.stdout.startswith("✘ default/third stays pending")
    ran = run("kwhatif schedule pod/default/thrid --from pending.yaml")
    assert (ran.code, ran.stdout) == (3, "")
    assert "did you mean pod/default/third?" in ran.stderr


def test_what_the_api_server_refuses_is_refused_by_every_command() -> None:
    Path("bad.yaml").write_text(DEPLOYMENT.replace("namespace: default", "namespace: defualt"))
    for command in ("schedule", "preempt", "gate"):
        ran = run(f"kwhatif {command} bad.yaml --from cluster.yaml")
        assert ran.code == 1
        assert 'namespaces "defualt" not found' in ran.stdout


def test_a_dump_that_is_taken_for_manifests_changes_nothing() -> None:
    Path("dump.yaml").write_text(CLUSTER + "---" + DEPLOYMENT)
    ran = run("kwhatif gate dump.yaml --from dump.yaml")
    assert ran.code == 0
    assert "unchanged" in ran.stdout
