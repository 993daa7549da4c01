"""Edits on the command line: `--if`, `--edits`, `--compare`, and what shells complete."""

import json
from pathlib import Path

import jsonschema
import pytest
import typer
import xmlschema

from kwhatif.cli.app import app
from kwhatif.cli.cluster_options import complete_edit
from kwhatif.cli.options import complete_node, complete_object
from tests import FIXTURES
from tests.cli.running import run
from tests.schemas import validator

SCHEMAS = FIXTURES / "schemas"
CLUSTER = FIXTURES / "demo" / "cluster.yaml"
FROM = f"--from {CLUSTER}"
SMALL = FIXTURES / "demo" / "pods" / "small.yaml"


@pytest.mark.parametrize("command", ["schedule", "preempt", "gate", "queue", "advise"])
def test_every_command_about_a_cluster_takes_edits(command: str) -> None:
    what = "" if command == "queue" else SMALL
    ran = run(f"kwhatif {command} {what} {FROM} --if 'cordon general-a1' -o json")
    assert [row["edit"] for row in json.loads(ran.stdout)["changes"]] == ["cordon general-a1"]
    assert ran.stderr == ""


def test_files_come_first(tmp_path: Path) -> None:
    (tmp_path / "edits.yaml").write_text("- add 1 node like general-a1\n- cordon: general-a1-new-1\n")
    ran = run(f"kwhatif schedule {SMALL} {FROM} --if 'uncordon general-a1-new-1' --edits {tmp_path}/edits.yaml -o json")
    assert [row["edit"] for row in json.loads(ran.stdout)["changes"]] == [
        "add 1 node like general-a1",
        "cordon general-a1-new-1",
        "uncordon general-a1-new-1",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cordon: [a]", "edits.yaml: is not a list of edits"),
        ("- cordon: [a]\n- 7", "edits.yaml, edit 2 '7': is not an edit"),
        ("- cordon: {node: a}", "unknown field 'node' (did you mean nodes?)"),
        ("- set: {object: node/general-a1}", "values is not a map of paths"),
        ("- [", "edits.yaml"),
        ("- apply: [{apiVersion: v1, kind: Nod}]", "Nod"),
        ("- apply: '{}'", 'edits.yaml, edit 1 \'{"apply":"{}"}\': its manifest is text'),
    ],
)
def test_files_that_are_wrong(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "edits.yaml").write_text(text)
    ran = run(f"kwhatif schedule {SMALL} {FROM} --edits {tmp_path}/edits.yaml")
    assert ran.code == 3
    assert message in ran.stderr


def test_a_file_that_is_not_there() -> None:
    ran = run(f"kwhatif schedule {SMALL} {FROM} --edits nowhere.yaml")
    assert (ran.code, ran.stdout) == (3, "")
    assert "nowhere.yaml" in ran.stderr


def test_manifests_of_edits_are_read_as_others_are(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containrs: [{name: c, image: x}]}"
    )
    ran = run(f"kwhatif schedule {SMALL} {FROM} --if 'apply {tmp_path}/pod.yaml'")
    assert ran.code == 3
    assert 'unknown field "spec.containrs"' in ran.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--requests metrics", "--requests metrics: the input has no PodMetrics"),
        (
            "--requests cpu=metrics --requests memory=vpa",
            "--requests cpu=metrics --requests memory=vpa: cpu=metrics: metrics gives cpu and memory",
        ),
        ("--if 'requests from metrics'", "--if 'requests from metrics': the input has no PodMetrics"),
    ],
)
def test_errors_name_the_flag_that_was_given(flags: str, said: str) -> None:
    ran = run(f"kwhatif preempt --from {CLUSTER} {flags}")
    assert (ran.code, ran.stdout) == (3, "")
    assert ran.stderr.startswith(f"error: {said}")


def test_names_are_in_the_namespace_that_is_named() -> None:
    ran = run(f"kwhatif schedule {SMALL} {FROM} -n shop --if 'scale deployment/web=7' -q -o json")
    assert json.loads(ran.stdout)["changes"][0]["touched"][0]["object"] == "Deployment shop/web"


def test_both_answers_are_about_what_comes_from_a_pipe() -> None:
    ran = run(f"kwhatif schedule - {FROM} --if 'cordon general-a1' --compare -o json", SMALL.read_bytes())
    made = json.loads(ran.stdout)
    validator("comparison").validate(made)
    assert [row["difference"] for row in made["difference"]["pods"]] == ["moved"]


def test_the_exit_code_is_that_of_the_answer_with_the_edits() -> None:
    assert run(f"kwhatif schedule {SMALL} {FROM} --compare --if 'cordon general-*'").code == 1
    assert run(f"kwhatif schedule {SMALL} {FROM} --compare --if 'cordon batch-a1'").code == 0


def test_reports_for_tools_are_valid_with_edits(tmp_path: Path) -> None:
    asked = " ".join(f"--report {name}={tmp_path}/{name}" for name in ("junit", "sarif", "json"))
    run(f"kwhatif gate {SMALL} {FROM} {asked} --if 'label node/general-a1 x=y' --if 'cordon general-*'")
    xmlschema.XMLSchema(str(SCHEMAS / "junit-10.xsd")).validate((tmp_path / "junit").read_text())
    jsonschema.validate(
        json.loads((tmp_path / "sarif").read_text()), json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())
    )
    validator("report").validate(json.loads((tmp_path / "json").read_text()))


def test_text_of_an_edit_is_inert() -> None:
    ran = run(f"kwhatif schedule {SMALL} {FROM} --if 'label node/general-a1 x=[red]' --color always")
    assert ran.code == 3
    ran = run(f"kwhatif schedule {SMALL} {FROM} --if \"set node/general-a1 metadata.labels.x='[red]'\"")
    assert "[red]" in ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("incomplete", "expected"),
    [
        ("co", ["cordon "]),
        ("re", ["requests ", "resize ", "restart ", "recover "]),
        ("cordon general-a", ["cordon general-a1", "cordon general-a2"]),
        ("taint x gpu-a", ["taint x gpu-a1"]),
        ("add 3 nodes like batch-a", ["add 3 nodes like batch-a1"]),
        ("delete node/gpu-b", ["delete node/gpu-b1"]),
        ("scale deploy", []),
    ],
)
def test_completion(incomplete: str, expected: list[str]) -> None:
    context = typer.Context(typer.main.get_command(app))
    context.params = {"from_": [str(CLUSTER)]}
    assert complete_edit(context, incomplete) == expected


@pytest.mark.parametrize("dumps", [[], ["nowhere.yaml"], [str(SMALL)]])
def test_without_a_cluster_no_node_completes(dumps: list[str]) -> None:
    context = typer.Context(typer.main.get_command(app))
    context.params = {"from_": dumps}
    assert complete_edit(context, "cordon g") == []


@pytest.mark.parametrize(
    ("given", "incomplete", "expected"),
    [
        ((), "deploy/shop/", ["deploy/shop/api", "deploy/shop/web"]),
        ((), "StatefulSet/data/", ["StatefulSet/data/postgres"]),
        ((), "dep", []),
        ((), "nodes/", []),
        (("like",), "st", ["sts/"]),
        (("like",), "deploy/ml/", ["deploy/ml/trainer"]),
    ],
)
def test_objects_complete_where_the_shell_cannot_mean_a_file(
    given: tuple[str, ...], incomplete: str, expected: list[str]
) -> None:
    context = typer.Context(typer.main.get_command(app))
    context.params = {"from_": [str(CLUSTER)], "manifests": given}
    assert complete_object(context, incomplete) == expected


def test_nodes_complete_where_an_option_takes_one() -> None:
    context = typer.Context(typer.main.get_command(app))
    context.params = {"from_": [str(CLUSTER)]}
    assert complete_node(context, "gpu-") == ["gpu-a1", "gpu-b1"]
