"""Make the table of feature gates that kube-scheduler knows, release by release.

usage: feature_gates.py vX.Y.Z... (needs Go, which fetches the modules of each version)

Writes kwhatif/schema/feature-gates.json: minor version -> gate -> `+` on, `-` off by default, doubled where the gate is
locked to that; `a`, `b`, `g` or `d` for alpha, beta, GA or deprecated; then the gates that it may only be on together
with. The same versions give the same bytes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

TABLE = Path(__file__).parents[1] / "kwhatif" / "schema" / "feature-gates.json"
#: Module -> the files that register gates in the binary of kube-scheduler.
FILES = {
    "kubernetes": ["pkg/features/kube_features.go"],
    "apiserver": ["pkg/features/kube_features.go"],
    "apiextensions-apiserver": ["pkg/features/kube_features.go"],
    "client-go": ["features/known_features.go"],
    "controller-manager": ["pkg/features/kube_features.go"],
    "component-base": [
        "logs/api/v1/kube_features.go",
        "metrics/features/kube_features.go",
        "zpages/features/kube_features.go",
    ],
}
NAME = re.compile(r'^\s*(\w+)\s+(?:\w+\.)?Feature\s*=\s*"(\w+)"', re.MULTILINE)
SPEC = re.compile(
    r"(?:Version: \w+\.(?:MustParse\(\"(\d+\.\d+)\"\)|Major\w*\((\d+), (\d+)\)).*?)?Default:\s*(true|false)(.*)"
)
NEEDS = re.compile(r"^\t(?:\w+\.)?(\w+): \{([\w., \n\t]*)\},(?: //.*)?$", re.MULTILINE)


def main(versions: list[str]) -> None:
    table = {}
    for version in versions:
        minor = version.removeprefix("v").rpartition(".")[0]
        table[minor] = dict(sorted(gates(version, int(minor.partition(".")[2])).items()))
    TABLE.write_text(json.dumps(table, indent=0, sort_keys=True) + "\n")
    print({minor: len(found) for minor, found in table.items()})


def gates(version: str, minor: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for module, files in FILES.items():
        folder = download(module, version if module == "kubernetes" else version.replace("v1.", "v0.", 1))
        for file in files:
            text = (folder / file).read_text()
            specs, _, dependencies = text.partition("GateDependencies = map")
            names = dict(NAME.findall(text))
            for constant, spec in found_specs(specs):
                code = default_at(spec, minor)
                if code:
                    found.setdefault(names.get(constant, constant), code)
            for constant, needs in NEEDS.findall(dependencies):
                needed = [need.rpartition(".")[2] for need in re.findall(r"[\w.]+", needs)]
                if needed and constant in found:
                    found[constant] += " " + " ".join(needed)
    return found


def found_specs(text: str) -> Iterator[tuple[str, str]]:
    """The entries of the maps from gates to what they are, version by version."""
    constant, lines = "", []
    for line in text.splitlines():
        one = re.match(r"^\t+(?:\w+\.)?(\w+):\s+\{(.*Default:.*)\},?", line)
        head = re.match(r"^\t+(?:\w+\.)?(\w+):\s+(?:\w+\.VersionedSpecs)?\{$", line)
        if one:
            yield one.group(1), one.group(2)
        elif head:
            constant, lines = head.group(1), []
        elif constant and line.strip() == "},":
            yield constant, "\n".join(lines)
            constant = ""
        elif constant:
            lines.append(line)


def default_at(spec: str, minor: int) -> str:
    """What holds at that version; "" where the gate is not known yet."""
    code = ""
    for line in spec.splitlines():
        match = SPEC.search(line)
        if match is None or line.lstrip().startswith("//"):
            continue
        since = (match.group(1) or "1.0").partition(".")[2]
        if int(match.group(3) or since) <= minor:
            sign = "+" if match.group(4) == "true" else "-"
            stage = re.search(r"PreRelease:\s*(?:\w+\.)?(\w)", match.group(5))
            code = sign * (2 if "LockToDefault: true" in match.group(5) else 1) + (
                stage.group(1).lower() if stage else "g"
            )
    return code


def download(module: str, version: str) -> Path:
    asked = ["go", "mod", "download", "-json", f"k8s.io/{module}@{version}"]
    return Path(json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)["Dir"])


if __name__ == "__main__":
    main(sys.argv[1:])
