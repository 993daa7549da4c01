"""Pages in a real browser: nothing is fetched, everything can be reached, and they say what the report says."""

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kwhatif
from kwhatif.render.html.page import DEGREE_LOOKS
from kwhatif.report import Report
from tests.browser.chromium import Browser, axe_core, chromium, is_there
from tests.browser.pages import DEMO, PAGES, write
from tests.objects import manifest

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not is_there(), reason="needs chromium and chromedriver")]

Page = Callable[[str], tuple[Report, Path]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def axe() -> str:
    try:
        return axe_core()
    except OSError as failure:  # there is a browser, but no network
        pytest.skip(f"axe-core cannot be fetched: {failure}")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder, made = tmp_path_factory.mktemp("pages"), dict[str, tuple[Report, Path]]()

    def page(name: str) -> tuple[Report, Path]:
        if name not in made:
            made[name] = write(name, folder)
        return made[name]

    return page


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fetches_nothing_breaks_no_policy_and_is_accessible_in_light_and_dark_and_on_a_telephone(
    name: str, browser: Browser, axe: str, page: Page
) -> None:
    _, path = page(name)
    browser.open(path)
    assert (browser.requests(), browser.complaints()) == ([], [])
    assert browser.violations(axe) == []
    browser.turn(dark=True)
    assert browser.violations(axe, "color-contrast") == []
    browser.resize(360, 740)
    assert browser.run("return document.documentElement.scrollWidth") <= 360
    cut = "[...document.querySelectorAll('h1, h2, h3, p, li, th, td')].filter((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX === 'visible' && each.clientWidth && !each.closest('.scroll')).length"
    assert browser.run(f"return {cut}") == 0


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_all_of_it_without_its_script(name: str, browser: Browser, page: Page) -> None:
    report, path = page(name)
    browser.open(path, script=False)
    assert not browser.all(".tools, .player")
    for each in browser.all(".sure > span"):
        look = DEGREE_LOOKS[each.get_attribute("class")]
        assert each.text.startswith(f"{look.glyph}{look.words}")
    assert browser.all("h1 + .sure > span")
    shown = browser.driver.find_element("css selector", "body").get_attribute("textContent")
    assert not [said for said in _must_be_said(report) if " ".join(said.split()) not in " ".join(shown.split())]


def _must_be_said(report: Report) -> Iterator[str]:
    """What of the JSON has to be found on the page, whatever the command."""
    yield from report.caveats
    yield from (row.pod for row in report.decisions if report.command not in ("upgrade", "capacity"))
    yield from (row.name for row in report.workloads if report.command == "gate")
    for scenario in report.scenarios:
        yield from (scenario.scenario, scenario.verdict.why, scenario.command)
    if report.audit is not None:
        yield from (found.message for found in report.audit.findings)
    if report.story is not None and not report.is_judged:
        yield from (row.workload for row in report.story.workloads if row.before != row.after)
        yield from report.story.assumptions if report.resize is None else ()
    if report.threats is not None:
        yield from (threat.command for threat in report.threats.threats)
    if report.who_fits is not None:
        yield from (taker.subject for taker in report.who_fits.takers)


def test_cards_show_the_verdict_that_the_report_has(browser: Browser, page: Page) -> None:
    report, path = page("preempt")
    (decision,) = report.decisions
    assert decision.preemption is not None
    browser.open(path)
    shown = {
        each.find_element("css selector", ".name").text: each.get_attribute("class") for each in browser.all(".node")
    }
    others = {row.node for row in decision.preemption.candidates}
    assert {name for name, kind in shown.items() if kind == "node evicts"} == {decision.node}
    assert {name for name, kind in shown.items() if kind != "node rejected"} == others
    assert shown.keys() == {row.node for row in decision.rejected}


def test_a_click_opens_a_node_with_its_pods_and_victims_and_escape_closes_it(
    browser: Browser, axe: str, page: Page
) -> None:
    report, path = page("preempt")
    (victim,) = report.decisions[0].victims
    browser.open(path)
    browser.one(".node.evicts button").click()
    dialog = browser.one("dialog")
    assert report.decisions[0].node == browser.one("#node-title").text
    assert victim.pod in dialog.text
    assert browser.violations(axe) == []
    browser.driver.switch_to.active_element.send_keys("\ue00c")  # escape
    assert not browser.all("dialog")
    focused = browser.driver.switch_to.active_element.find_element("css selector", ".name").text
    assert focused == report.decisions[0].node


def test_scores_in_a_node_are_those_of_the_report(browser: Browser, page: Page) -> None:
    report, path = page("schedule")
    best = report.decisions[0].feasible[0]
    browser.open(path)
    browser.one(".node.lands button").click()
    rows = [
        [cell.text for cell in each.find_elements("css selector", "th,td")]
        for each in browser.all("dialog table")[0].find_elements("css selector", "tbody tr")
    ]
    assert {plugin: int(score) for plugin, score in rows} == best.scores


def test_typing_finds_nodes_by_name_zone_workload_and_reason(browser: Browser, page: Page) -> None:
    _, path = page("preempt")
    browser.open(path)
    everything = len(browser.all(".node"))
    for typed, found in {"gpu": "gpu-", "eu-west-1c": "-c", "untolerated": "", "trainer": "gpu-"}.items():
        field = browser.one("#filter")
        field.clear()
        field.send_keys(typed)
        browser.wait("document.getElementById('found').textContent !== ''")
        names = [each.text for each in browser.all(".node .name")]
        assert 0 < len(names) < everything
        assert all(found in name for name in names)
        assert browser.one("#found").text == f"{len(names)} of {everything} nodes"


def test_another_pod_can_be_looked_at(browser: Browser, page: Page) -> None:
    report, path = page("pods")
    browser.open(path)
    landing = Counter(each.node for each in report.decisions if each.node)
    assert {each.text for each in browser.all(".lands .name, .evicts .name")} == landing.keys()
    placed = next(each for each in report.decisions if each.outcome == "Placed")
    number = next(
        each.get_attribute("value")
        for each in browser.driver.find_elements("css selector", "#view option")
        if each.text == placed.pod
    )
    browser.run(
        "const view = document.getElementById('view'); view.value = arguments[0]; view.dispatchEvent(new Event('change'))",
        number,
    )
    assert [each.text for each in browser.all(".lands .name")] == [placed.node]


def test_the_slider_goes_to_the_end_that_the_report_has(browser: Browser, axe: str, page: Page) -> None:
    report, path = page("drain")
    story = report.story
    assert story is not None
    browser.open(path)
    assert browser.one("#clock").text.endswith(
        f" of {browser.run('return document.getElementById(arguments[0]).max', 'step')}"
    )
    browser.one("#on").click()
    assert "kubectl drain general-a1" in browser.one("#said").text
    browser.one("#step").send_keys("\ue010")  # end
    shown = {
        title.split(":")[0]: number
        for title, number in browser.run(
            "return [...document.querySelectorAll('.stop')].map((stop) => [stop.querySelector('h3').textContent, stop.querySelectorAll('.pod').length])"
        )
    }
    assert shown["general-a1"] == 0
    assert shown["Pending"] == len(story.pending)
    assert shown["Gone"] == len(story.gone)
    new = Counter(each.node for each in story.events if each.verb == "bound")
    kept = browser.run("return [...document.querySelectorAll('.pod.new')].length")
    assert kept == sum(new.values()) - sum(not each.initial for each in story.gone)
    assert browser.violations(axe) == []


def test_play_goes_on_by_itself_until_it_is_stopped(browser: Browser, page: Page) -> None:
    browser.open(page("drain")[1])
    browser.one("#play").click()
    browser.wait("Number(document.getElementById('step').value) >= 2")
    browser.one("#play").click()
    stopped = browser.run("return document.getElementById('step').value")
    assert browser.one("#play").get_attribute("aria-pressed") == "false"
    assert (
        browser.run("return new Promise((done) => setTimeout(() => done(document.getElementById('step').value), 700))")
        == stopped
    )


def test_a_scenario_in_the_table_leads_to_its_story(browser: Browser, page: Page) -> None:
    _, path = page("each")
    browser.open(path)
    link = browser.one("table a")
    name = link.text
    link.click()
    target = browser.run("return document.querySelector(location.hash).textContent")
    assert target == name


def test_a_descheduler_s_evictions_are_played_to_where_the_replacements_land(browser: Browser, page: Page) -> None:
    report, path = page("deschedule")
    assert report.deschedule is not None
    first, *others = report.deschedule.evicted
    browser.open(path)
    browser.one("#on").click()
    said = browser.one("#said").text
    assert said.startswith(f"descheduler evicted Pod {first.pod} on {first.node}: LowNodeUtilization, cpu 97 %")
    browser.one("#step").send_keys("\ue010")  # end
    new = browser.run(
        "return [...document.querySelectorAll('.stop')].flatMap((stop) => [...stop.querySelectorAll('.pod.new')]"
        ".map((pod) => [pod.dataset.pod, stop.querySelector('h3').textContent]))"
    )
    landed = [row.replacement for row in (first, *others) if row.replacement is not None]
    assert sorted(map(tuple, new)) == sorted((each.pod, each.node) for each in landed)


def test_each_kept_story_of_many_scenarios_is_played_below_its_title(browser: Browser, axe: str, page: Page) -> None:
    report, path = page("each")
    kept = {row.scenario: row.story for row in report.scenarios if row.story is not None}
    assert len(kept) > 1
    browser.open(path)
    others = {row.scenario for row in report.scenarios} - kept.keys()
    assert {each.text for each in browser.all("table a")} == kept.keys() | others
    for link in [each for each in browser.all("table a") if each.text in others][:2]:
        name = link.text
        link.click()
        shown = browser.run("return document.querySelector(location.hash).textContent")
        assert f"kwhatif drain {name} " in shown
    for link in [each for each in browser.all("table a") if each.text in kept]:
        name = link.text
        link.click()
        assert browser.run("return document.querySelector(location.hash).textContent") == name
        assert browser.run(
            "return document.getElementById('player').closest('.told').id === location.hash.slice(1) + '-told'"
        )
        browser.one("#step").send_keys("\ue010")  # end
        assert f"Pending: {len(kept[name].pending)}" in browser.one("#stage").text
    assert len(browser.all(".tell")) == len(kept) - 1
    assert browser.violations(axe) == []


def test_everything_is_printed(browser: Browser, page: Page) -> None:
    browser.open(page("pods")[1])
    printed = base64.b64decode(browser.ask("Page.printToPDF", printBackground=True)["data"])
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 2
    browser.ask("Emulation.setEmulatedMedia", media="print")
    assert browser.run("return [...document.querySelectorAll('table')].every((each) => each.checkVisibility())")
    assert not browser.all(".tools")


HOSTILE = (
    "<script>window.ran = 1</script>",
    "</script><script>window.ran = 2</script>",
    "<img src=x onerror=window.ran=3>",
    "&lt;b&gt;&#60;i&#62;",
    "\u202egnp.exe\u202c",
    "\u200f\u061c\u2067abc\u2069\u200b\ufeff\u0000\u001b[31m",
    "'\"><svg onload=window.ran=4>",
    "{{ 7 * 7 }}{% raw %}",
    "<!--<script>",
    "x" * 10_000,
)


def _hostile() -> kwhatif.Session:
    """A cluster in which all that has a name has one of these."""
    nodes = [
        manifest(
            "Node",
            {"name": f"{at}{name}", "labels": {"topology.kubernetes.io/zone": name, "pool": name}},
            spec={"taints": [{"key": name, "value": name, "effect": "PreferNoSchedule"}]},
            status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
        )
        for at, name in enumerate(HOSTILE)
    ]
    pods = [
        manifest(
            "Pod",
            {"name": name, "namespace": name, "ownerReferences": [_owner(name)]},
            spec={"nodeName": f"{at}{name}", "containers": [{"name": "c"}]},
        )
        for at, name in enumerate(HOSTILE)
    ]
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]})
    return kwhatif.load(kwhatif.text(listed, "</title><script>window.ran=5</script>"))


def _owner(name: str) -> dict[str, object]:
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name[:40], "controller": True}


def _is_inert(browser: Browser) -> None:
    """Nothing ran, nothing was asked for, no element comes of a name, nothing is hidden or turned round."""
    assert browser.run("return window.ran") is None
    assert (browser.requests(), browser.complaints()) == ([], [])
    assert browser.run("return document.querySelectorAll('img, main script, b, i').length") == 0
    assert browser.run("return document.documentElement.scrollWidth - innerWidth") <= 0
    acting = r"/[\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f\u061c\ufeff\u001b]/"
    assert browser.run(f"return {acting}.exec(document.documentElement.textContent)") is None


def test_names_are_data(browser: Browser, axe: str, tmp_path: Path) -> None:
    session = _hostile()
    report = kwhatif.schedule(session, DEMO / "pods" / "small.yaml")
    path = tmp_path / "hostile.html"
    path.write_text(kwhatif.html(report, session), encoding="utf-8")
    browser.open(path)
    for at in range(len(HOSTILE)):
        browser.run("document.querySelector(`[data-n='${arguments[0]}'] button`).click()", at)
        assert browser.one("#node-title").text
        browser.one("dialog .close").click()
    browser.one("#filter").send_keys("<script>")
    browser.wait("document.getElementById('found').textContent.startsWith('3 of')")
    _is_inert(browser)
    assert browser.violations(axe) == []


def test_names_in_stories_are_data(browser: Browser, tmp_path: Path) -> None:
    session = _hostile()
    report = kwhatif.outage(session, each="pool", jobs=1)
    path = tmp_path / "stories.html"
    path.write_text(kwhatif.html(report, session), encoding="utf-8")
    browser.open(path)
    for link in browser.all("table a"):
        link.click()
        if browser.all("#player"):
            browser.one("#step").send_keys("\ue010")  # end
    assert browser.one("#said").text
    _is_inert(browser)


NOTEBOOK = """<!doctype html><meta charset="utf-8"><style>h1, .node { display: none } iframe { color: red }</style>
<script>addEventListener("message", (event) => { window.told = event.data; });</script>"""


def test_in_a_notebook_the_page_stands_in_a_frame_with_its_map(browser: Browser, page: Page, tmp_path: Path) -> None:
    report, _ = page("each")
    path = tmp_path / "notebook.html"
    path.write_text(f"{NOTEBOOK}<h1>Notebook</h1>{report._repr_html_()}", encoding="utf-8")
    browser.open(path)
    frame = browser.one("iframe")
    browser.driver.switch_to.frame(frame)
    try:
        assert len(browser.all(".node")) == report.snapshot.nodes
        browser.one("#filter").send_keys("gpu-")
        browser.wait("document.getElementById('found').textContent.startsWith('2 of')")
        scenario = next(each for each in browser.all("table a") if each.text == "gpu-b1")
        browser.run("arguments[0].click()", scenario)
        assert browser.one("h1").text  # and not the notebook again
        assert browser.run("return document.getElementById('player').closest('.told') !== null")
        assert browser.run("try { return parent.document.title } catch { return 'kept out' }") == "kept out"
    finally:
        browser.driver.switch_to.default_content()
    assert (browser.requests(), browser.complaints()) == ([], [])


def test_a_thousand_nodes_are_cells_that_can_be_found(browser: Browser, tmp_path: Path) -> None:
    nodes = [
        manifest(
            "Node",
            {"name": f"node-{at:04}", "labels": {"topology.kubernetes.io/zone": f"zone-{at % 3}"}},
            status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
        )
        for at in range(1_000)
    ]
    session = kwhatif.load(kwhatif.text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}), "nodes.json"))
    report = kwhatif.schedule(session, DEMO / "pods" / "small.yaml")
    path = tmp_path / "many.html"
    path.write_text(kwhatif.html(report, session), encoding="utf-8")
    browser.open(path)
    assert len(browser.driver.find_elements("css selector", ".cell")) == 1_000
    browser.one("#filter").send_keys("node-07 zone-1")
    browser.wait("document.getElementById('found').textContent.startsWith('34 of 1,000 nodes')")
    assert len(browser.all("#results .node")) == 34
    browser.one("#results .node button").click()
    assert browser.one("#node-title").text == "node-0700"
