"""The gate as a pipeline uses it: standard input, reports beside the answer, the repository's policy, exit codes."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import xmlschema
import yaml

from tests import FIXTURES, ROOT
from tests.cli.running import Ran, run
from tests.schemas import validator

GATE = FIXTURES / "gate"
SCHEMAS = FIXTURES / "schemas"
DEMO = f"--from {ROOT}/fixtures/demo/cluster.yaml"
MANIFESTS = f"{GATE}/manifests"


def gate(arguments: str, stdin: str = "") -> Ran:
    return run(f"kwhatif gate {arguments} {DEMO}", stdin.encode())


def report(arguments: str, stdin: str = "") -> dict[str, Any]:
    return json.loads(gate(f"{arguments} -o json", stdin).stdout)


def rows(arguments: str, stdin: str = "") -> dict[str, str]:
    return {row["name"]: row["message"] for row in report(arguments, stdin)["workloads"]}


# --- what is judged --------------------------------------------------------------------------------------


def test_a_rendered_chart_passes_through_standard_input() -> None:
    assert rows("-", (GATE / "charts" / "ingress-nginx.yaml").read_text()) == {
        "Deployment platform/edge-ingress-nginx-controller": "all 2 pods fit on 2 nodes",
        "Job platform/edge-ingress-nginx-admission-create": "fits on general-a1",
        "Job platform/edge-ingress-nginx-admission-patch": "fits on general-a1",
    }


def test_a_rendered_chart_with_pods_on_every_node_and_a_claim() -> None:
    assert rows("-", (GATE / "charts" / "prometheus.yaml").read_text()) == {
        "DaemonSet platform/metrics-prometheus-node-exporter": "all 12 pods fit on 12 nodes",
        "Deployment platform/metrics-kube-state-metrics": "fits on general-a1",
        "Deployment platform/metrics-prometheus-server": "fits on general-a1",
    }


def test_the_order_of_documents_does_not_matter_for_what_takes_effect_before_pods() -> None:
    documents = (GATE / "manifests" / "reports.yaml").read_text().split("---\n")
    said = "all 2 pods fit on 2 nodes (its next run, judged last and alone)"
    assert rows("-", "---\n".join(reversed(documents))) == {"CronJob reports/nightly": said}


def test_manifests_may_be_files_directories_globs_and_standard_input_at_once() -> None:
    chart = (GATE / "charts" / "ingress-nginx.yaml").read_text()
    named = rows(f"{GATE}/custom.yaml {GATE}/updates '{MANIFESTS}/w*.yaml' -", chart)
    # The Jobs are hooks of Helm: one runs before everything else, the other after it.
    assert [name.partition(" ")[0] for name in named] == [
        "Job",
        "Rollout",
        "Deployment",
        "Deployment",
        "Deployment",
        "Job",
    ]


LIST = """
apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: DeploymentList
  items:
  - metadata: {name: a}
    spec:
      selector: {matchLabels: {app: a}}
      template: {metadata: {labels: {app: a}}, spec: {containers: [{name: main, image: x}]}}
"""


def test_lists_hold_manifests_and_those_of_one_kind_say_it_once() -> None:
    made = report("- -n shop", LIST)
    assert [(row["name"], row["source"]["line"]) for row in made["workloads"]] == [("Deployment shop/a", 8)]
    assert made["caveats"] == []


def test_where_nothing_was_judged_the_answer_is_not_a_plain_yes() -> None:
    budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b, namespace: shop}\nspec: {}\n"
    ran = gate("-", budget)
    said = "! The gate passes, but nothing was judged: 0 workloads, 0 pods; 1 warning"
    assert (ran.code, ran.stdout.splitlines()[0]) == (0, said)


@pytest.mark.parametrize("arguments", ["-", f"{ROOT}/nowhere", f"'{ROOT}/*.nothing'"])
def test_where_nothing_can_be_read_there_is_no_answer(arguments: str) -> None:
    ran = gate(arguments)
    assert (ran.code, ran.stdout) == (3, "")
    assert ran.stderr.startswith("error: ")


# --- broken manifests ------------------------------------------------------------------------------------


def test_a_broken_manifest_does_not_spoil_the_others(tmp_path: Path) -> None:
    ran = gate(f"{GATE}/broken -o json --report junit={tmp_path}/junit.xml")
    assert ran.code == 3
    made = json.loads(ran.stdout)
    assert [row["name"] for row in made["workloads"]] == ["Pod shop/small", "Pod shop/large"]
    ((problem),) = made["problems"]
    assert (problem["source"]["line"], problem["field"]) == (16, "spec.replicas")
    assert "line 16 (Deployment shop/typo): spec.replicas" in ran.stderr
    assert '<error type="manifest"' in (tmp_path / "junit.xml").read_text()


def test_yaml_that_does_not_parse_is_a_broken_manifest_too() -> None:
    good = (GATE / "broken" / "broken.yaml").read_text().split("---\n")[0]
    ran = gate("- -o json", f"{good}---\nkind: [\n---\n{good.replace('small', 'other')}")
    assert ran.code == 3
    made = json.loads(ran.stdout)
    assert [row["name"] for row in made["workloads"]] == ["Pod shop/small", "Pod shop/other"]
    assert len(made["problems"]) == 1


def test_quiet_is_one_line_however_wide() -> None:
    assert gate(f"{MANIFESTS} -q -o wide").stdout == gate(f"{MANIFESTS} -q").stdout
    assert gate(f"{MANIFESTS} -q").stdout.count("\n") == 1


# --- reports ---------------------------------------------------------------------------------------------


def test_every_report_is_written_beside_the_answer_and_valid(tmp_path: Path) -> None:
    formats = ("json", "yaml", "junit", "sarif", "github", "gitlab", "markdown")
    asked = " ".join(f"--report {name}={tmp_path}/{name}" for name in formats)
    ran = gate(f"{MANIFESTS} {GATE}/broken --policy {GATE}/kwhatif.yaml {asked} -q")
    assert (
        ran.stdout
        == "✘ The gate fails: 6 workloads, 14 pods; 1 problem in manifests; 1 failure; 1 warning; 2 suppressed\n"
    )
    texts = {name: (tmp_path / name).read_text() for name in formats}

    xmlschema.XMLSchema(str(SCHEMAS / "junit-10.xsd")).validate(texts["junit"])
    for name, schema in (("sarif", "sarif-2.1.0.json"), ("gitlab", "gitlab-code-quality.json")):
        jsonschema.validate(json.loads(texts[name]), json.loads((SCHEMAS / schema).read_text()))
    validator("report").validate(json.loads(texts["json"]))
    assert yaml.safe_load(texts["yaml"]) == json.loads(texts["json"])
    assert texts["github"].count("::error ") == 2
    assert texts["markdown"].startswith("### ❌ The gate fails\n")


def test_a_report_may_go_to_a_stream(capfd: pytest.CaptureFixture[str]) -> None:
    gate(f"{GATE}/broken --report github=/dev/stdout -q")
    assert capfd.readouterr().out.startswith("::error file=")


def test_a_report_that_cannot_be_written_is_reported_and_the_others_are_written(tmp_path: Path) -> None:
    ran = gate(f"{MANIFESTS} --report junit={tmp_path}/no/where.xml --report sarif={tmp_path}/sarif.json")
    assert (ran.code, ran.stdout) == (3, "")
    assert "no/where.xml: cannot be written" in ran.stderr
    assert (tmp_path / "sarif.json").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        "--report junit",
        "--report nonsense=x",
        "--rollout later",
        "--pod-template-path Rollout",
        "--pod-template-path Deployment=.spec",
    ],
)
def test_options_that_cannot_be_meant(wrong: str) -> None:
    ran = gate(f"{MANIFESTS} {wrong}")
    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr


# --- the policy ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["kwhatif.yaml", ".kwhatif.yaml"])
@pytest.mark.parametrize("below", ["", "deploy/prod"])
def test_the_policy_of_the_repository_is_found(
    name: str, below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / below).mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("apiVersion: kwhatif.dev/v1\nkind: Policy\ndenied: ignore\n")
    monkeypatch.chdir(tmp_path / below)
    made = report(MANIFESTS)
    assert made["policy"]["source"] == "../" * len(Path(below).parts) + name
    assert made["policy"]["verdict"] == "pass"


def test_outside_the_repository_no_policy_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kwhatif.yaml").write_text("apiVersion: kwhatif.dev/v1\nkind: Policy\ndenied: ignore\n")
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repository")
    assert report(MANIFESTS)["policy"]["source"] == ""


@pytest.mark.parametrize(("today", "code"), [("2026-12-31", 0), ("2027-01-01", 1)])
def test_an_exception_counts_until_its_day_is_over(today: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"2026-12-31": 1798675200, "2027-01-01": 1798761600}[today]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(seconds))
    ran = gate(f"{MANIFESTS} --policy {GATE}/kwhatif.yaml")
    assert ran.code == code


def test_the_policies_here_are_valid_by_the_schema_that_is_shipped() -> None:
    policy = yaml.safe_load((GATE / "kwhatif.yaml").read_text())
    validator("policy").validate(json.loads(json.dumps(policy, default=str)))
    with pytest.raises(jsonschema.ValidationError):
        validator("policy").validate({**policy, "exceptions": [], "preemptions": "fail"})


def test_missing_information_fails_a_strict_gate_with_its_reports(tmp_path: Path) -> None:
    ran = gate(f"{GATE}/widget.yaml --strict --report github={tmp_path}/out")
    assert (ran.code, ran.stderr) == (1, "")
    assert (
        (tmp_path / "out").read_text().startswith("::error title=kwhatif%3A caveats/unjudged-kind::Widget shop/search")
    )
    assert gate(f"{GATE}/widget.yaml").code == 0


def test_what_the_dump_lacks_fails_a_strict_gate_too() -> None:
    dump = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
    dump += "spec: {priorityClassName: gone, containers: [{name: c}]}\n"
    ran = run(f"kwhatif gate {MANIFESTS} --strict -o json --from -", dump.encode())
    assert ran.code == 1
    findings = json.loads(ran.stdout)["policy"]["findings"]
    assert (
        "PriorityClass gone is not in the input"
        in next(row for row in findings if row["rule"] == "caveats/unknown-priority-class")["message"]
    )


# --- snapshots as the cluster's stand-in -----------------------------------------------------------------


@pytest.mark.parametrize("options", ["--images", ""])
def test_on_a_saved_snapshot_an_update_is_still_not_an_addition(options: str, tmp_path: Path) -> None:
    saved = tmp_path / "cluster.json.gz"
    run(f"kwhatif snapshot save {saved} {options} {DEMO}")
    ran = run(f"kwhatif gate {MANIFESTS} -o json --from {saved}")
    made = json.loads(ran.stdout)
    row = next(row for row in made["workloads"] if row["name"] == "Deployment shop/web")
    assert (row["update"], row["message"]) == ("scaled", "all 2 pods fit on 2 nodes")
    # Without images, their digests are kept: a changed one is seen.
    assert not any("nothing but the image changes" in caveat for caveat in made["caveats"])
