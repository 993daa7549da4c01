"""The formats of answers that are files for other tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kwhatif.render.baseline import to_baseline
from kwhatif.render.data import to_json, to_yaml
from kwhatif.render.github import to_github
from kwhatif.render.gitlab import to_gitlab
from kwhatif.render.junit import to_junit
from kwhatif.render.markdown import comparison_to_markdown, to_markdown
from kwhatif.render.sarif import to_sarif
from kwhatif.report import Report
from kwhatif.report.comparison import Comparison


def _html(report: Report) -> str:
    from kwhatif.render.html.page import to_html  # Jinja takes as long to import as a small answer to make

    return to_html(report)


def _comparison_html(comparison: Comparison) -> str:
    from kwhatif.render.html.page import comparison_to_html

    return comparison_to_html(comparison)


FORMATS: Mapping[str, Callable[[Report], str]] = {
    "json": to_json,
    "yaml": to_yaml,
    "junit": to_junit,
    "sarif": to_sarif,
    "github": to_github,
    "gitlab": to_gitlab,
    "markdown": to_markdown,
    "html": _html,
    "baseline": to_baseline,
}
#: Of two answers side by side.
COMPARISONS: Mapping[str, Callable[[Comparison], str]] = {
    "json": to_json,
    "yaml": to_yaml,
    "markdown": comparison_to_markdown,
    "html": _comparison_html,
}
