"""The generator, without its judge: cases are repeatable, kwhatif accepts them, and they are about something."""

from collections import Counter
from pathlib import Path

import pytest

from tests.differential import document, files, judge
from tests.differential.bench import Tally
from tests.differential.generate import FAMILIES, generate
from tests.differential.scene import Case
from tests.differential.shrink import shrink
from tests.differential.table import Table

SEED = 20260701


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_seed_gives_the_same_case(family: str) -> None:
    assert generate(family, SEED, 3) == generate(family, SEED, 3)
    assert generate(family, SEED, 3) != generate(family, SEED + 1, 3)


@pytest.mark.parametrize("family", FAMILIES)
def test_kwhatif_decides_generated_cases(family: str, tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    for index in range(12):
        case = generate(family, SEED, index)
        decision = judge.decide(files.write(case, tmp_path / case.name))
        outcomes[decision.get("outcome", "refused")] += 1
    assert outcomes["refused"] <= 2, outcomes
    assert len(outcomes) > 1, f"all cases of {family} come out alike"


def test_the_command_line_says_the_same(tmp_path: Path) -> None:
    for index in range(3):
        case = generate("mixed", SEED, index)
        folder = files.write(case, tmp_path / case.name)
        assert judge.decide_by_command(folder) == judge.decide(folder)


def test_a_disagreement_is_made_small() -> None:
    case = generate("mixed", SEED, 1)
    culprit = case.cluster[-1]["metadata"]["name"]

    def shows(smaller: Case) -> bool:
        return any(obj.get("metadata", {}).get("name") == culprit for obj in smaller.cluster)

    small = shrink(case, shows)
    assert [obj["metadata"]["name"] for obj in small.cluster] == [culprit]


def test_the_document_wants_enough_cases_and_no_disagreement(tmp_path: Path) -> None:
    few = Table(["ports"])
    few.add(Tally("ports", 10, Counter(fits=10), 0, []))
    assert document.write(few, tmp_path / "conformance.md", "v1.0.0", 1) == "10 cases of ports are fewer than 2000"


def test_the_document_lists_what_was_found(tmp_path: Path) -> None:
    case = tmp_path / "fixtures" / "conformance" / "ports" / "101"
    case.mkdir(parents=True)
    (case / "expected.json").write_text("{}")
    (case / "case.txt").write_text("host ports -> fits\nWas wrong: a port of a sidecar was overlooked\n")
    (tmp_path / "docs").mkdir()
    table = Table(["ports"])
    table.add(Tally("ports", 2000, Counter(fits=1500, evicts=500), 0, []))
    page = tmp_path / "docs" / "conformance.md"
    assert document.write(table, page, "v1.36.2", 7) is None
    text = page.read_text()
    assert "| ports | 2,000 | 2,000 | 1,500 | 500 | 0 | 0 | 0 | 0 | 0 | 0 |" in text
    assert "| ports/101 | a port of a sidecar was overlooked |" in text
    assert "make conformance N=2000 SEED=7" in text


def test_each_release_has_a_section_of_its_own(tmp_path: Path) -> None:
    page = tmp_path / "conformance.md"
    page.write_text("# How exact\n\n## The queue\n\nAll agree.\n")
    table = Table(["ports"])
    table.add(Tally("ports", 200, Counter(fits=200), 0, []))
    assert document.write(table, page, "v1.35.4", 7, "1.35") is None
    assert document.write(table, page, "v1.34.4", 7, "1.34") is None
    once = page.read_text()
    assert "make conformance RELEASE=1.35 N=200 SEED=7" in once
    assert document.write(table, page, "v1.35.4", 7, "1.35") is None
    assert page.read_text() == once
    few = Table(["ports"])
    few.add(Tally("ports", 20, Counter(fits=20), 0, []))
    assert document.write(few, page, "v1.35.4", 7, "1.35") == "20 cases of ports are fewer than 200"


def test_the_document_keeps_what_other_comparisons_have_written(tmp_path: Path) -> None:
    (tmp_path / "fixtures" / "conformance").mkdir(parents=True)
    page = tmp_path / "conformance" / "conformance.md"
    page.parent.mkdir()
    table = Table(["ports"])
    table.add(Tally("ports", 2000, Counter(fits=2000), 0, []))
    document.write(table, page, "v1.36.2", 7)
    alone = page.read_text()
    page.write_text(alone + "\n## The scheduling queue\n\nAll agree.\n\n## The last\n\nSo do these.\n")
    together = page.read_text()
    document.write(table, page, "v1.36.2", 7)
    assert page.read_text() == together
