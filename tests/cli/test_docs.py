"""What the documentation shows works: links, Python, shell, options, and tables that must be complete."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from typer.main import get_command

import kwhatif
from kwhatif.cli.app import app
from kwhatif.cli.usage import _options_of, all_commands
from tests import FIXTURES, ROOT

PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [page.name for page in PAGES]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in LINK.findall(text):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        assert found.exists(), target
        if anchor and found.suffix == ".md":
            assert anchor in anchors(found), target


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the examples find what they name."""
    shutil.copy(FIXTURES / "demo" / "cluster.yaml", tmp_path / "cluster.yaml")
    shutil.copy(FIXTURES / "library" / "pod.yaml", tmp_path / "pod.yaml")
    shutil.copytree(FIXTURES / "gate" / "updates", tmp_path / "manifests")
    monkeypatch.chdir(tmp_path)
    return tmp_path


PYTHON = [
    (page.name, block) for page in (ROOT / "README.md", ROOT / "docs" / "api.md") for block in blocks(page, "python")
]


#: What stands in a recipe, and what it prints.
PRINTED = {
    "  not on": "  not on batch-a1 node(s) had untolerated taint(s)",
    "comparison.difference": "default/asker victims general-b2 → general-c2",
    "report.scenarios": "batch-a1 can go",
    "report.policy.findings": "fail\nfail ",
    "report.capacity.fit": "2 more nodes: ",
    "story.events": "shop/web 6 → 4",
    "problem.where": "web",
}


def test_there_are_eight_recipes() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    assert len(re.findall(r"^### \d\. ", page, re.MULTILINE)) == 8
    assert all(code in page for code in PRINTED)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("name", "block"), PYTHON)
def test_python_runs(name: str, block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, name, "exec"), {})
    printed = capsys.readouterr().out
    assert "default/asker Preempts general-b2" in printed or "decision.pod, decision.outcome" not in block
    for code, said in PRINTED.items():
        assert code not in block or said in printed


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
@pytest.mark.parametrize("block", blocks(ROOT / "docs" / "json.md", "bash"))
def test_shell_of_the_page_about_json_runs(block: str, folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = f"set -u\n{block}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_options_of_examples_exist(page: Path) -> None:
    known = dict(all_commands(get_command(app)))
    for line in re.findall(r"kwhatif ([a-z].*)", "\n".join(blocks(page, "(?:console|bash)"))):
        words = line.split(" | jq ")[0].split()
        name = " ".join(words[:2]) if words[0] == "snapshot" else words[0]
        if name not in known:
            continue
        options = {*_options_of(known[name]), "--help"}
        for word in words:
            if word.startswith("--") and len(word) > 2 and "kwhatif" not in line.partition(word)[0].partition("|")[2]:
                assert word.partition("=")[0] in options, line


def test_tables_are_complete() -> None:
    """Every outcome and every exit code is explained."""
    page = (ROOT / "docs" / "json.md").read_text()
    for outcome in get_args(kwhatif.Outcome):
        assert f"\n| `{outcome}` |" in page
        assert f"`{outcome}`" in (ROOT / "README.md").read_text()
    for code in kwhatif.ExitCode:
        assert f"\n| {code.value} |" in page


def test_every_page_is_linked_from_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        assert str(page.relative_to(ROOT)) in text, page
