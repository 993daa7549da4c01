"""Output in the encoding of the terminal or pipe, and what happens when nobody reads it."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from kwhatif.cli.characters import escaped, is_unicode, plain, referenced, spelled
from tests import ROOT
from tests.cli.running import Ended, fork

PROGRAM = [sys.executable, "-m", "kwhatif"]
DUMP = "fixtures/demo/cluster.yaml"
SMALL = f"schedule fixtures/demo/pods/small.yaml --from {DUMP} -o wide"
#: Command -> exit code.
COMMANDS = {
    SMALL: 0,
    f"schedule fixtures/demo/pods --from {DUMP} -q": 1,
    f"preempt fixtures/demo/pods/inference.yaml --from {DUMP} --explain": 0,
    f"gate fixtures/gate/manifests fixtures/gate/broken --from {DUMP}": 3,
    f"gate fixtures/gate/manifests --from {DUMP} -o markdown": 1,
    f"snapshot info {DUMP}": 0,
    "gate --help": 0,
}


@pytest.fixture(autouse=True)
def _in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def ran(command: str, encoding: str) -> Ended:
    return fork(f"kwhatif {command}", encoding)


@pytest.mark.parametrize(("command", "code"), COMMANDS.items())
def test_every_encoding_gets_an_answer_that_it_can_hold(command: str, code: int) -> None:
    done = ran(command, "ascii")
    assert done.code == code
    for out in (done.stdout, done.stderr):
        assert out.isascii()
        assert b"?" not in out.replace(b"allowed?", b"").replace(b"evict?", b"")
        assert b"\\u" not in out


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "cp437"])
def test_signs_and_lines_become_plain_where_they_must(encoding: str) -> None:
    done = ran(SMALL, encoding)
    assert done.code == 0
    text = done.stdout.decode(encoding)
    assert text.startswith("ok shop/small lands on")
    assert ("─" in text) is (encoding == "cp437")


def test_columns_stay_straight() -> None:
    lines = ran(f"gate fixtures/gate/manifests --from {DUMP}", "ascii").stdout.decode().splitlines()
    header = next(line for line in lines if "WORKLOAD" in line)
    row = next(line for line in lines if "CronJob" in line)
    assert row.index("CronJob") == header.index("WORKLOAD")
    assert row.strip().startswith("ok ")


def test_who_chose_a_way_to_replace_gets_it() -> None:
    assert ran(SMALL, "ascii:replace").stdout.startswith(b"ok shop/small")
    assert ran("rbac", "ascii:ignore").code == 0


def test_the_encoding_is_that_of_the_process() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "cp437"}
    done = subprocess.run([*PROGRAM, *SMALL.split()], capture_output=True, env=environment, check=True)
    assert done.stdout == ran(SMALL, "cp437").stdout


def test_data_is_the_same_data_in_every_encoding(tmp_path: Path) -> None:
    dump = tmp_path / "größe-😀.yaml"
    dump.write_text((ROOT / DUMP).read_text())
    read = {}
    for encoding in ("utf-8", "ascii", "utf-16"):
        done = ran(f"preempt --from {dump} -o json", encoding)
        read[encoding] = json.loads(done.stdout.decode(encoding))
    assert read["utf-8"] == read["ascii"] == read["utf-16"]
    assert read["ascii"]["snapshot"]["sources"] == [str(dump)]
    assert yaml.safe_load(ran(f"preempt --from {dump} -o yaml", "ascii").stdout) == read["utf-8"]
    assert rb"gr\u00f6\u00dfe-\ud83d\ude00.yaml" in ran(f"snapshot info {dump}", "ascii").stdout.replace(b"\n", b"")


@given(st.text())
def test_notations_lose_nothing(text: str) -> None:
    encoded = json.dumps(text, ensure_ascii=False)
    assert json.loads(escaped(encoded)) == text
    assert escaped(encoded).isascii()


@given(st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc"])))
def test_xml_loses_nothing(text: str) -> None:
    element = ET.Element("a", {"b": text})
    assert ET.fromstring(referenced(ET.tostring(element, encoding="unicode"))).get("b") == text


@given(st.text(), st.sampled_from(["ascii", "cp1252", "utf-8", "cp437"]))
def test_plain_text_can_be_encoded(text: str, encoding: str) -> None:
    made = plain(text, encoding)
    made.encode(encoding)
    if text.isascii():
        assert made == text


def test_styles_stay_with_their_words() -> None:
    text = Text.assemble(("✔", "green"), " → ", ("é", "bold"))
    made = spelled(text, "ascii")
    assert isinstance(made, Text)
    assert made.plain == "ok -> \\u00e9"
    assert [(made.plain[span.start : span.end], span.style) for span in made.spans] == [
        ("ok", "green"),
        ("\\u00e9", "bold"),
    ]


@pytest.mark.parametrize(
    ("name", "expected"), [("utf-8", True), ("UTF8", True), ("utf-16-le", True), ("cp65001", False)]
)
def test_which_encodings_hold_everything(name: str, expected: bool) -> None:
    assert is_unicode(name) is expected


# --- nobody reads ----------------------------------------------------------------------------------------


def code_when_closed(command: str) -> int:
    """The exit code of a command whose reader is gone before it writes."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = fork(f"kwhatif {command}", stdout=writer)
    finally:
        os.close(writer)
    assert done.stderr == b""
    return done.code


@pytest.mark.parametrize(
    "command",
    [
        f"schedule fixtures/demo/pods/small.yaml --from {DUMP}",
        f"schedule fixtures/demo/pods/impossible.yaml --from {DUMP} -o json",
        f"gate fixtures/gate/manifests --from {DUMP}",
        f"snapshot info {DUMP}",
        "--help",
        "gate --help",
        "rbac",
    ],
)
def test_a_closed_pipe_is_neither_yes_nor_no(command: str) -> None:
    assert code_when_closed(command) == 141


def test_a_closed_standard_output_leaves_the_exit_code() -> None:
    script = f"exec >&-; {sys.executable} -m kwhatif schedule fixtures/demo/pods/%s.yaml --from {DUMP}"
    codes = [subprocess.run(["bash", "-c", script % pod], check=False).returncode for pod in ("small", "impossible")]
    assert codes == [0, 1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_named() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*PROGRAM, "rbac"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 3
    assert done.stderr == b"error: standard output cannot be written: No space left on device\n"
