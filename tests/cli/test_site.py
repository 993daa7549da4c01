"""The site and the man pages say of each command what its options say, and lead nowhere that is not there."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kwhatif.cli.usage import _options_of
from tests import ROOT

HOME = "https://example.com/kwhatif"


@pytest.fixture(scope="module")
def pages() -> Any:
    """`scripts/pages.py`, which is not in a package, and runs nothing here."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        spec = importlib.util.spec_from_file_location("pages", ROOT / "scripts" / "pages.py")
        assert spec
        assert spec.loader
        module: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    module.output_of = lambda line: f"({line})"
    module.played = dict
    return module


@pytest.fixture(scope="module")
def site(pages: Any) -> dict[str, str]:
    found: dict[str, str] = pages.site(HOME)
    return found


def test_each_command_has_a_page_with_its_options_and_what_it_prints(pages: Any, site: dict[str, str]) -> None:
    without_output = {"mcp", "serve", "snapshot save", *(name for name in pages.known() if name.startswith("watch "))}
    for name, command in pages.known().items():
        page = site[f"commands/{pages.slug(name)}.md"]
        assert page.startswith(f"# kwhatif {name}\n")
        for option in _options_of(command):
            assert re.search(rf"^\| `[^`]*{option}\b", page, re.MULTILINE), (name, option)
        assert (f"\n$ kwhatif {name}" in page.partition("```\n\n")[2]) or name in without_output, name


def test_links_lead_to_pages_or_to_the_repository(site: dict[str, str]) -> None:
    for path, text in site.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)):
            file = target.partition("#")[0]
            if file.startswith(f"{HOME}/"):
                assert (ROOT / file.split("/main/")[1]).exists(), (path, target)
            elif file and "://" not in file:
                place = os.path.normpath(Path(path).parent / file)
                assert place in site or (ROOT / "docs" / place).exists(), (path, target)


def test_the_menu_has_every_page(site: dict[str, str]) -> None:
    menu = re.search(r"^nav:\n.*", (ROOT / "docs" / "site.yml").read_text(), re.DOTALL | re.MULTILINE)
    assert menu
    named = re.findall(r"[\w/-]+\.md", str(yaml.safe_load(menu[0])))
    assert sorted(named) == sorted(path for path in site if not path.startswith("commands/"))


def test_man_pages_hold_nothing_but_their_own_requests(pages: Any, tmp_path: Path) -> None:
    manuals = pages.manuals()
    assert set(manuals) == {"kwhatif.1", *(f"kwhatif-{pages.slug(name)}.1" for name in pages.known())}
    for name, text in manuals.items():
        requests = {line.partition(" ")[0] for line in text.splitlines() if line.startswith((".", "'"))}
        assert requests <= {".TH", ".SH", ".TP", ".PP", ".B", ".BR", ".nf", ".fi"}, name
    if shutil.which("man") is None or shutil.which("groff") is None:
        return
    (tmp_path / "kwhatif-drain.1").write_text(manuals["kwhatif-drain.1"])
    shown = subprocess.run(
        ["man", "--warnings", "--local-file", "kwhatif-drain.1"],
        cwd=tmp_path,
        env=os.environ | {"LANG": "C.UTF-8", "MANWIDTH": "200", "MANPAGER": "cat"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "warning" not in shown.stderr
    assert "--ignore-daemonsets" in shown.stdout
    assert "what kubectl drain would do" in shown.stdout
