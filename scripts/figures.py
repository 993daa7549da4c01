"""How much was compared, and with whom: counted where it is recorded, in fixtures/ and docs/conformance.md."""

from __future__ import annotations

import lzma
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: What was compared with whom; the cases that are stored (files or lines, in fixtures/), and the section of
#: docs/conformance.md that says how many random ones were compared.
COMPARED = (
    (
        "a pod: nodes, scores, reasons, messages, evictions",
        "kube-scheduler 1.36.2",
        "conformance/*/*/cluster.yaml",
        "The result",
    ),
    ("pods placed in turn", "kube-scheduler 1.36.2", "sequences/*/*/expected.json", ""),
    ("the scheduling queue and its hints", "kube-scheduler 1.36.2", "queue/scripts.jsonl.xz", "The scheduling queue"),
    ("groups of pods", "kube-scheduler 1.37", "gangs/*.jsonl", ""),
    ("rollouts, drains, losses, to their ends", "a whole control plane 1.36.2", "stories/*/outcome.json", ""),
    ("a cycle of the descheduler", "descheduler 0.36.0", "descheduler/cases.jsonl.xz", "Descheduling"),
    ("which nodes come and go", "Cluster Autoscaler 1.36.1", "cluster_autoscaler/cases.jsonl.xz", ""),
    ("which nodes come and go", "Karpenter 1.14.1", "karpenter/cases.jsonl.xz", ""),
)


def figures() -> str:
    """How much was compared, counted where it is recorded: in fixtures/ and docs/conformance.md."""
    sections = (ROOT / "docs" / "conformance.md").read_text().split("\n## ")
    lines = ["| what | decided by | stored cases | random cases | of them, agree |", "|---|---|---:|---:|---:|"]
    for what, judge, pattern, title in COMPARED:
        files = list((ROOT / "fixtures").glob(pattern))
        stored = sum(len(lines_of(path)) if ".jsonl" in path.name else 1 for path in files)
        assert stored, pattern
        cases, agreements = in_all(next(each for each in sections if each.startswith(title))) if title else ("", "")
        lines.append(f"| {what} | {judge} | {stored:,} | {cases} | {agreements} |")
    return "\n".join(lines)


def lines_of(path: Path) -> list[bytes]:
    """The cases of a file, one a line."""
    content = path.read_bytes()
    return (lzma.decompress(content) if path.suffix == ".xz" else content).splitlines()


def in_all(section: str) -> tuple[str, str]:
    """Cases and agreements of the first table of a section, all families together."""
    table = section.partition("|---")[2].partition("\n")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    families = [row for row in rows if row[0] != "all"]
    cases, agreements = (sum(int(row[column].replace(",", "")) for row in families) for column in (1, 2))
    return f"{cases:,}", f"{agreements:,}"
