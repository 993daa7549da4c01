"""The contracts that scripts rely on: exit codes, where answers go, and that text from the cluster is inert."""

import json
import subprocess
import sys

import pytest

from tests import FIXTURES, ROOT
from tests.cli.running import run
from tests.schemas import validator

FROM = f"--from {ROOT}/fixtures/demo/cluster.yaml"
PODS = FIXTURES / "demo" / "pods"


@pytest.mark.parametrize(
    ("pod", "fail_on", "code"),
    [
        ("small", "unschedulable", 0),
        ("checkout", "unschedulable", 0),
        ("checkout", "preemption", 1),
        ("checkout", "pdb-violation", 0),
        ("inference", "pdb-violation", 1),
        ("inference", "none", 0),
        ("impossible", "unschedulable", 1),
        ("impossible", "none", 0),
        ("impossible", "preemption,pdb-violation", 0),
        ("patient", "preemption,unschedulable", 1),
    ],
)
def test_fail_on_decides_the_exit_code(pod: str, fail_on: str, code: int) -> None:
    ran = run(f"kwhatif schedule {PODS}/{pod}.yaml {FROM} --fail-on {fail_on}")
    assert (ran.code, ran.stderr) == (code, "")


@pytest.mark.parametrize("command", ["schedule", "preempt"])
@pytest.mark.parametrize("pod", ["small", "checkout", "inference", "impossible"])
def test_the_report_is_valid_against_the_schema_that_is_shipped(command: str, pod: str) -> None:
    ran = run(f"kwhatif {command} {PODS}/{pod}.yaml {FROM} -o json --fail-on none")
    validator("report").validate(json.loads(ran.stdout))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("schedule", 2),
        ("schedule --no-such-option", 2),
        ("nonsense", 2),
        (f"schedule {PODS}/small.yaml --from {ROOT}/nowhere.yaml", 3),
        (f"schedule {ROOT}/LICENSE {FROM}", 3),
    ],
)
def test_what_cannot_be_answered_says_why_on_stderr_only(arguments: str, code: int) -> None:
    ran = run(f"kwhatif {arguments}")
    assert ran.code == code
    assert ran.stdout == ""
    assert ran.stderr


def test_a_bug_is_reported_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("kwhatif.api.questions.schedule", broken)
    ran = run(f"kwhatif schedule {PODS}/small.yaml {FROM}")
    assert ran.code == 70
    assert "ZeroDivisionError: oh" in ran.stderr
    assert "Traceback" not in ran.stderr


HOSTILE = """
apiVersion: v1
kind: Node
metadata: {name: "[red]n1[/]\\u001b[31m\\u202e"}
status: {allocatable: {cpu: "1", memory: 1Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: "[bold]p\\u001b]0;x\\u0007", namespace: default}
spec: {containers: [{name: c, resources: {requests: {cpu: "2"}}}]}
"""


@pytest.mark.parametrize("output", ["table", "wide"])
@pytest.mark.parametrize("command", ["preempt --from -", "preempt --explain --from -"])
def test_names_from_the_cluster_are_printed_and_do_nothing(command: str, output: str) -> None:
    ran = run(f"kwhatif {command} -o {output} --color always", HOSTILE.encode())
    assert "[bold]p\\x1b]0;x\\x07" in ran.stdout
    assert "[red]n1[/]" in ran.stdout
    assert "\x1b]" not in ran.stdout
    assert "\u202e" not in ran.stdout


def test_the_same_question_prints_the_same_answer() -> None:
    command = f"kwhatif preempt {PODS}/inference.yaml {FROM} --explain"
    assert run(command) == run(command)


def test_readme_schema_and_docs_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("", 0)
