"""The page of a report about a large cluster: how large it is, and how a browser copes with it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kwhatif
from benchmarks.context import Context
from benchmarks.rows import Row, at_most

TITLE = "A page in a browser"
NOTE = """A pod that must evict on 5,000 full nodes, as one HTML file. Milliseconds are by the clock, as Chromium's
Performance API has them, without a graphics card: other work on the machine disturbs them. The longest wait
is the longest task while nodes are looked for, letter by letter; the longest frame is that of scrolling
from top to bottom."""
#: What is typed: a zone, then a node, then a workload whose pods are looked through.
_TYPED = ("eu-1b", "node-0123", "team-1/app-1")


def rows(context: Context) -> Iterator[Row]:
    """Its size, and what the browser measures."""
    session = context.session(context.large)
    report = kwhatif.preempt(session, context.manifest())
    started = time.process_time()
    page = kwhatif.html(report, session)
    spent = time.process_time() - started
    path = context.folder / "page.html"
    path.write_text(page, encoding="utf-8")
    nodes = context.large.nodes
    yield Row(f"to make it, {nodes:,} nodes", spent, "s", target=at_most(5))
    yield Row("its size", path.stat().st_size / 1e6, "MB", target=at_most(15))
    yield from _seen(path, context.runs)


def _seen(path: Path, runs: int) -> Iterator[Row]:
    from tests.browser.chromium import is_there

    try:
        import selenium  # noqa: F401
    except ImportError:
        return
    if not is_there():
        return
    found = [_measured(path) for _ in range(runs)]
    for what, key, limit in (
        ("until something is seen", "paint", 1_000),
        ("until all of it is there", "load", 3_000),
        ("the longest wait while typing", "task", 100),
        ("the longest frame while scrolling", "frame", 100),
    ):
        yield Row(what, min(each[key] for each in found), "ms", target=at_most(limit))


def _measured(path: Path) -> dict[str, Any]:
    """What one window says, in milliseconds."""
    from tests.browser.chromium import chromium

    with chromium() as browser:
        browser.open(path)
        seen = browser.run(_PAINT)
        measured: dict[str, Any] = seen | {"task": _typing(browser), "frame": browser.later(_SCROLL)}
        return measured


def _typing(browser: Any) -> float:
    browser.run(_WATCH)
    field = browser.one("#filter")
    for word in _TYPED:
        field.clear()
        field.send_keys(word)
    return float(browser.later(_LONGEST))


_PAINT = """const [page] = performance.getEntriesByType("navigation");
const first = performance.getEntriesByName("first-contentful-paint")[0];
return { paint: first.startTime, load: page.loadEventEnd };"""
_WATCH = """window.tasks = [];
const seen = (found) => tasks.push(...found.getEntries().map((each) => each.duration));
new PerformanceObserver(seen).observe({ type: "longtask" });"""
_LONGEST = """const done = arguments[0];
setTimeout(() => done(Math.max(0, ...window.tasks)), 300);"""
_SCROLL = """const done = arguments[0], frames = [];
let last = performance.now();
const step = (now) => {
  frames.push(now - last);
  last = now;
  scrollBy(0, 400);
  const more = scrollY + innerHeight < document.documentElement.scrollHeight - 1;
  if (more && frames.length < 300) requestAnimationFrame(step);
  else done(Math.max(...frames));
};
scrollTo(0, 0);
requestAnimationFrame(() => { last = performance.now(); requestAnimationFrame(step); });"""
