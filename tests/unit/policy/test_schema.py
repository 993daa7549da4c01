"""`docs/policy.md` lists every field, rule and caveat as the code has them."""

import re

import msgspec
import pytest
import yaml

from kwhatif.kube.model.caveat import CODES
from kwhatif.policy.build import build_rulebook
from kwhatif.policy.schema import KINDS, Policy
from tests import ROOT

TEXT = (ROOT / "docs" / "policy.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The rows of the table under a heading, without those of its head."""
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in cells] for cells in found[2:]]


@pytest.mark.parametrize("code", CODES)
def test_every_caveat_is_there_with_its_default(code: str) -> None:
    kind = CODES[code]
    missing = next(field.default for field in msgspec.structs.fields(kind) if field.name == "missing")
    warns = missing if kind.warns is None else kind.warns
    meaning = " ".join((kind.__doc__ or "").split())
    row = next(row for row in rows("Caveats") if row[0] == f"`{code}`")
    assert row == [f"`{code}`", "warn" if warns else "pass", "fail" if missing else "", meaning]


def test_there_are_no_others() -> None:
    assert [row[0].strip("`") for row in rows("Caveats")] == list(CODES)
    assert {row[0].strip("`"): row[2] for row in rows("Rules")} == dict(KINDS)


def test_every_field_is_there() -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(Policy)} - {"apiVersion", "kind"}
    assert {name for row in rows("Fields") for name in re.findall(r"`(\w+)`", row[0])} == fields


def test_the_example_is_a_policy_and_its_levels_are_the_defaults() -> None:
    text = TEXT.split("```yaml\n")[1].split("```")[0]
    data = yaml.safe_load(text)
    book = build_rulebook(data, "policy.md")
    default = Policy()
    for field in ("unschedulable", "denied", "budget_violation", "preemption", "gated", "ignored"):
        assert getattr(book.policy, field) == getattr(default, field)
