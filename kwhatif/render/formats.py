"""The formats of a gate's report that are files for other tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kwhatif.render.data import to_json, to_yaml
from kwhatif.render.github import to_github
from kwhatif.render.gitlab import to_gitlab
from kwhatif.render.junit import to_junit
from kwhatif.render.markdown import to_markdown
from kwhatif.render.sarif import to_sarif
from kwhatif.report import Report

FORMATS: Mapping[str, Callable[[Report], str]] = {
    "json": to_json,
    "yaml": to_yaml,
    "junit": to_junit,
    "sarif": to_sarif,
    "github": to_github,
    "gitlab": to_gitlab,
    "markdown": to_markdown,
}
