"""Advice on conformance cases and random clusters: it holds, all of it is needed, and a single change is not missed.

The cases are edited as files, and asked about anew. `make fuzz-advice` asks kube-scheduler's own framework instead.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from tests.differential.advice import Checker
from tests.differential.generate import FAMILIES, generate
from tests.differential.judge import decide
from tests.differential.scene import Case

CONFORMANCE = sorted(Path("fixtures/conformance").glob("*/*/pod.yaml"))
#: Every so many of them.
_STEP = 16

_NAMES = {"Placed": "fits", "Preempts": "evicts"}


def _outcomes(folders: Sequence[Path]) -> list[str]:
    return [_NAMES.get(decide(folder).get("outcome", ""), "nowhere") for folder in folders]


def _case(path: Path) -> Case:
    """A conformance case."""
    documents = [each for each in yaml.load_all((path.parent / "cluster.yaml").read_bytes(), yaml.CSafeLoader) if each]
    items = [item for each in documents for item in (each["items"] if each["kind"] == "List" else [each])]
    config = path.parent / "config.yaml"
    read = yaml.safe_load(config.read_text()) if config.exists() else None
    return Case(path.parent.name, path.parent.parent.name, "", items, yaml.safe_load(path.read_text()), read)


@pytest.mark.parametrize("path", CONFORMANCE[::_STEP], ids=lambda path: path.parent.name)
def test_conformance_cases(path: Path, tmp_path: Path) -> None:
    assert Counter(Checker(_outcomes, tmp_path).check(_case(path)))["wrong"] == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_random_clusters(family: str, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for index in range(4):
        counts.update(Checker(_outcomes, tmp_path).check(generate(family, 21, index)))
    assert counts["cases"] == 4
    assert counts["wrong"] == 0
