"""Names of files that are odd: what was meant is said, nothing hangs, nothing crashes."""

import json
import os
import shlex
import socket
from pathlib import Path

import pytest

from kwhatif.errors import ExitCode
from tests.cli.running import Ran, run

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: b}]}\n"
NODE = (
    "apiVersion: v1\nkind: Node\nmetadata: {name: node}\nspec: {}\n"
    'status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}\n'
)
#: Where each option that names a file takes it.
READERS = {
    "manifest": "schedule {} --from node.yaml",
    "-f": "gate -f {} --from node.yaml",
    "--from": "schedule pod.yaml --from {}",
    "--scheduler-config": "schedule pod.yaml --from node.yaml --scheduler-config {}",
    "--policy": "gate pod.yaml --from node.yaml --policy {}",
    "--kubeconfig": "schedule pod.yaml --kubeconfig {}",
    "snapshot info": "snapshot info {}",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("pod.yaml").write_text(POD)
    Path("node.yaml").write_text(NODE)
    Path("empty").mkdir()
    Path("empty.yaml").touch()
    Path("loop1").symlink_to("loop2")
    Path("loop2").symlink_to("loop1")
    Path("dangling.yaml").symlink_to("gone")
    os.mkfifo("fifo.yaml")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.yaml")
    return tmp_path


def ask(command: str, name: str) -> Ran:
    return run("kwhatif " + command.format(shlex.quote(name)))


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "empty",
        "empty.yaml",
        "loop1",
        "dangling.yaml",
        "fifo.yaml",
        "socket.yaml",
        "gone\x1b[31m\n.yaml",
        "*.nothing",
        "{gone}.yaml",
        "[",
        "/dev/null",
        "x" * 5000,
        "x*" * 2500,
        "~nobody-at-all/x",
        "pod.yaml/x",
        "nope\udcff",
    ],
    ids=lambda name: repr(name[:20]),
)
@pytest.mark.parametrize("reader", READERS)
def test_an_error_that_names_it(reader: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    ran = ask(READERS[reader], name)
    assert ran.code == ExitCode.BAD_INPUT, ran
    assert "\x1b" not in ran.stderr
    assert all(line.startswith("error: ") for line in ran.stderr.splitlines()), ran.stderr
    named = name.replace("\x1b", "\\x1b").replace("\n", "\\n").replace("\udcff", "\\udcff")
    assert (named or "no") in ran.stderr or "is empty" in ran.stderr


def test_a_variable_that_is_not_set() -> None:
    assert ask(READERS["manifest"], "").stderr == "error: a file's name: is empty (a variable that is not set?)\n"


def test_a_name_with_a_null_byte_in_a_scenario_is_refused() -> None:
    steps = {"apiVersion": "kwhatif.dev/v1", "kind": "Scenario", "steps": [{"apply": ["\0"]}]}
    Path("scenario.json").write_text(json.dumps(steps))
    ran = run("kwhatif simulate --scenario scenario.json --from node.yaml")
    assert ran.code == 3
    assert "holds a null byte: no file has such a name" in ran.stderr


def test_a_megabyte_of_an_edit_is_not_printed_again() -> None:
    Path("edits.yaml").write_text("- " + json.dumps({"patch": {"object": "node/a", "merge": "[" * 1_000_000}}))
    ran = ask("schedule pod.yaml --from node.yaml --edits {}", "edits.yaml")
    assert ran.code == ExitCode.BAD_INPUT
    assert ran.stderr.startswith("error: edits.yaml, edit 1 ")
    assert len(ran.stderr) < 12_000


def test_the_text_of_a_manifest() -> None:
    ran = ask(READERS["manifest"], POD)
    assert ran.code == ExitCode.BAD_INPUT
    assert "is text, not the name of a file: give a file, or - and pipe the text" in ran.stderr


def test_a_tilde_in_quotes() -> None:
    assert "(~ is expanded by the shell, and only without quotes)" in ask(READERS["manifest"], "~/pod.yaml").stderr


def test_a_file_that_looks_like_an_option() -> None:
    Path("-pod.yaml").write_text(POD)
    ran = ask("schedule {} --from node.yaml", "-pod.yaml")
    assert ran.code == ExitCode.USAGE
    assert "For the file -pod.yaml write ./-pod.yaml." in ran.stderr
    assert ask("schedule {} --from node.yaml", "./-pod.yaml").code == ExitCode.OK
    assert ask("schedule --from node.yaml -- {}", "-pod.yaml").code == ExitCode.OK


@pytest.mark.parametrize("name", ["-f.yaml", "-f.tar.gz", "-file.yaml"])
@pytest.mark.parametrize("is_there", [False, True])
def test_a_file_that_looks_like_an_option_with_its_value(name: str, *, is_there: bool) -> None:
    if is_there:
        Path(name).write_text(POD)
    ran = ask("schedule {} --from node.yaml", name)
    value = name[2:]
    if not is_there and name == "-file.yaml":
        assert (ran.code, f"{value}: cannot be read" in ran.stderr) == (ExitCode.BAD_INPUT, True)
    else:
        assert ran.code == ExitCode.USAGE
        said = " ".join(ran.stderr.split())
        assert f"{name} means -f with the file {value}, which is not there. For the file {name} write ./{name}." in said
    Path(value).write_text(POD)
    assert ask("schedule {} --from node.yaml", name).code == ExitCode.OK, "-f reads it, as it says"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("simulate --then", "--then needs a value: --then EDIT (What to do once the cluster has settled: "),
        ("simulate --then -o json", "--then needs a value, but -o comes next: --then EDIT (What to do"),
        ("schedule pod.yaml --from --if={}", "--from needs a value, but --if={} comes next: --from PATH (Read"),
        ("schedule pod.yaml -f --quiet", "-f needs a value, but --quiet comes next: -f MANIFEST (The same as MANIFEST"),
    ],
)
def test_an_option_without_its_value(command: str, said: str) -> None:
    ran = ask(command, "cordon n")
    assert ran.code == ExitCode.USAGE
    assert said.format("cordon n") in " ".join(ran.stderr.split())


@pytest.mark.parametrize(
    "name", ["[a].yaml", "{a}.yaml", "new\nline.yaml", "esc\x1b[31m.yaml", "b\udcffd.yaml", "*.yaml", "a b.yaml"]
)
def test_odd_names_of_files_that_are_there(name: str) -> None:
    Path(name).write_text(POD)
    ran = ask("schedule {} --from node.yaml", name)
    assert (ran.code, ran.stderr) == (ExitCode.OK, "")
    Path(name).write_text(POD.replace("image", "immage"))
    ran = ask("schedule {} --from node.yaml", name)
    assert ran.code == ExitCode.BAD_INPUT
    assert len(ran.stderr.splitlines()) == 1
    assert "\x1b" not in ran.stderr


@pytest.mark.parametrize("name", ["b\udcffd.yaml", "b\u202ed.yaml"])
@pytest.mark.parametrize(
    "command",
    ["snapshot info {} -o json", "preempt --from {} -o json", "preempt --from {} --if 'cordon node' --compare -o json"],
)
def test_odd_names_of_dumps_in_json(command: str, name: str) -> None:
    Path(name).write_text(NODE)
    ran = ask(command, name)
    assert (ran.code, ran.stderr) == (ExitCode.OK, "")
    assert ran.stdout.isascii()
    answer = json.loads(ran.stdout)
    source = answer["sources"] if "sources" in answer else answer.get("before", answer)["snapshot"]["sources"]
    assert source == [name]


@pytest.mark.parametrize("pattern", ["*/*.yaml", "*/m.yaml", "**/*.yaml", "**/m.yaml", "**", "locked/*/x*.yaml"])
def test_a_folder_that_cannot_be_searched(monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    """A glob finds what is beside it; that it skips the folder is said."""
    scandir, lstat = os.scandir, os.lstat

    def refuse_list(path: str = ".") -> object:
        check(path, locked=os.path.normpath(path) == "locked")
        return scandir(path)

    def refuse_enter(path: str) -> os.stat_result:
        check(path, locked=os.path.normpath(path).startswith("locked/"))
        return lstat(path)

    def check(path: str, *, locked: bool) -> None:
        if locked:
            raise PermissionError(13, "Permission denied", path)

    for name in ("here/locked", "here/open"):
        Path(name).mkdir(parents=True)
        Path(name, "m.yaml").write_text(POD)
    monkeypatch.chdir("here")
    monkeypatch.setattr(os, "scandir", refuse_list)
    monkeypatch.setattr(os, "lstat", refuse_enter)
    ran = ask("schedule {} --from ../node.yaml", pattern)
    assert ran.code == ExitCode.BAD_INPUT
    assert "error: locked: cannot be read: Permission denied\n" in ran.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is locked for root")
def test_what_must_not_be_read(folder: Path) -> None:
    Path("locked").mkdir()
    Path("locked/pod.yaml").write_text(POD)
    Path("locked").chmod(0)
    for name in ("locked", "locked/pod.yaml", "locked/*.yaml", "*/*.yaml"):
        ran = ask("schedule {} --from node.yaml", name)
        assert ran.code == ExitCode.BAD_INPUT, name
    Path("locked").chmod(0o700)


@pytest.mark.parametrize("name", [" ", "Shop", "a/b", "a\x1b[31m", "x" * 64])
def test_what_is_not_the_name_of_a_namespace(name: str) -> None:
    ran = ask("schedule pod.yaml --from node.yaml -n {}", name)
    assert ran.code == ExitCode.USAGE
    assert "is not the name of a namespace" in " ".join(ran.stderr.split())
    assert "\x1b" not in ran.stderr
