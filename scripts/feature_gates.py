"""Make the table of feature gates that kube-scheduler knows, release by release.

usage: feature_gates.py vX.Y.Z... (needs Go, which fetches the modules of each version)

Writes kwhatif/schema/feature-gates.json: minor version -> gate -> `+` on, `-` off by default, doubled where the gate is
locked to that; `a`, `b`, `g` or `d` for alpha, beta, GA or deprecated; `!` where something asks about it that decides
what kwhatif answers; then the gates that it may only be on together with. The same versions give the same bytes.
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
#: What decides where pods land and what becomes of them: of other gates no answer depends.
DECIDE = (
    "pkg/scheduler",
    "pkg/quota",
    "pkg/apis/core/v1",
    *(f"plugin/pkg/admission/{name}" for name in ("limitranger", "podtopologylabels", "priority", "resourcequota")),
    *(
        f"pkg/controller/{name}"
        for name in (
            *("cronjob", "daemon", "deployment", "devicetainteviction", "disruption", "garbagecollector", "job"),
            *("nodelifecycle", "podgc", "replicaset", "replication", "resourceclaim", "statefulset", "tainteviction"),
            *("volume/ephemeral", "volume/persistentvolume"),
        )
    ),
)
NAME = re.compile(r'^\s*(\w+)\s+(?:\w+\.)?Feature\s*=\s*"(\w+)"', re.MULTILINE)
SPEC = re.compile(
    r"(?:Version: \w+\.(?:MustParse\(\"(\d+\.\d+)\"\)|Major\w*\((\d+), (\d+)\)).*?)?Default:\s*(true|false)(.*)"
)
COMPATIBLE = re.compile(r"MinCompatibilityVersion: \w+\.MustParse\(\"1\.(\d+)\"\)")
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
    asked = asked_about(download("kubernetes", version))
    for module, files in FILES.items():
        folder = download(module, version if module == "kubernetes" else version.replace("v1.", "v0.", 1))
        for file in files:
            text = (folder / file).read_text()
            specs, _, dependencies = text.partition("GateDependencies = map")
            names = dict(NAME.findall(text))
            for constant, spec in found_specs(specs):
                code = default_at(spec, minor)
                if code:
                    mark = "!" if module == "kubernetes" and constant in asked else ""
                    found.setdefault(names.get(constant, constant), code + mark)
            for constant, needs in NEEDS.findall(dependencies):
                needed = [need.rpartition(".")[2] for need in re.findall(r"[\w.]+", needs)]
                if needed and constant in found:
                    found[constant] += " " + " ".join(needed)
    return found


def asked_about(source: Path) -> set[str]:
    """The constants of gates that code asks about which decides something."""
    files = (file for folder in DECIDE for file in (source / folder).rglob("*.go") if not file.stem.endswith("_test"))
    return {name for file in files for name in re.findall(r"\bfeatures\.([A-Z]\w+)", file.read_text())}


def found_specs(text: str) -> Iterator[tuple[str, str]]:
    """The entries of the maps from gates to what they are, version by version."""
    constant = ""
    lines: list[str] = []
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
    """What holds at that version; "" where the gate is not known yet.

    What needs a `MinCompatibilityVersion` does not hold: unless a flag says otherwise, servers stay compatible with the
    version before their own (`component-base/featuregate/feature_gate.go`).
    """
    code = ""
    for text in spec.splitlines():
        line = text.partition("//")[0]  # comments say what later versions will lock
        match = SPEC.search(line)
        if match is None:
            continue
        needed = COMPATIBLE.search(line)
        if needed is not None and int(needed.group(1)) >= minor:
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
