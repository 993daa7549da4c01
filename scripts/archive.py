"""Builds the self-contained archives: for each platform one file with everything that kwhatif needs but Python itself.

`make archive` builds them all, `make archive ONLY=here` the one for this machine and this Python. What goes in is what
requirements.lock names, held against its hashes. Beside each archive stands a `.tar.gz` of it for krew, whose manifest,
and Homebrew's formula, are written with the digests of these.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from string import Template
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from packaging import tags

from kwhatif import __version__

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "archive"
TEMPLATES = ROOT / "ci" / "packages"

#: Platforms by the names that Go, and so krew, gives them, with the tags of wheels that run there, the best first.
PLATFORMS = {
    "linux-amd64": ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64"),
    "linux-arm64": ("manylinux_2_28_aarch64", "manylinux2014_aarch64"),
    "darwin-amd64": ("macosx_13_0_x86_64",),
    "darwin-arm64": ("macosx_13_0_arm64",),
}
PYTHONS = ("3.11", "3.12", "3.13")
#: What is needed to build kwhatif, for the asynchronous half of the Kubernetes client, for source code in colours, or
#: for Windows.
LEFT_OUT = (
    *("editables", "hatchling", "packaging", "pathspec", "pluggy", "tomlkit", "trove-classifiers"),
    *("aiohappyeyeballs", "aiohttp", "aiohttp-retry", "aiosignal", "attrs", "frozenlist", "multidict", "propcache"),
    *("yarl", "pygments", "colorama"),
)
#: Files that kwhatif does not import: more than half of these packages. It has its own objects of Kubernetes.
PRUNED = {
    "cel_expr_python": ("bazel-project/*", "cel_expr_python/ext/*"),
    "kubernetes": ("kubernetes/aio/*", "kubernetes/client/models/[!_]*", "kubernetes/client/api/[!_]*", "*_test.py"),
    "zstandard": ("zstandard/_cffi*",),
}
#: As the recipes in docs/ write it.
HOME = "https://github.com/OWNER/kwhatif"
#: The most that an archive may weigh, in bytes.
MAX_SIZE = 40_000_000


def main() -> None:
    """Build the archives that were asked for into build/archive, and what refers to them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("here", *PLATFORMS), help="one platform; `here` is also this Python alone")
    parser.add_argument("--pex", type=Path, required=True, help="the pex command")
    parser.add_argument("--home", default=HOME, help="the page of the repository, for krew and Homebrew")
    arguments = parser.parse_args()
    here = arguments.only == "here"
    platforms = [this_platform()] if here else [arguments.only] if arguments.only else list(PLATFORMS)
    pythons = (f"{sys.version_info.major}.{sys.version_info.minor}",) if here else PYTHONS
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    digests = {name: krew_archive(build(arguments.pex, name, pythons)) for name in platforms}
    if not arguments.only:
        refer(__version__, arguments.home.rstrip("/"), digests)


def this_platform() -> str:
    """The name of the platform that this runs on."""
    machine = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine().lower()]
    return f"{platform.system().lower()}-{machine}"


def build(pex: Path, name: str, pythons: Iterable[str]) -> Path:
    """The archive for this platform, which runs on these Pythons."""
    wheels, pruned = BUILD / "wheels" / name, BUILD / "pruned" / name
    pruned.mkdir(parents=True)
    requirements = BUILD / "requirements.txt"
    requirements.write_text("".join(needed((ROOT / "requirements.lock").read_text())))
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, ROOT)
    for python in pythons:
        platforms = [option for tag in PLATFORMS[name] for option in ("--platform", tag)]
        run(
            *(
                *pip,
                "download",
                "--no-deps",
                "--only-binary",
                ":all:",
                "--require-hashes",
                "--requirement",
                requirements,
            ),
            *("--python-version", python, *platforms, "--dest", wheels),
        )
    for wheel in sorted(wheels.iterdir()):
        prune(wheel, pruned / wheel.name)
    archive = BUILD / f"kwhatif-{name}"
    targets = [option for python in pythons for option in ("--complete-platform", described(name, python))]
    run(
        *(pex, "kwhatif[metrics,zst]", "--pre-resolved-dists", pruned, *targets),
        *(option for package in LEFT_OUT for option in ("--exclude", package)),
        # It unpacks itself once, and from then on starts as an installed program does.
        *("--script", "kwhatif", "--venv", "--sh-boot", "--no-compile", "--output-file", archive),
    )
    size = archive.stat().st_size
    if size > MAX_SIZE:
        sys.exit(f"{archive.name} has {size:,} bytes, more than {MAX_SIZE:,}")
    print(f"{archive.relative_to(ROOT)}: {size / 1e6:.1f} MB, Python {', '.join(pythons)}")
    return archive


def described(name: str, python: str) -> str:
    """This Python on this platform, as pex wants it described: which wheels it takes, and what its markers say."""
    system, _, machine = name.partition("-")
    version = tuple(map(int, python.split(".")))
    if system == "darwin":
        machine = {"amd64": "x86_64"}.get(machine, machine)
        platforms = list(tags.mac_platforms((13, 0), machine))
    else:
        machine = {"amd64": "x86_64", "arm64": "aarch64"}[machine]
        platforms = [*(f"manylinux_2_{minor}_{machine}" for minor in range(28, 16, -1)), f"manylinux2014_{machine}"]
    short = f"cp{python.replace('.', '')}"
    taken = (*tags.cpython_tags(version, platforms=platforms), *tags.compatible_tags(version, short, platforms))
    markers = {
        "implementation_name": "cpython",
        "implementation_version": f"{python}.0",
        "os_name": "posix",
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": system.capitalize(),
        "platform_version": "",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": system,
    }
    return json.dumps({"marker_environment": markers, "compatible_tags": [str(tag) for tag in taken]})


def needed(lock: str) -> Iterator[str]:
    """The entries of a lock file, each with its hashes, but for what is left out."""
    for entry in re.findall(r"^\S+==.+\n(?:    --hash.+\n)+", lock, re.MULTILINE):
        if entry.partition("==")[0] not in LEFT_OUT:
            yield entry


def prune(wheel: Path, target: Path) -> None:
    """A copy of the wheel without the files that nothing imports, neither in the wheel nor in its list of files."""
    patterns = PRUNED.get(wheel.name.partition("-")[0], ())
    if not patterns:
        shutil.copy(wheel, target)
        return

    def is_kept(name: str) -> bool:
        return not any(fnmatch(name, pattern) for pattern in patterns)

    with ZipFile(wheel) as source, ZipFile(target, "w", ZIP_DEFLATED) as copy:
        for member in source.infolist():
            content = source.read(member)
            if member.filename.endswith(".dist-info/RECORD"):
                rows = [row for row in csv.reader(io.StringIO(content.decode())) if is_kept(row[0])]
                text = io.StringIO()
                csv.writer(text, lineterminator="\n").writerows(rows)
                content = text.getvalue().encode()
            if is_kept(member.filename):
                kept = ZipInfo(member.filename, member.date_time)
                kept.external_attr, kept.compress_type = member.external_attr, ZIP_DEFLATED
                copy.writestr(kept, content)


def krew_archive(archive: Path) -> str:
    """The SHA-256 of a `.tar.gz` with the plugin and its license, as krew wants it; the same files give the same."""
    target = archive.with_name(f"{archive.name}.tar.gz")
    with (
        target.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=1, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as files,
    ):
        for name, path, mode in (("kubectl-whatif", archive, 0o755), ("LICENSE", ROOT / "LICENSE", 0o644)):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = path.stat().st_size, mode
            with path.open("rb") as content:
                files.addfile(entry, content)
    return hashlib.sha256(target.read_bytes()).hexdigest()


def refer(version: str, home: str, digests: dict[str, str]) -> None:
    """Write krew's manifest and Homebrew's formula of their templates, for the files of a release on GitHub."""
    values = {"version": version, "home": home, "url": f"{home}/releases/download/v{version}"}
    values |= {f"sha_{name.replace('-', '_')}": digest for name, digest in digests.items()}
    for template in sorted(TEMPLATES.glob("*.in")):
        target = BUILD / template.stem
        target.write_text(Template(template.read_text()).substitute(values))
        print(target.relative_to(ROOT))


def run(*command: object) -> None:
    """Run it; what it says is shown only by its failure."""
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{' '.join(str(part) for part in command[:4])} …:\n{done.stdout}{done.stderr}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
