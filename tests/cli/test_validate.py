"""`--validate`: every command that reads manifests refuses what the API server would refuse."""

from pathlib import Path

import pytest

import kwhatif
from kwhatif.errors import ExitCode, InputError
from tests import FIXTURES
from tests.cli.running import run

DUMP = str(FIXTURES / "demo" / "cluster.yaml")
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: typo}\nspec:\n  containers: [{name: a, image: b}]\n  nodeselector: {a: b}\n"
UNKNOWN = 'document 1, line 6 (Pod typo): strict decoding error: unknown field "spec.nodeselector" (did you mean nodeSelector?)'
CAVEAT = 'standard input, document 1, line 6 (Pod typo): unknown field "spec.nodeselector" (did you mean nodeSelector?)'
COMMANDS = ("schedule", "preempt", "gate")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("how", ["", "--validate strict", "--validate=true"])
def test_strict_is_the_default(command: str, how: str) -> None:
    ran = run(f"kwhatif {command} - --from {DUMP} {how}", POD.encode())
    assert ran.code == ExitCode.BAD_INPUT
    assert ran.stderr == f"error: standard input, {UNKNOWN}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_warning_is_a_caveat(command: str) -> None:
    ran = run(f"kwhatif {command} - --from {DUMP} --validate warn -o json", POD.encode())
    assert (ran.code, ran.stderr) == (ExitCode.OK, "")
    assert CAVEAT.replace('"', '\\"') in ran.stdout


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("how", ["ignore", "false"])
def test_what_is_ignored_is_not_mentioned(command: str, how: str) -> None:
    ran = run(f"kwhatif {command} - --from {DUMP} --validate {how} -o json", POD.encode())
    assert (ran.code, ran.stderr) == (ExitCode.OK, "")
    assert "nodeselector" not in ran.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_another_word_is_a_usage_error(command: str) -> None:
    ran = run(f"kwhatif {command} - --from {DUMP} --validate none", POD.encode())
    assert ran.code == ExitCode.USAGE
    assert "neither strict (or true), warn nor ignore (or false)" in " ".join(ran.stderr.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_misspelled_kind(command: str) -> None:
    text = POD.replace("kind: Pod", "kind: Pdo")
    ran = run(f"kwhatif {command} - --from {DUMP} --validate ignore", text.encode())
    assert ran.code == ExitCode.BAD_INPUT
    assert 'no matches for kind "Pdo" in version "v1" (did you mean Pod?)' in ran.stderr


def test_the_library_has_the_same(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    session = kwhatif.load(DUMP)
    with pytest.raises(InputError, match="strict decoding error"):
        kwhatif.schedule(session, path)
    assert any("nodeselector" in caveat for caveat in kwhatif.schedule(session, path, validation="warn").caveats)
    assert kwhatif.gate(session, path, validation="ignore").problems == ()
    with pytest.raises(ValueError, match="neither strict"):
        kwhatif.schedule(session, path, validation="lax")
