"""Tables for names as clouds give them: at 80 and 60 columns, and where nobody folds lines."""

from pathlib import Path

import pytest

from tests import FIXTURES, ROOT
from tests.cli.running import run

CLOUD = "--from fixtures/cloud/cluster.yaml"
NODES = {"ip-10-0-10-84", "ip-10-1-11-168", "ip-10-2-33-200", "ip-10-0-70-20", "ip-10-1-71-109"}
COMMANDS = [
    *(f"schedule fixtures/cloud/{name}.yaml" for name in ("misspelled", "notoleration", "evictor", "gpus", "promo")),
    "preempt fixtures/cloud/gpus.yaml --explain",
    "gate fixtures/cloud/promo.yaml -o wide",
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("width", ["60", "80"])
def test_no_name_is_broken_or_cut(command: str, width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", width)
    printed = run(f"kwhatif {command} {CLOUD}").stdout
    assert max(map(len, printed.splitlines())) <= int(width)
    assert printed.count(".eu-west-1.compute.internal") == 1
    assert {word.strip(",:;.") for word in printed.split() if word.startswith("ip-")} <= NODES


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_wrapped_where_it_is_piped(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COLUMNS")
    printed = run(f"kwhatif {command} {CLOUD}").stdout
    monkeypatch.setenv("COLUMNS", "5000")
    assert printed == run(f"kwhatif {command} {CLOUD}").stdout
    words = [line for line in printed.splitlines() if "0/5 nodes are available" in line]
    assert all(line.startswith("kube-scheduler's words: ") and line.endswith((".", "scheduling.")) for line in words)


def test_a_long_path_keeps_the_gates_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    folder = tmp_path / "environments" / "production" / "teams" / "shop"
    folder.mkdir(parents=True)
    (folder / "small.yaml").write_bytes((FIXTURES / "demo/pods/small.yaml").read_bytes())
    ran = run(f"kwhatif gate {folder} --from {ROOT}/fixtures/demo/cluster.yaml")
    assert "WORKLOAD" in ran.stdout
    assert "…/small.yaml:2" in ran.stdout


def test_help_in_a_narrow_terminal_leaves_room_for_descriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    options = run("kwhatif drain --help").stdout.partition("\nOptions:\n")[2].splitlines()
    indents = {len(line) - len(line.lstrip()) for line in options if line.startswith(" ")}
    assert indents == {2, 24}
    assert max(map(len, options)) <= 60
    assert "  -l, --selector LABELS" in options, "its description is below it"
