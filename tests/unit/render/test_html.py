"""Reports as HTML: what stands in a page, and what cannot act in it. Browsers look at it in `tests/browser`."""

import base64
import hashlib
import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.api.pages import picture
from kwhatif.render.answer import answer, suited
from kwhatif.render.blocks import Verdict
from kwhatif.render.detail import Detail
from kwhatif.render.html.data import LOOKS, chart_of, script_data
from kwhatif.render.html.map import map_of
from kwhatif.render.html.views import views
from kwhatif.report import Report
from kwhatif.report.story import Story, StoryBudgetRow
from tests import FIXTURES
from tests.objects import manifest

DEMO = FIXTURES / "demo"
SCRIPT = Path(kwhatif.__file__).parent / "render" / "html" / "page.mjs"


@cache
def demo() -> kwhatif.Session:
    return kwhatif.load(DEMO / "cluster.yaml")


@cache
def scheduled(pod: str) -> Report:
    return kwhatif.schedule(demo(), DEMO / "pods" / f"{pod}.yaml")


@cache
def page(pod: str) -> str:
    return kwhatif.html(scheduled(pod), demo())


class Elements(HTMLParser):
    """Tags with their attributes, and what stands in the elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.texts.setdefault(tag, []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def data_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_the_heading_is_the_verdict() -> None:
    report = scheduled("checkout")
    detail = suited(Detail(page=True), report)
    verdict = next(block for block in answer(report, detail) if isinstance(block, Verdict))
    said = "".join(part if isinstance(part, str) else part.text for part in verdict.text)
    assert said in "".join(Elements(page("checkout")).texts["h1"])


def test_only_its_own_script_and_style_act_in_a_page() -> None:
    text = page("checkout")
    (policy,) = [each["content"] for each in Elements(text).all("meta") if each.get("http-equiv")]
    for tag, allowed in (("style", "style-src"), ('script type="module"', "script-src")):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag.partition(' ')[0]}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{allowed} 'sha256-{digest}'" in str(policy)
    assert str(policy).startswith("default-src 'none'; ")
    attributes = {name for _, each in Elements(text).tags for name in each}
    assert not {name for name in attributes if name.startswith("on") or name in ("style", "src")}


def test_the_script_is_small_and_names_no_other_place() -> None:
    script = SCRIPT.read_text()
    assert len(script) < 40_000
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|innerHTML|eval\(|fetch\(|import ", script)


def test_without_a_cluster_there_is_no_map_and_all_tables() -> None:
    text = kwhatif.html(scheduled("checkout"))
    assert 'id="data"' not in text
    assert len(Elements(text).all("table")) == len(Elements(page("checkout")).all("table"))


def test_tables_have_captions_and_scopes() -> None:
    elements = Elements(page("checkout"))
    assert len(elements.all("caption")) == len(elements.all("table")) > 0
    assert all(each["scope"] in ("col", "row") for each in elements.all("th"))


HOSTILE = "</script><!--<script>alert(1)</script>&amp;\u2028\u202e'\"{{ 7 * 7 }}"


def test_names_are_data() -> None:
    node = manifest("Node", {"name": HOSTILE}, status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}})
    session = kwhatif.load(kwhatif.text(json.dumps(node), HOSTILE))
    text = kwhatif.html(kwhatif.schedule(session, DEMO / "pods" / "small.yaml"), session)
    elements = Elements(text)
    assert len(elements.all("script")) == 2
    assert "\u202e" not in text
    assert "49" not in "".join(elements.texts["h1"])
    shown = HOSTILE.replace("\u2028", "\\u2028").replace("\u202e", "\\u202e")
    assert shown in "".join(elements.texts["h1"])
    found = data_of(text)
    assert found["texts"][found["nodes"][0][0]] == shown


@pytest.mark.parametrize("text", ["</script>", "<!--", "a&b", "\u2028", "\U0001f600", '"\\'])
def test_data_does_not_end_the_element_that_it_stands_in(text: str) -> None:
    made = str(script_data({text: [text]}))
    assert json.loads(made) == {text: [text]}
    assert not set("<>&\u2028") & set(made)


# --- the map ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pod", ["small", "checkout", "impossible"])
def test_the_map_has_every_node_with_the_verdict_of_the_report(pod: str) -> None:
    (decision,) = scheduled(pod).decisions
    found = data_of(page(pod))
    letters = dict(zip((found["texts"][each[0]] for each in found["nodes"]), found["views"][0]["kinds"], strict=True))
    rejected = {row.node for row in decision.rejected}
    candidates = {row.node for row in decision.preemption.candidates} if decision.preemption else set()
    assert letters.keys() == {node.name for node in demo().state.nodes}
    assert {node for node, letter in letters.items() if letter == "R"} == rejected - candidates
    assert {node for node, letter in letters.items() if letter in "LE"} == ({decision.node} if decision.node else set())
    assert {node for node, letter in letters.items() if letter in "LTF"} >= {row.node for row in decision.feasible}


def test_a_pod_needs_on_the_map_what_it_asks_for() -> None:
    (decision,) = scheduled("checkout").decisions
    found = data_of(page("checkout"))
    assert decision.requests == {"cpu": 2000, "memory": 2 << 30}
    assert dict(zip(found["resources"], found["views"][0]["requests"], strict=True)) == {
        **decision.requests,
        "nvidia.com/gpu": 0,
    }


def test_the_picture_has_every_pod_and_what_nodes_have() -> None:
    found = data_of(page("small"))
    state = demo().state
    pods = {
        f"{found['texts'][found['groups'][group][0]]}/{name}"
        for node in found["nodes"]
        for group, name in zip(node[7][::2], node[7][1::2], strict=True)
    }
    assert pods == {pod.key for node in state.nodes for pod in node.pods}
    used = {found["texts"][node[0]]: node[5][:2] for node in found["nodes"]}
    assert used == {node.name: [node.cpu, node.memory] for node in state.nodes}


def test_pods_that_land_together_need_their_sum() -> None:
    report = kwhatif.schedule(demo(), DEMO / "pods")
    everything, *others = views(report, picture(demo()))
    landing = [each for each in report.decisions if each.node]
    assert sum(mark.landing for mark in everything.marks.values()) == len(landing)
    assert [view.title for view in others] == [each.pod for each in report.decisions if each.detail != "short"]
    needed = sum(everything.needs(mark)["cpu"] for mark in everything.marks.values())
    assert needed == sum(each.requests["cpu"] for each in landing)


def test_the_nodes_of_a_zone_that_may_not_fail_are_marked_with_it() -> None:
    report = kwhatif.outage(demo(), each="topology.kubernetes.io/zone", jobs=1)
    (view,) = views(report, picture(demo()))
    marked = {row.scenario: list(row.verdict.nodes) for row in report.scenarios}
    assert view.marks.keys() == {node.name for node in demo().state.nodes}
    assert all(view.marks[node].why.startswith(f"{zone}: ") for zone, nodes in marked.items() for node in nodes)


def test_nodes_that_the_report_leaves_out_do_not_fit_as_others_do_not() -> None:
    report = kwhatif.advise(demo(), DEMO / "pods" / "impossible.yaml")
    (decision,) = report.decisions
    assert sum(row.alike for row in decision.rejected) == report.snapshot.nodes - len(decision.rejected) > 0
    (view,) = views(report, picture(demo()))
    assert len(view.marks) == report.snapshot.nodes
    assert {mark.kind for mark in view.marks.values()} == {"rejected"}


def test_what_is_used_in_the_end_is_what_moved() -> None:
    report = kwhatif.drain(demo(), "general-a1", ignore_daemonsets=True, delete_emptydir_data=True)
    drawn = picture(demo())
    (view,) = views(report, drawn)
    used = {node.name: node.used[0] for node in drawn.nodes}
    after = {node: mark.after["cpu"] for node, mark in view.marks.items() if mark.after is not None}
    assert after["general-a1"] < used["general-a1"]
    assert sum(after.values()) == sum(used[node] for node in after)  # all of it comes back
    assert "in the end" in kwhatif.html(report, demo())


def test_gangs_stand_in_their_racks_and_are_counted_together() -> None:
    folder = DEMO.parent / "gangs" / "demo"
    gates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
    session = kwhatif.load(folder / "cluster.yaml", kubernetes_version="1.37", feature_gates=gates)
    report = kwhatif.capacity(session, folder / "train.yaml")
    text = kwhatif.html(report, session)
    first, *others = views(report, picture(session))
    assert first.title == "4 more pods"
    assert len(others) == 4
    assert {node: mark.landing for node, mark in first.marks.items() if mark.landing} == {"a1": 2, "a2": 2}
    assert re.findall(r'<h3 id="place\d">(\w+) <', text) == ["a", "b"]


def test_two_clusters_one_node_and_two_releases_are_on_the_map_too() -> None:
    monday, tuesday = (kwhatif.load(DEMO.parent / "compare" / f"{day}.yaml") for day in ("monday", "tuesday"))
    (compared,) = views(kwhatif.compare_clusters(monday, tuesday), picture(tuesday))
    assert {node: mark.kind for node, mark in compared.marks.items()} == {"a1": "swaps", "c1": "swaps", "d1": "new"}
    (fits,) = views(kwhatif.who_fits(demo(), "general-a1"), picture(demo()))
    assert fits.marks["general-a1"].kind == "lands"
    threatened, *_ = views(kwhatif.threats(demo(), "deploy/shop/api", only="drain"), picture(demo()))
    assert {node for node, mark in threatened.marks.items() if mark.kind == "evicts"} == {
        "general-a1",
        "general-b1",
        "general-c1",
    }


def test_many_nodes_are_cells() -> None:
    small = picture(demo())
    nodes = tuple(
        small.nodes[0].__class__(
            name=f"n{at}", place="a", pool="", state=(), allocatable=(1, 1, 0), used=(0, 0, 0), most_pods=1, pods=()
        )
        for at in range(300)
    )
    made = map_of(
        scheduled("small"),
        small.__class__(place_label="zone", pool_label="", resources=small.resources, nodes=nodes, groups=()),
    )
    assert made.is_dense
    assert made.places[0].pools[0].cells.count("<g ") == 300


def test_every_verdict_has_a_glyph_and_words_of_its_own() -> None:
    assert len({look.glyph for look in LOOKS.values()}) == len({look.letter for look in LOOKS.values()}) == len(LOOKS)


# --- budgets over time -----------------------------------------------------------------------------------------------


def story(*budgets: StoryBudgetRow) -> Story:
    return Story(settled="settled", seconds=40.0, assumptions=(), parameters={}, budgets=budgets, asked=0.0)


def test_budgets_that_change_are_lines_the_worst_first() -> None:
    still = StoryBudgetRow(budget="a/still", before=1, lowest=1, after=1, overrun=0)
    low = StoryBudgetRow(budget="a/low", before=2, lowest=0, after=2, overrun=0, steps=((5.0, 0), (10.0, 2)))
    broken = StoryBudgetRow(budget="a/broken", before=1, lowest=0, after=1, overrun=1, steps=((5.0, 0), (10.0, 1)))
    chart = chart_of(story(still, low, broken))
    assert chart is not None
    assert [(line.budget, line.tone) for line in chart.lines] == [("a/broken", "bad"), ("a/low", "warn")]
    assert all(line.svg.count("V") == 4 for line in chart.lines)
    assert chart_of(story(still)) is chart_of(None) is None


def test_budgets_of_a_drain_go_as_the_rows_say() -> None:
    report = kwhatif.drain(demo(), "general-a1", ignore_daemonsets=True, delete_emptydir_data=True)
    assert report.story is not None
    for row in report.story.budgets:
        levels = [allowed for _, allowed in row.steps]
        assert min([row.before, *levels]) == row.lowest
        assert [row.before, *levels][-1] == row.after
        assert [at for at, _ in row.steps] == sorted(at for at, _ in row.steps)


def test_a_scenario_whose_story_is_not_kept_has_the_command_that_plays_it() -> None:
    report = kwhatif.drain(
        demo(), "general-*", each=True, jobs=1, ignore_daemonsets=True, delete_emptydir_data=True, timeout="90s"
    )
    others = [row for row in report.scenarios if row.story is None]
    assert 0 < len(others) < len(report.scenarios)
    shown = Elements(kwhatif.html(report, demo())).texts["code"]
    for row in others:
        assert row.command == f"kwhatif drain {row.scenario} --ignore-daemonsets --delete-emptydir-data --timeout 90s"
        assert any(text.startswith(f"{row.command} --from ") for text in shown)
    (zone, *_) = kwhatif.outage(demo(), each="topology.kubernetes.io/zone", jobs=1, deleted=True).scenarios
    assert zone.command == f"kwhatif outage topology.kubernetes.io/zone={zone.scenario} --deleted"


def test_a_finding_leads_to_what_shows_it_and_the_one_that_is_explained_is_played() -> None:
    report = kwhatif.audit(demo(), only="drain", jobs=1, fixes=0)
    assert report.audit is not None
    elements = Elements(kwhatif.html(report, demo()))
    links = {str(each["href"]).removeprefix("#") for each in elements.all("a")}
    assert len(links) == len(report.audit.findings)
    assert links <= {each.get("id") for each in elements.all("h2")}
    first = report.audit.findings[0]
    assert any(text.startswith(f"kwhatif audit --explain {first.id} -o html") for text in elements.texts["code"])
    explained = kwhatif.audit(demo(), only="drain", jobs=1, explain=first.id)
    (story,) = data_of(kwhatif.html(explained, demo()))["stories"]
    assert story["events"]


@cache
def karpenter(*more: str) -> kwhatif.Session:
    return kwhatif.load(DEMO / "karpenter.yaml", *(DEMO / name for name in more))


TYPES = DEMO / "instance-types.json"


def cards(text: str, kind: str) -> list[str]:
    """The names on the cards of that kind, and what stands below each."""
    found = re.findall(rf'<li class="node {kind}".*?class="name">(.*?)<.*?class="why">(.*?)<svg', text, re.DOTALL)
    return [f"{name}: {re.sub('<[^>]*>', '', why)}" for name, why in found]


def test_nodes_that_an_autoscaler_adds_have_cards_with_their_prices() -> None:
    session = karpenter("karpenter-pending.yaml")
    report = kwhatif.autoscale(session, instance_types=TYPES)
    text = kwhatif.html(report, session)
    assert "at 0.2896 an hour" in "".join(Elements(text).texts["h1"])
    first, second = cards(text, "new")
    assert first.startswith("general-new-1: new: 0.136 an hour, c6i.2xlarge, spot")
    assert second.startswith("general-new-2: new: 0.1536 an hour, m6i.2xlarge, spot")
    new = next(node for node in data_of(text)["nodes"] if data_of(text)["texts"][node[0]] == "general-new-2")
    assert new[7][1::2] == ["cache", "import-2"]


def test_nodes_that_an_autoscaler_removes_and_what_comes_instead_have_cards() -> None:
    report = kwhatif.consolidate(karpenter(), instance_types=TYPES)
    text = kwhatif.html(report, karpenter())
    assert [each.partition(":")[0] for each in cards(text, "goes")] == ["ip-10-0-1-7", "ip-10-0-2-4"]
    assert all("goes: saves 0.508 an hour together, Underutilized" in each for each in cards(text, "goes"))
    (new,) = cards(text, "new")
    assert new.startswith("general-new-1: new: ")
    assert " an hour" in new


def test_nodes_that_come_on_the_way_to_another_answer_are_new_too() -> None:
    report = kwhatif.drain(
        kwhatif.with_autoscaler(karpenter(), autoscaler="karpenter", instance_types=TYPES), "ip-10-0-1-7", force=True
    )
    assert report.autoscaler is not None
    assert report.autoscaler.added
    assert [each.partition(":")[0] for each in cards(kwhatif.html(report, karpenter()), "new")] == [
        node.node for node in report.autoscaler.added
    ]
