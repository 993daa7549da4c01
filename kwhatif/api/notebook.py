"""What a notebook shows of an answer: its page, with the map of the cluster that was asked about."""

from __future__ import annotations

from html import escape

from kwhatif.questions.session.session import Session
from kwhatif.render.worded import worded
from kwhatif.report import Report
from kwhatif.report.comparison import Comparison
from kwhatif.report.row import Document, draw_in_notebooks

#: With more nodes, the map would make a notebook many megabytes larger: there is none then.
_MOST_NODES = 1_000
#: Not a field: it is neither printed, compared nor copied.
_ASKED = "asked"


def answered(report: Report, session: Session) -> Report:
    """The report in words, which remembers the cluster that was asked about, for the map in a notebook."""
    complete = worded(report)
    complete.__dict__[_ASKED] = session
    return complete


def _framed(document: Document) -> str | None:
    """Its page in a frame of its own, so that neither changes how the other looks, or can reach into it.

    The page is in the attribute itself: JupyterLab, VS Code and what nbconvert makes show such a frame, with its script
    and its own Content-Security-Policy, and none of them has to fetch anything.
    """
    match document:
        case Report():
            made = _page(document)
        case Comparison():
            from kwhatif.render.html.page import comparison_to_html

            made = comparison_to_html(document)
        case _:
            return None
    style = "width: 100%; height: 40em; border: 0; resize: vertical"
    return f'<iframe srcdoc="{escape(made)}" sandbox="allow-scripts" style="{style}" title="kwhatif"></iframe>'


def _page(report: Report) -> str:
    from kwhatif.api.html import html

    asked = report.__dict__.get(_ASKED)
    is_small = isinstance(asked, Session) and len(asked.state.nodes) <= _MOST_NODES
    return html(report, asked if is_small else None)


draw_in_notebooks(_framed)
