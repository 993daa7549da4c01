"""`kwhatif compare` and `kwhatif resize` with input that is wrong: all of it is said, in the words of the command line."""

import json
from pathlib import Path

from kwhatif.errors import ExitCode
from tests import FIXTURES
from tests.cli.running import run

CLUSTER = FIXTURES / "demo" / "cluster.yaml"


def test_what_is_wrong_with_each_dump_is_said(tmp_path: Path) -> None:
    broken, lacking = tmp_path / "broken.yaml", tmp_path / "lacking.yaml"
    broken.write_text("kind: [")
    ran = run(f"kwhatif compare {broken} {lacking}")
    first, second = ran.stderr.splitlines()
    assert first.startswith(f"error: {broken}, document 1, line ")
    assert second == f"error: {lacking}: cannot be read: No such file or directory"
    assert (ran.code, ran.stdout) == (ExitCode.BAD_INPUT, "")


def test_what_is_wrong_with_a_dump_and_with_configurations_is_said_at_once(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("kind: Pod\n")
    ran = run(f"kwhatif compare --from {broken} --config {tmp_path}/one.yaml --config {tmp_path}/other.yaml")
    starts = [
        f"error: {tmp_path}/one.yaml: cannot",
        f"error: {broken}, document 1",
        f"error: {tmp_path}/other.yaml: cannot",
    ]
    assert [line.startswith(start) for line, start in zip(ran.stderr.splitlines(), starts, strict=True)] == [True] * 3
    assert ran.code == ExitCode.BAD_INPUT


def test_an_amount_that_is_none_is_said_of_the_pod() -> None:
    ran = run(f"kwhatif resize pod/shop/x --requests cpu=zz --from {CLUSTER}")
    assert ran.stderr.startswith("error: pod/shop/x: 'requests.cpu=zz': quantities must match")
    assert (ran.code, ran.stdout) == (ExitCode.BAD_INPUT, "")


def test_a_gate_is_a_question_about_both() -> None:
    fixtures = CLUSTER.parents[1]
    days = f"{fixtures}/compare/monday.yaml {fixtures}/compare/tuesday.yaml"
    ran = run(f"kwhatif compare {days} --question 'gate {fixtures}/demo/pods/small.yaml' -o json")
    (answer,) = json.loads(ran.stdout)["compare"]["answers"]
    assert (answer["subject"], answer["before"], answer["after"]) == ("shop/small", "fits on c1", "fits on d1")
