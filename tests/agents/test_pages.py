"""What is too large for one message is cut, and can be read page by page; what is said stays within its budget."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.cli.mcp.pages import PAGE, Shelf, Unknown, address, cut, page_of, size
from kwhatif.cli.mcp.server import fenced
from kwhatif.render.blocks import Block, Heading, Item, Listing, Sentence, Table, Verdict, name, number
from kwhatif.render.brief import lines_within, tokens
from tests.examples import examples

ROWS = [{"node": f"node-{place}", "reasons": ["Insufficient cpu"] * 3, "message": "x" * 50} for place in range(2_000)]
REPORT = {"kind": "Report", "decisions": [{"pod": "a/b", "rejected": ROWS}], "snapshot": {"nodes": 2_000}}


def test_a_small_report_is_whole() -> None:
    assert cut({"a": [1, 2]}, "kwhatif://reports/1") == ({"a": [1, 2]}, [])


def test_a_large_report_says_what_is_not_in_it_and_where_that_is() -> None:
    made, left_out = cut(REPORT, "kwhatif://reports/1")
    assert size(made) <= PAGE
    assert made["snapshot"] == {"nodes": 2_000}
    assert 0 < len(made["decisions"][0]["rejected"]) < 2_000
    resource = "kwhatif://reports/1/decisions/0/rejected"
    assert left_out == [{"part": "decisions/0/rejected", "rows": 2_000, "resource": resource}]


def test_the_pages_of_a_list_are_all_of_it() -> None:
    uri = "kwhatif://reports/1/decisions/0/rejected"
    first = page_of(REPORT, address(uri))
    pages = [page_of(REPORT, address(f"{uri}?page={number}")) for number in range(1, first["pages"] + 1)]
    assert pages[0] == first
    assert [row for page in pages for row in page["rows"]] == ROWS
    assert all(size(page) <= PAGE + 500 for page in pages)
    assert [page["first"] for page in pages[:2]] == [1, len(first["rows"]) + 1]
    with pytest.raises(Unknown, match="there is no page 0"):
        page_of(REPORT, address(f"{uri}?page=0"))


def test_names_with_slashes_are_steps_of_a_path() -> None:
    document = {"labels": {"example.com/team": ["a"]}}
    assert page_of(document, address("kwhatif://inventory/labels/example.com%2Fteam"))["rows"] == ["a"]


def test_only_the_latest_reports_are_kept() -> None:
    shelf = Shelf()
    uris = [shelf.add({"number": number}) for number in range(40)]
    assert shelf.report(uris[-1]) == {"number": 39}
    assert len(shelf.reports) < 40
    with pytest.raises(Unknown, match=r"there are kwhatif://reports/\d+ to kwhatif://reports/40"):
        shelf.report(uris[0])


def test_of_large_reports_fewer_are_kept() -> None:
    shelf = Shelf()
    uris = [shelf.add({"text": "x" * (30 << 20)}) for _ in range(3)]
    assert shelf.reports == [uris[2], uris[1]]


TREES = st.recursive(
    st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=5), inner, max_size=8),
    max_leaves=40,
)


@settings(max_examples=examples(50))
@given(st.dictionaries(st.text(max_size=5), TREES, max_size=5), st.integers(200, 500))
def test_whatever_is_left_out_is_named(tree: dict[str, Any], most: int) -> None:
    made, left_out = cut(tree, "kwhatif://reports/1", most)
    assert bool(left_out) or json.dumps(made) == json.dumps(tree)
    for left in left_out[:20]:
        if left["part"] != "and others":
            page = page_of(tree, address(left["resource"]))
            assert left["rows"] == (page["of"] if "of" in page else len(page["value"]))


@settings(max_examples=examples(50))
@given(st.text(alphabet="=- \nab✔\u202e", max_size=200))
def test_no_text_ends_the_fence_around_it(text: str) -> None:
    first, *inner, last = fenced(text).split("\n")
    bar = last.partition(" ")[0]
    assert first.startswith(f"{bar} data")
    assert not any(line.strip().startswith(bar) for line in inner)


def test_a_summary_has_less_of_each_table_where_there_is_little_room() -> None:
    table = Table([name("Pod"), number("Priority")], [(f"shop/web-{place}", place) for place in range(200)])
    items = Listing([Item(f"the caveat number {place}") for place in range(30)])
    blocks: list[Block] = [Verdict("it fits", "good"), Heading("Pods"), table, Sentence("So be it"), items]
    wide, narrow = (lines_within(blocks, most, 30) for most in (2_000, 150))
    assert "… 180 more" in wide
    assert "- the caveat number 19" in wide
    assert narrow[0] == wide[0] == "✔ it fits"
    assert "- the caveat number 0" in narrow
    assert tokens("\n".join(narrow)) <= 150
    assert lines_within([Sentence(f"number {place}") for place in range(500)], 500, 2)[-1].endswith(
        "more lines; the answer has 2 caveats"
    )


@pytest.mark.parametrize(
    ("text", "least"),
    [("shop/web-797b5c4998-g47sl", 12), ("Insufficient cpu", 3), ("", 0), ("✔", 3), ("a\n\nb", 4)],
)
def test_tokens_are_not_fewer_than_a_tokenizer_makes(text: str, least: int) -> None:
    assert tokens(text) >= least
