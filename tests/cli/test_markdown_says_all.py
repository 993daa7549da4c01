"""Markdown says everything that the terminal says: both are drawn from the same blocks."""

import re

import pytest

from tests.cli.running import run

DEMO = "--from fixtures/demo/cluster.yaml"
COMMANDS = (
    f"schedule fixtures/demo/pods {DEMO}",
    f"preempt fixtures/demo/pods/inference.yaml {DEMO} --explain",
    f"queue {DEMO} --from fixtures/demo/pending.yaml --explain",
    f"advise fixtures/demo/pods/patient.yaml {DEMO} --most 2",
    f"simulate fixtures/demo/pods/checkout.yaml {DEMO}",
    f"drain general-a1 --ignore-daemonsets {DEMO}",
    "preempt fixtures/cloud/evictor.yaml --from fixtures/cloud/cluster.yaml",
)
#: What only a terminal has: how to see more, the suffix of nodes, a title that has a number on a page.
_ONLY_TERMINAL = re.compile(r"\(-o wide\)|nodes: \*\S*|^Caveats$", re.MULTILINE)


def _words(text: str) -> set[str]:
    """Words and numbers, whatever they are written with."""
    return set(re.findall(r"\w+", text.casefold()))


@pytest.mark.parametrize("command", COMMANDS)
def test_no_word_of_the_terminal_is_missing(command: str) -> None:
    shown = _ONLY_TERMINAL.sub(" ", run(f"kwhatif {command}").stdout)
    page = run(f"kwhatif {command} -o markdown").stdout.replace("\\", "").replace("\u200b", "")
    missing = _words(shown) - _words(page)
    assert {word for word in missing if word not in page.casefold()} == set()
