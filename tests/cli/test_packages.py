"""What is installed is pinned: the lock files hold what pyproject.toml asks for, with hashes; the image copies what there is."""

import csv
import importlib.util
import io
import json
import re
import tarfile
import tomllib
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
LOCKS = {
    "requirements.lock": ("zst", "build"),
    "requirements-dev.lock": ("zst", "build", "dev"),
    "requirements-browser.lock": ("zst", "build", "dev", "browser"),
    "requirements-release.lock": ("zst", "build", "release"),
}


def locked(name: str) -> dict[str, tuple[Requirement, int]]:
    """Package -> what is pinned, and the number of its hashes."""
    text = (ROOT / name).read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    pinned = [(Requirement(line.split(" --hash=")[0]), line.count(" --hash=sha256:")) for line in lines]
    return {canonicalize_name(requirement.name): (requirement, hashes) for requirement, hashes in pinned}


@pytest.mark.parametrize("name", LOCKS)
def test_locks_pin_what_the_project_asks_for(name: str) -> None:
    extras = [text for extra in LOCKS[name] for text in PROJECT["optional-dependencies"][extra]]
    check_lock(name, [*PROJECT["dependencies"], *extras])


@pytest.mark.parametrize("tool", PYPROJECT["dependency-groups"])
def test_tools_beside_kwhatif_are_pinned_each_alone(tool: str) -> None:
    check_lock(f"requirements-{tool}.lock", PYPROJECT["dependency-groups"][tool])


def check_lock(name: str, wanted: list[str]) -> None:
    pinned = locked(name)
    for asked in map(Requirement, wanted):
        assert canonicalize_name(asked.name) in pinned, f"{asked.name} is not in {name}: run `make lock`"
        (version,) = pinned[canonicalize_name(asked.name)][0].specifier
        assert version.operator == "=="
        assert asked.specifier.contains(version.version), f"{asked} is not what {name} has: run `make lock`"
    assert all(hashes for _, hashes in pinned.values())
    assert "://" not in (ROOT / name).read_text()


def test_what_users_get_is_what_was_tested() -> None:
    tested = locked("requirements-dev.lock")
    for package, pinned in locked("requirements.lock").items():
        assert tested[package] == pinned


def test_the_image_copies_what_there_is_and_runs_without_rights() -> None:
    text = (ROOT / "Dockerfile").read_text()
    sources = [
        source for line in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE) for source in line.split()
    ]
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert set(sources) == let_through
    assert all((ROOT / source).exists() for source in sources)
    user = re.findall(r"^USER (\d+):(\d+)$", text, re.MULTILINE)[-1]
    assert all(int(number) > 0 for number in user)
    assert text.index("USER ") < text.index("ENTRYPOINT ")


@pytest.fixture(scope="module")
def archive() -> Any:
    """`scripts/archive.py`, which is not in a package."""
    spec = importlib.util.spec_from_file_location("archive", ROOT / "scripts" / "archive.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_archive_holds_all_that_kwhatif_imports_and_nothing_to_build_with(archive: Any) -> None:
    whole = locked("requirements.lock")
    held = {
        canonicalize_name(entry.partition("==")[0])
        for entry in archive.needed((ROOT / "requirements.lock").read_text())
    }
    assert held == set(whole) - set(archive.LEFT_OUT)
    assert set(archive.LEFT_OUT) <= set(whole)
    asked = [
        *PROJECT["dependencies"],
        *(text for extra in ("zst", "metrics") for text in PROJECT["optional-dependencies"][extra]),
    ]
    assert {canonicalize_name(Requirement(text).name) for text in asked} <= held


def test_a_pruned_wheel_lists_what_is_in_it(archive: Any, tmp_path: Path) -> None:
    wheel, pruned = tmp_path / "kubernetes-1-py3-none-any.whl", tmp_path / "pruned.whl"
    files = ["kubernetes/client.py", "kubernetes/aio/client.py", "kubernetes-1.dist-info/RECORD"]
    with ZipFile(wheel, "w") as content:
        for name in files:
            content.writestr(name, "".join(f"{each},,\n" for each in files) if name.endswith("RECORD") else "")
    archive.prune(wheel, pruned)
    with ZipFile(pruned) as content:
        left = [files[0], files[2]]
        assert content.namelist() == left
        assert [row[0] for row in csv.reader(io.StringIO(content.read(files[2]).decode()))] == left


@pytest.mark.parametrize("name", ["linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"])
def test_a_platform_takes_its_own_wheels(archive: Any, name: str) -> None:
    described = json.loads(archive.described(name, "3.12"))
    tags = described["compatible_tags"]
    assert described["marker_environment"]["sys_platform"] == name.partition("-")[0]
    assert any(tag == f"cp312-cp312-{archive.PLATFORMS[name][0]}" for tag in tags)
    assert "py3-none-any" in tags
    machines = {"linux-amd64": "x86_64", "linux-arm64": "aarch64", "darwin-amd64": "x86_64", "darwin-arm64": "arm64"}
    assert {tag.rpartition("-")[2] for tag in tags if "_" in tag and not tag.endswith(machines[name])} <= {
        tag.rpartition("-")[2] for tag in tags if re.search(r"(universal2?|intel|fat\w*|any)$", tag)
    }


def test_krew_and_homebrew_are_given_every_platform(
    archive: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "BUILD", tmp_path)
    monkeypatch.setattr(archive, "ROOT", tmp_path)
    digests = {name: f"{number}" * 64 for number, name in enumerate(archive.PLATFORMS)}
    archive.refer("1.2.3", "https://example.com/a/kwhatif", digests)
    manifest = yaml.safe_load((tmp_path / "whatif.yaml").read_text())
    found = {
        "-".join((each["selector"]["matchLabels"]["os"], each["selector"]["matchLabels"]["arch"])): each
        for each in manifest["spec"]["platforms"]
    }
    assert set(found) == set(archive.PLATFORMS)
    formula = (tmp_path / "kwhatif.rb").read_text()
    for name, each in found.items():
        assert each["uri"] == f"https://example.com/a/kwhatif/releases/download/v1.2.3/kwhatif-{name}.tar.gz"
        assert each["sha256"] == digests[name]
        assert f'url "{each["uri"]}"\n      sha256 "{each["sha256"]}"' in formula
    assert manifest["spec"]["version"] == "v1.2.3"


def test_krew_finds_the_plugin_and_the_license_and_gets_the_same_bytes_again(archive: Any, tmp_path: Path) -> None:
    file = tmp_path / "kwhatif-linux-amd64"
    file.write_bytes(b"#!/bin/sh\n")
    digest = archive.krew_archive(file)
    assert archive.krew_archive(file) == digest
    with tarfile.open(tmp_path / "kwhatif-linux-amd64.tar.gz") as packed:
        assert {member.name: member.mode for member in packed} == {"kubectl-whatif": 0o755, "LICENSE": 0o644}
