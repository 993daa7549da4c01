"""Tables in narrow terminals: names stay whole as long as there is room, and nothing is lost when there is not."""

import io

import pytest
from rich.console import Console

from kwhatif.render.blocks import Block, Item, Listing, Row, Table, number, words
from kwhatif.render.detail import Detail
from kwhatif.render.terminal import draw, table, text

NAME = "team-a/checkout-7c9d4b6f5-x2x9v"
PROSE = "the budget allows no disruption at this moment and the scheduler prefers other nodes"


def _shown(width: int) -> str:
    made = table("VICTIM", "PRIORITY", "WHY", right=("PRIORITY",))
    made.add_row(text(NAME), text(-100), text(PROSE))
    Console(file=(file := io.StringIO()), width=width).print(made)
    return file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_prose_gives_way_to_names(width: int) -> None:
    shown = _shown(width)
    assert NAME in shown
    assert "-100" in shown
    assert max(map(len, shown.splitlines())) <= width


@pytest.mark.parametrize("width", [20, 30, 45])
def test_nothing_is_lost_where_not_even_words_fit(width: int) -> None:
    shown = _shown(width)
    assert max(map(len, shown.splitlines())) <= width
    assert "".join(shown.split()) == f"{NAME}priority:-100why:{PROSE}".replace(" ", "")


def test_a_row_becomes_lines_whose_words_are_whole() -> None:
    made = table("", "WORKLOAD", "MANIFEST", "RESULT")
    made.add_row(
        text("✘"), text(NAME), text("manifests/checkout.yaml:12"), text("none of 2 placed; the 2nd stays pending")
    )
    made.add_row(text("✔"), text("a/b"), text(""), text("unchanged"))
    Console(file=(file := io.StringIO()), width=40).print(made)
    assert [line.rstrip() for line in file.getvalue().splitlines()] == [
        "",
        f"✘ {NAME}",
        "    manifest: manifests/checkout.yaml:12",
        "    result: none of 2 placed; the 2nd",
        "    stays pending",
        "✔ a/b",
        "    result: unchanged",
        "",
    ]


def test_several_numbers_before_the_title_of_a_row_keep_their_names() -> None:
    made = table("MORE FIT", "RUNNING", "WORKLOAD", "STOPPED BY", right=("MORE FIT", "RUNNING"))
    made.add_row(text(9), text(8), text(NAME), text("9 Insufficient cpu"))
    Console(file=(file := io.StringIO()), width=40).print(made)
    assert [line.rstrip() for line in file.getvalue().splitlines()] == [
        "",
        NAME,
        "    more fit: 9",
        "    running: 8",
        "    stopped by: 9 Insufficient cpu",
        "",
    ]


TIMES = ("2026-11-21 15:09:00Z", "◂2026-11-21 12:48:00Z")


def candidates(width: int, times: tuple[str, ...]) -> list[str]:
    """A table of candidates, of which all have the same numbers of victims."""
    numbers = ("VIOLATING", "VICTIMS", "EARLIEST START")
    made = table("NODE", *numbers, right=numbers, droppable=numbers)
    for place, time in enumerate(times):
        made.add_row(text(f"node-{place}"), text(1), text(2), text(time))
    if len(times) > 1:
        made.add_row(text("… 11 more (-o wide)"))
    Console(file=(file := io.StringIO()), width=width).print(made)
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize(("width", "gone"), [(60, set()), (48, {"VICTIMS"}), (36, {"VICTIMS", "VIOLATING"})])
def test_where_there_is_no_room_numbers_of_one_value_go_before_times_are_broken(width: int, gone: set[str]) -> None:
    shown = candidates(width, TIMES)
    assert all(any(time in line for line in shown) for time in TIMES)
    assert {number for number in ("VIOLATING", "VICTIMS") if number not in "".join(shown)} == gone
    assert any(line.endswith("(-o wide)") for line in shown)


def test_at_last_times_are_broken_but_a_single_row_becomes_lines() -> None:
    assert not any(TIMES[0] in line for line in candidates(28, TIMES))
    assert candidates(36, TIMES[:1])[1:-1] == [
        "node-0",
        "    violating: 1",
        "    victims: 2",
        "    earliest start: 2026-11-21",
        "    15:09:00Z",
    ]


def _drawn(block: Block, width: int) -> list[str]:
    console = Console(file=(file := io.StringIO()), width=width)
    for part in draw([block], Detail()):
        console.print(part)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_the_continued_lines_of_an_item_are_below_its_first_word() -> None:
    assert _drawn(Listing([Item("the cluster is as it was an hour ago")]), 24) == [
        "  • the cluster is as it",
        "    was an hour ago",
    ]
    assert _drawn(Listing([Item("the cluster is as it was")], "numbers"), 24) == [
        "  1. the cluster is as",
        "     it was",
    ]


def test_a_row_that_continues_the_one_above_is_indented_where_rows_are_lines() -> None:
    rows: list[Row] = [
        (6, ["Insufficient cpu", "Insufficient memory"], "needs 64"),
        ("", "Too many pods", ["on a1,", "a2"]),
    ]
    assert _drawn(Table((number("Nodes"), words("Reason"), words("Evidence")), rows), 20) == [
        "",
        "6 Insufficient cpu",
        "  Insufficient",
        "  memory",
        "    evidence: needs",
        "    64",
        "  Too many pods",
        "    evidence: on a1,",
        "      a2",
        "",
    ]
