"""What a run writes: its table, and its section of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cache_scripts import fuzz
from tests.cache_scripts.fuzz import Row, table, write_doc
from tests.cache_scripts.generate import script
from tests.cache_scripts.play import play

ROWS = {"watch": Row(1200, 1200, 48000, 0, 0), "refused": Row(10, 10, 390, 25, 2)}


def test_the_table_sums_up() -> None:
    assert table(ROWS).splitlines()[2:] == [
        "| watch | 1,200 | 1,200 | 48,000 | 0 |",
        "| refused | 10 | 10 | 390 | 25 |",
        "| all | 1,210 | 1,210 | 48,390 | 25 |",
    ]


@pytest.mark.parametrize("after", ["", "\n## The scheduling queue\n\nAll agree.\n"])
def test_the_section_takes_the_place_of_an_older_one(
    after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, "ROOT", tmp_path)
    page = tmp_path / "docs" / "conformance.md"
    page.parent.mkdir()
    page.write_text(f"# How exact\n\n## The result\n\nAll agree.\n{after}")
    write_doc(ROWS, 7)
    first = page.read_text()
    assert first.startswith("# How exact\n\n## The result\n\nAll agree.\n\n## The scheduler's cache\n")
    assert "`make fuzz-cache N=1210 SEED=7`" in first
    assert first.endswith(after)
    write_doc(ROWS, 7)
    assert page.read_text() == first


def test_a_script_on_which_the_judge_contradicts_itself_is_compared_up_to_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = script("watch", 1)
    wanted = [dict(state) for state in play(one)]
    wanted[5]["assumed"] = ["somebody"]
    monkeypatch.setattr(fuzz, "judge", lambda scripts: [wanted] * len(scripts))
    row, problem = fuzz.compare(one, wanted)
    assert row.agreements == 0
    assert "operation 5" in problem
    monkeypatch.setattr(fuzz, "judge", lambda scripts: [play(one)] * len(scripts))
    assert fuzz.compare(one, wanted) == (Row(1, 1, 5, 0, 1), "")
