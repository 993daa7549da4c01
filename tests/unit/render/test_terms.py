"""What `kwhatif explain` says: short, about words that reports use, and found however they are written."""

import re
from collections import Counter

import pytest

from kwhatif.render.terms import TERMS, find_term, like_term, summary
from tests import ROOT
from tests.cli.running import run

#: Where it stands what reports print: the goldens, the documentation, and the sentences themselves.
PRINTED = ("fixtures/cli/*.txt", "docs/*.md", "README.md", "kwhatif/render/**/*.py")


@pytest.mark.parametrize("name", TERMS)
def test_a_term_has_at_most_six_lines_of_at_most_100_columns(name: str) -> None:
    ran = run(f"kwhatif explain {name}")
    lines = ran.stdout.splitlines()
    assert (ran.code, ran.stderr, lines[0]) == (0, "", name)
    assert 4 <= len(lines) <= 6
    assert max(map(len, lines)) <= 100


def test_the_list_has_one_line_for_each_term() -> None:
    lines = run("kwhatif explain").stdout.splitlines()
    assert [line.rstrip().endswith(".") for line in lines] == [True] * len(TERMS)
    assert {line.split("  ")[0] for line in lines} == set(TERMS)
    assert max(map(len, lines)) <= 100


def test_a_narrow_terminal_has_narrow_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    for command in ("kwhatif explain", "kwhatif explain gang"):
        assert max(map(len, run(command).stdout.splitlines())) <= 60


def test_what_is_quoted_is_what_reports_print() -> None:
    files = [path for pattern in PRINTED for path in ROOT.glob(pattern) if not path.name.startswith("explain")]
    printed = " ".join(" ".join(path.read_text().split()) for path in files)
    quoted = {quote for term in TERMS.values() for quote in re.findall("`([^`]+)`", term.seen)}
    missing = {
        quote for quote in quoted if not quote.startswith(("kwhatif ", "kubectl ", "--")) and quote not in printed
    }
    assert missing == set()


@pytest.mark.parametrize(
    ("written", "term"),
    [
        ("nominated", "nominated"),
        ("NOMINATED", "nominated"),
        ("notready-taint", "NotReady taint"),
        ("Not Ready Taint", "NotReady taint"),
        ("poddisruptionbudget", "PodDisruptionBudget"),
        ("pod disruption budget", "PodDisruptionBudget"),
        ("pdb", "PodDisruptionBudget"),
        ("anti affinity", "affinity"),
        ("nominatd", None),
        ("", None),
    ],
)
def test_case_spaces_and_hyphens_do_not_matter(written: str, term: str | None) -> None:
    assert find_term(written) == term


def test_what_is_much_like_a_term_is_proposed_once() -> None:
    assert like_term("nominatd")[:1] == ["nominated"]
    assert like_term("tolerat") == ["toleration"]
    assert like_term("zzzz") == []


def test_no_word_leads_to_two_terms() -> None:
    meant = {(re.sub("[ -]", "", word.lower()), name) for name, term in TERMS.items() for word in (name, *term.also)}
    assert [word for word, count in Counter(word for word, _ in meant).items() if count > 1] == []


def test_what_is_not_known_is_wrong_usage() -> None:
    ran = run("kwhatif explain zzzz")
    assert (ran.code, ran.stdout) == (2, "")
    assert "there is no term 'zzzz' (kwhatif explain lists all terms)" in ran.stderr
    assert "\x1b" not in run("kwhatif explain '\x1b[31m'").stderr


def test_a_summary_is_the_first_sentence() -> None:
    assert summary(TERMS["victim"]) == "A running pod that preemption evicts."
