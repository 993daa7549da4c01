"""`-o html` and `--report html=FILE`, of every command that answers with a report."""

from pathlib import Path

import pytest

from tests.cli.running import run

FROM = "--from fixtures/demo/cluster.yaml"
GROUPS = "--node-groups fixtures/demo/groups.yaml"
COMMANDS = [
    f"kwhatif schedule fixtures/demo/pods/small.yaml {FROM}",
    f"kwhatif preempt fixtures/demo/pods/inference.yaml {FROM}",
    f"kwhatif gate fixtures/demo/pods/small.yaml {FROM}",
    f"kwhatif queue {FROM}",
    f"kwhatif capacity fixtures/demo/pods/small.yaml {FROM}",
    f"kwhatif advise fixtures/demo/pods/small.yaml {FROM}",
    f"kwhatif simulate fixtures/demo/pods/small.yaml {FROM}",
    f"kwhatif drain batch-a1 --ignore-daemonsets {FROM}",
    f"kwhatif outage --each topology.kubernetes.io/zone {FROM}",
    f"kwhatif deschedule --policy fixtures/demo/descheduler.yaml {FROM}",
    f"kwhatif autoscale {GROUPS} {FROM}",
    f"kwhatif consolidate {GROUPS} {FROM}",
    f"kwhatif audit --only outage --fixes 0 {FROM}",
    f"kwhatif schedule fixtures/demo/pods/small.yaml {FROM} --compare --if 'cordon general-a1'",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_makes_a_page(command: str) -> None:
    ran = run(f"{command} -o html")
    assert ran.code in (0, 1), ran.stderr
    assert ran.stdout.startswith("<!doctype html>")
    assert ran.stdout.rstrip().endswith("</html>")
    assert ran.stdout.count("<h1") == 1


def test_a_page_is_written_beside_the_answer(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    command = f"kwhatif schedule fixtures/demo/pods/small.yaml {FROM}"
    plain = run(command)
    ran = run(f"{command} --report html={page} --report json={tmp_path}/report.json")
    assert (ran.code, ran.stdout) == (plain.code, plain.stdout)
    assert page.read_text() == run(f"{command} -o html").stdout
    assert (tmp_path / "report.json").read_text() == run(f"{command} -o json").stdout


def test_a_format_that_there_is_not_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    ran = run(f"kwhatif drain a1 --from {tmp_path}/nowhere.yaml --report htm={tmp_path}/page.html")
    assert ran.code == 2
    assert "is not FORMAT=FILE" in ran.stderr
