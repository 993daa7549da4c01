"""Helm hooks, in every command that takes manifests: the node has room for one of the pods at a time."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run
from tests.objects import manifest

CLUSTER = """apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: default}
"""


def pod(name: str, hook: str = "", cpu: str = "2", **annotations: str) -> str:
    notes = {**({"helm.sh/hook": hook} if hook else {}), **annotations}
    spec = {
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": cpu}}}],
    }
    return json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": notes}, "spec": spec}
    )


def job(name: str, hook: str = "", cpu: str = "2", **annotations: str) -> str:
    made = json.loads(pod(name, hook, cpu, **annotations))
    return json.dumps(manifest("Job", made["metadata"], spec={"template": {"spec": made["spec"]}}))


@pytest.fixture
def ask(tmp_path: Path) -> Any:
    def asked(command: str, *objects: str, cluster: str = CLUSTER, rest: str = "") -> tuple[int, dict[str, Any]]:
        (tmp_path / "cluster.yaml").write_text(cluster)
        (tmp_path / "app.yaml").write_text("\n---\n".join(objects))
        command = f"kwhatif {command} -o json --from {tmp_path}/cluster.yaml {rest}"
        ran = run(command.replace("APP", f"{tmp_path}/app.yaml"))
        return ran.code, json.loads(ran.stdout) if ran.stdout else {"error": ran.stderr}

    return asked


def outcomes(report: dict[str, Any]) -> dict[str, str]:
    return {decision["pod"].split("/")[1][:4]: decision["outcome"] for decision in report["decisions"]}


def hooks(report: dict[str, Any]) -> Any:
    (caveat,) = [each for each in report["caveatDetails"] if each["code"] == "helm-hooks"]
    return caveat


@pytest.mark.parametrize("command", ["schedule APP", "gate APP", "preempt APP"])
def test_what_runs_before_and_after_is_gone_for_the_rest(ask: Any, command: str) -> None:
    code, report = ask(
        command,
        pod("main"),
        job("post", "post-install"),
        job("migr", "pre-install,pre-upgrade"),
        pod("test", "test", cpu="50"),
        job("gone", "pre-delete", cpu="60"),
        pod("crds", "crd-install", cpu="60"),
    )
    # The Job after the rest meets the pod that stays.
    assert outcomes(report) == {"migr": "Placed", "main": "Placed", "post": "Unschedulable"}
    assert [row["name"] for row in report["workloads"]] == ["Job default/migr", "Pod default/main", "Job default/post"]
    assert code == 1
    assert hooks(report)["before"] == ["Job default/migr"]
    assert hooks(report)["after"] == ["Job default/post"]
    assert hooks(report)["leftOut"] == [["Pod test", "test"], ["Job gone", "pre-delete"], ["Pod crds", "crd-install"]]


def test_each_hook_runs_once_those_before_it_have_ended(ask: Any) -> None:
    names = {"b": "1", "z": "-1", "a": "1", "m": ""}
    code, report = ask(
        "gate APP",
        *(pod(name, "pre-install", **{"helm.sh/hook-weight": weight}) for name, weight in names.items()),
        pod("main"),
    )
    assert code == 0
    assert [row["name"] for row in report["workloads"]] == [
        f"Pod default/{name}" for name in ("z", "m", "a", "b", "main")
    ]


def test_a_hook_that_does_not_fit_fails_the_gate(ask: Any) -> None:
    code, report = ask("gate APP", job("migr", "pre-upgrade", cpu="3"), pod("main"))
    assert code == 1
    assert outcomes(report) == {"migr": "Unschedulable", "main": "Placed"}


def test_a_job_of_an_earlier_run_is_replaced_or_in_the_way(ask: Any) -> None:
    earlier = CLUSTER + "---\n" + job("migr", cpu="1") + "\n"
    changed = job("migr", "pre-upgrade")
    assert ask("gate APP", changed, cluster=earlier)[0] == 0
    code, report = ask(
        "gate APP", job("migr", "pre-upgrade", **{"helm.sh/hook-delete-policy": "hook-succeeded"}), cluster=earlier
    )
    assert code == 1
    assert report["decisions"][0]["message"] == 'jobs.batch "migr" already exists'


def test_what_a_hook_needs_is_there_for_it_and_gone_if_its_policy_says_so(ask: Any) -> None:
    def objects(policy: str) -> list[str]:
        high = {"name": "high", "annotations": {"helm.sh/hook": "pre-install", "helm.sh/hook-delete-policy": policy}}
        made = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": high, "value": 7}
        pods = [json.loads(pod("migr", "pre-install")), json.loads(pod("main"))]
        for each in pods:
            each["spec"]["priorityClassName"] = "high"
        return [json.dumps(made), *map(json.dumps, pods)]

    code, report = ask("gate APP", *objects("hook-succeeded"))
    assert (code, outcomes(report)) == (1, {"migr": "Placed", "main": "Denied"})
    code, report = ask("gate APP", *objects("before-hook-creation"))
    assert (code, outcomes(report)) == (0, {"migr": "Placed", "main": "Placed"})


def test_manifests_of_hooks_only_judge_nothing(ask: Any) -> None:
    code, report = ask("gate APP", pod("test", "test"))
    assert code == 0
    assert "nothing-judged" in {caveat["code"] for caveat in report["caveatDetails"]}
    code, report = ask("gate APP", pod("migr", "pre-install"))
    assert code == 0
    assert "nothing-judged" not in {caveat["code"] for caveat in report["caveatDetails"]}


def test_a_simulation_applies_each_hook_and_deletes_it_before_the_rest_comes(ask: Any) -> None:
    code, report = ask("simulate APP", pod("main"), job("migr", "pre-install"), pod("test", "test", cpu="50"))
    assert code == 0
    wrote = [(event["verb"], event["object"]) for event in report["story"]["events"] if event["actor"] == "user"]
    assert wrote == [
        ("created", "Job default/migr"),
        ("deleted", "Job default/migr"),
        ("created", "Pod default/main"),
    ]
    assert hooks(report)["leftOut"] == [["Pod test", "test"]]


def test_capacity_counts_no_pods_of_hooks(ask: Any) -> None:
    code, report = ask("capacity APP", pod("main", cpu="1"), job("migr", "pre-install"), pod("test", "test"))
    assert code == 0
    assert report["capacity"]["fit"]["sets"] == 2
    code, report = ask("capacity APP", job("migr", "pre-install"))
    assert code == 3
    assert "holds no workload" in report["error"]


def test_advice_about_a_hook_is_proven_by_itself(ask: Any) -> None:
    code, report = ask("advise APP", job("migr", "pre-install", cpu="3"), pod("main"))
    (row,) = report["advise"]["workloads"]
    assert row["workload"] == "Job default/migr"
    assert [advice["changes"][0]["kind"] for advice in row["advice"]][:1] == ["request-less"]
    assert code == 1


def test_hooks_are_gone_where_a_manifest_has_been_applied(ask: Any, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(pod("other", cpu="1"))
    rest = f"--if 'apply {tmp_path}/app.yaml'"
    code, report = ask(
        f"schedule {tmp_path}/other.yaml", pod("main", cpu="1"), job("migr", "pre-install"), pod("t", "test"), rest=rest
    )
    assert (code, outcomes(report)) == (0, {"othe": "Placed"})
    (edit,) = report["changes"]
    assert [touched["object"] for touched in edit["touched"]] == ["Pod default/main"]
    assert edit["notes"] == ["Helm hooks are left out: Job default/migr, Pod t (test)"]
