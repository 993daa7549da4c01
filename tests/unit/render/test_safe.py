"""Texts of the input that are shown: of a megabyte only the ends."""

import pytest

from kwhatif.render.markdown import code
from kwhatif.render.safe import shortened
from kwhatif.render.terminal import lines, text

LONG = f"Deploy{'x' * 800_000}ment"


@pytest.mark.parametrize("shown", [shortened(LONG), text(LONG).plain, lines(["a", LONG]).plain, code(LONG)])
def test_a_text_of_a_megabyte_shows_its_ends(shown: str) -> None:
    assert len(shown) < 11_000
    assert "Deployx" in shown
    assert "xment" in shown


def test_what_a_scheduler_says_is_shown_whole() -> None:
    message = "0/5000 nodes are available: " + ", ".join(f"{number} Insufficient cpu" for number in range(400))
    assert shortened(message) == message
