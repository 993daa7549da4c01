"""A name in the questions stands for one thing."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import kwhatif.questions

_CLASS = re.compile(r"^class ([A-Z]\w+)", re.MULTILINE)


def test_no_two_classes_have_the_same_name() -> None:
    modules = Path(*kwhatif.questions.__path__).rglob("*.py")
    counts = Counter(name for module in modules for name in _CLASS.findall(module.read_text()))
    assert counts.total() > 100
    assert [name for name, count in counts.items() if count > 1] == []
