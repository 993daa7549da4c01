"""Markdown: what it says, and that nothing from manifests or cluster is markup."""

from collections.abc import Iterator

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec.structs import replace

from kwhatif.render.markdown import code, prose, to_markdown
from kwhatif.report import Report
from kwhatif.report.decision import Decision, ObjectionRow, RejectedRow
from kwhatif.report.inputs import SnapshotInfo
from kwhatif.scheduler.framework.evidence import Note, UntoleratedTaint
from tests.unit.render.test_formats import EXCUSED, FAILS, HOSTILE, WARNS, hostile, report

GFM = MarkdownIt("gfm-like", {"linkify": False})


def tokens(text: str) -> Iterator[Token]:
    for token in GFM.parse(text):
        yield token
        yield from token.children or ()


def shown(text: str) -> str:
    """What a reader sees."""
    return "".join(token.content for token in tokens(text) if token.type in ("text", "code_inline"))


def test_a_gate() -> None:
    assert to_markdown(report(FAILS, WARNS, EXCUSED, caveats=("not modelled",))).splitlines() == [
        "### ❌ The gate fails",
        "",
        "kube-scheduler 1.36 (as asked)",
        "",
        "2 workloads, 3 pods; 1 failure; 1 warning; 1 suppressed.",
        "",
        "By the default policy",
        "",
        "|  | Workload | Manifest | Placed | Result |",
        "|---|---|---|---|---|",
        "| ❌ | `Deployment shop/web` | `deploy/web.yaml:12` | 1/2 | 1 of 2 placed |",
        "| ✅ | `StatefulSet shop/db` | `deploy/db.yaml:3` | 1/1 | placed on n1 |",
        "",
        "#### Findings",
        "",
        "- ❌ **unschedulable** `Deployment shop/web` (`deploy/web.yaml:12`): stays pending: 0/3 nodes are available:"
        " 3 Insufficient cpu.",
        "- ⚠️ **preemption** `Deployment shop/web` (`deploy/web.yaml:12`): evicts batch/etl",
        "",
        "<details><summary>Suppressed findings</summary>",
        "",
        "- ❌ **placement/gpu** `StatefulSet shop/db` (`deploy/db.yaml:3`): may land on gpu1 — for now",
        "",
        "</details>",
        "",
        "<details><summary>1 caveat</summary>",
        "",
        "- not modelled",
        "",
        "</details>",
    ]


def test_other_commands_have_a_verdict_per_pod() -> None:
    placed = Decision(pod="shop/a", outcome="Placed", node="n1", ties=("n1",))
    stuck = Decision(pod="shop/b", outcome="Unschedulable", message="0/1 nodes are available.")
    made = Report(command="schedule", snapshot=SnapshotInfo(nodes=1), decisions=(placed, stuck))
    assert [line for line in to_markdown(made).splitlines() if line.startswith("#")] == [
        "### ❌ 2 pods, in sequence: 1 stays pending, 1 fits",
        "#### ❌ `shop/b` stays pending: 0/1 nodes are available.",
        "#### ✅ `shop/a` lands on n1, the best of 0 feasible nodes (1 in all)",
    ]


TAINT = UntoleratedTaint("gpu", "", "NoSchedule")
TAINTED = ObjectionRow(plugin="TaintToleration", code="x", reasons=("had untolerated taint(s)",), evidence=(TAINT,))


def stuck(pod: str, *, text: str = "", nodes: int = 3) -> Decision:
    """A pod that three nodes reject, and something that the cluster says."""
    noted = ObjectionRow(plugin="Mine", code="x", reasons=(text or "no",), evidence=(Note(text),) if text else ())
    rows = tuple(
        RejectedRow(
            node=f"n{number}.internal", code="x", plugin="Mine", reasons=noted.reasons, objections=(noted, TAINTED)
        )
        for number in range(nodes)
    )
    return Decision(pod=pod, outcome="Unschedulable", rejected=rows, message=f"0/{nodes} nodes: {text}")


def test_the_evidence_is_folded_below() -> None:
    made = Report(command="schedule", snapshot=SnapshotInfo(nodes=3), decisions=(stuck("shop/b"),))
    assert [line.rstrip() for line in to_markdown(made).splitlines()[4:]] == [
        "<details><summary>Evidence: shop/b</summary>",
        "",
        "| Nodes | Reason | Evidence |",
        "|---|---|---|",
        "| 3 | no |  |",
        "|  | had untolerated taint(s) | taint gpu:NoSchedule; on n0.internal, n1.internal, n2.internal |",
        "",
        "kube-scheduler's words: 0/3 nodes:",
        "",
        "</details>",
    ]


def test_there_is_room_for_so_much_evidence_only() -> None:
    decisions = tuple(stuck(f"shop/{number}", text="x" * 200) for number in range(100))
    text = to_markdown(Report(command="schedule", snapshot=SnapshotInfo(nodes=3), decisions=decisions))
    assert len(text) < 65_536
    shown = text.count("<details>")
    assert 0 < shown < 100
    assert f"Left out here, where there is no room for it: {100 - shown} folded parts." in text


def test_equal_findings_are_one_line() -> None:
    lines = to_markdown(report(*[FAILS] * 150)).splitlines()
    (finding,) = [line for line in lines if "unschedulable" in line]
    assert "and 145 more: stays pending" in finding


def test_many_rows_are_cut_and_counted() -> None:
    findings = [replace(FAILS, message=f"stays pending: {number}") for number in range(150)]
    lines = to_markdown(report(*findings)).splitlines()
    assert sum("**unschedulable**" in line for line in lines) == 100
    assert lines[-1] == "- … and 50 more"


def test_evidence_from_the_cluster_is_not_markup() -> None:
    made = replace(hostile(), command="schedule", decisions=(stuck(HOSTILE, text=HOSTILE),))
    types = {token.type for token in tokens(to_markdown(made))}
    assert not types & {"link_open", "image", "em_open", "s_open", "html_inline", "fence", "code_block"}
    blocks = [token.content.strip() for token in tokens(to_markdown(made)) if token.type == "html_block"]
    assert [block[:8] for block in blocks] == ["<details", "</detail", "<details", "</detail"]
    assert all("<b>" not in block and "@me" not in block for block in blocks)


def test_nothing_from_the_cluster_is_markup() -> None:
    types = {token.type for token in tokens(to_markdown(hostile()))}
    assert not types & {"link_open", "image", "em_open", "s_open", "html_inline", "fence", "code_block"}
    blocks = [token.content.strip() for token in tokens(to_markdown(hostile())) if token.type == "html_block"]
    assert blocks == [
        "<details><summary>Suppressed findings</summary>",
        "</details>",
        "<details><summary>1 caveat</summary>",
        "</details>",
    ]


def test_a_hostile_name_stays_in_its_row() -> None:
    rows = [token for token in tokens(to_markdown(hostile())) if token.type == "tr_open"]
    cells = [token for token in tokens(to_markdown(hostile())) if token.type == "td_open"]
    assert (len(rows), len(cells)) == (2, 5)


@pytest.mark.parametrize("text", ["plain", "a`b", "``", "`", " x ", "a|b", HOSTILE])
def test_code_shows_the_text(text: str) -> None:
    spans = [token.content for token in tokens(code(text)) if token.type == "code_inline"]
    assert len(spans) == 1
    assert spans[0].strip() == code(text).strip("`").strip()


@pytest.mark.parametrize(
    "text", ["*a* _b_ ~c~", "<b>x</b>", "[a](b)", "![a](b)", "`a`", "a|b", "\\*", "&amp;", "$x$", "a_b_c"]
)
def test_prose_shows_the_text(text: str) -> None:
    assert shown(prose(text)).replace("\u200b", "") == text


@pytest.mark.parametrize("text", ["@me", "#12", "!3", "http://x", "www.x.y", ":smile:", "~label", "%1"])
def test_prose_mentions_nobody_and_refers_to_nothing(text: str) -> None:
    assert "\u200b" in prose(text)
    assert shown(prose(text)).replace("\u200b", "") == text


@pytest.mark.parametrize("text", ["a: b", "0/12 nodes", "key=value:NoSchedule", "5 of 6 placed; the 6th evicts a/b-1"])
def test_ordinary_prose_is_left_alone(text: str) -> None:
    assert prose(text) == text


def test_long_prose_is_cut() -> None:
    assert len(prose("x" * 1000)) == 300
