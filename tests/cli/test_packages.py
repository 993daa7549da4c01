"""What is installed is pinned: the lock files hold what pyproject.toml asks for, with hashes; the image copies what there is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
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
    pinned = locked(name)
    extras = [text for extra in LOCKS[name] for text in PROJECT["optional-dependencies"][extra]]
    for asked in map(Requirement, [*PROJECT["dependencies"], *extras]):
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
