"""Blocks: one model, drawn for a terminal and as Markdown; nothing in their texts acts."""

from collections.abc import Sequence
from io import StringIO

from rich.console import Console

from kwhatif.render.blocks import (
    Block,
    Cell,
    Change,
    Heading,
    Item,
    Listing,
    Sentence,
    Table,
    Verdict,
    folded,
    name,
    node,
    number,
    titled,
    verdict,
    words,
)
from kwhatif.render.detail import Detail, NodeNames
from kwhatif.render.markdown import draw as to_markdown
from kwhatif.render.terminal import draw as to_terminal
from tests.unit.render.test_formats import HOSTILE
from tests.unit.render.test_markdown import tokens

PODS = Table(
    (name("Pod"), node(), number("Priority"), words("Then")),
    [
        ("shop/a.east", "n1.east", 1000, Cell("lands on n2.east", "good", sign="Placed")),
        ("shop/b", None, 0, Cell(["one", "two"], "bad")),
    ],
)


def printed(blocks: Sequence[Block], detail: Detail | None = None) -> list[str]:
    """What a terminal of 80 columns without colours shows."""
    console = Console(file=StringIO(), width=80, markup=False, highlight=False, emoji=False)
    for part in to_terminal(blocks, detail or Detail()):
        console.print(part)
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_table() -> None:
    assert printed([PODS], Detail(names=NodeNames(["n1.east", "n2.east"]))) == [
        "",
        " POD           NODE   PRIORITY   THEN",
        " ─────────────────────────────────────────────",
        " shop/a.east   n1        1,000   ✔ lands on n2",
        " shop/b        -             0   one",
        "                                 two",
        "",
    ]
    assert list(to_markdown([PODS])) == [
        "| Pod | Node | Priority | Then |",
        "|---|---|---|---|",
        "| `shop/a.east` | `n1.east` | 1,000 | ✅ lands on n2.east |",
        "| `shop/b` | - | 0 | one; two |",
    ]


def test_the_order_of_all_blocks() -> None:
    blocks = [
        verdict(("good", "it fits"), "no pod is known"),
        Sentence("Mind that", "strong"),
        *titled("Rules", Listing([Item("first", ["kubectl cordon a"]), Item("second")], "numbers")),
        *folded("Nodes", Table((node(), words("cpu %")), [("a", Change(25.0, 100.0))])),
        Heading("End"),
    ]
    assert printed(blocks) == [
        "! it fits; but no pod is known",
        "Mind that",
        "",
        "Rules",
        "  1. first",
        "     kubectl cordon a",
        "  2. second",
        "",
        "Nodes",
        "",
        " NODE   CPU %",
        " ─────────────────────────",
        " a      ████████  25 → 100",
        "",
        "End",
    ]
    assert "\n".join(to_markdown(blocks)).splitlines() == [
        "### ⚠️ it fits; but no pod is known",
        "",
        "**Mind that**",
        "",
        "#### Rules",
        "",
        "1. first",
        "   - `kubectl cordon a`",
        "2. second",
        "",
        "<details><summary>Nodes</summary>",
        "",
        "| Node | cpu % |",
        "|---|---|",
        "| `a` | 25 → 100 |",
        "",
        "</details>",
        "",
        "#### End",
    ]


def test_a_terminal_shows_the_first_rows_unless_all_are_asked_for() -> None:
    table = Table((name("Pod"),), [(f"p{number}",) for number in range(5)], most=3)
    assert printed([table, Heading("Then")])[-3:] == ["2 more (-o wide)", "", "Then"]
    assert printed([table], Detail(wide=True))[-2:] == [" p4", ""]
    assert len(list(to_markdown([table]))) == 7


def test_empty_tables_have_no_title() -> None:
    empty = Table((name("Pod"),), [])
    assert [*titled("Rules", Listing([])), *titled("Pods", empty), *folded("Pods", empty)] == []


def test_nothing_in_a_text_acts() -> None:
    table = Table((name("Pod"), words("Why")), [(HOSTILE, Cell([HOSTILE, HOSTILE], sign="Denied"))])
    listing = Listing([Item(HOSTILE, [HOSTILE])])
    blocks: list[Block] = [Verdict(HOSTILE), Sentence(HOSTILE), Heading(HOSTILE), *folded(HOSTILE, table), listing]
    assert not set("".join(printed(blocks))) & set("\x1b\u202e\r")
    found = list(tokens("\n".join(to_markdown(blocks))))
    pages = [token.content.strip() for token in found if token.type.startswith("html")]
    assert [page.partition(">")[0] for page in pages] == ["<details", "</details"]
    assert not [token for token in found if token.type in ("link_open", "em_open", "html_inline")]
