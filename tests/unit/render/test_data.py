"""JSON and YAML: nothing in them acts on a terminal, and the data stay the same."""

from __future__ import annotations

import json

import pytest
import yaml

from kwhatif.render.formats import to_json, to_yaml
from kwhatif.render.safe import is_safe
from kwhatif.report.row import Document

TEXTS = [
    "plain",
    "ünï €",
    "a\u202eb",
    "x\x7f\x9b\u2028y\x85",
    "\U000e0001z",
    "\x1b[31m\u202e",
    "two\nlines",
    "tab\t\u200b",
]


class Named(Document):
    name: str
    texts: dict[str, list[str]] = {}


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_what_could_act_is_escaped(text: str) -> None:
    named = Named(name=text, texts={text: [text]})
    for written, read in ((to_json(named), json.loads), (to_yaml(named), yaml.safe_load)):
        assert read(written) == named.to_dict()
        assert is_safe(written.replace("\n", ""))


def test_other_texts_stay_as_they_are() -> None:
    named = Named(name="ünï €")
    assert "name: ünï €\n" in to_yaml(named)
    assert '"ünï €"' in to_json(named)
