"""kubectl drain's flags in an edit."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.edits.edit import Drain, Wrong
from kwhatif.edits.parse import parse_edit
from kwhatif.edits.selection import drain_options
from kwhatif.edits.verbs import Reader

GOOD: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "none": ((), {}),
    "switches": (
        ("--force", "--ignore-daemonsets=true", "--delete-emptydir-data=1", "--disable-eviction=false"),
        {"force": True, "ignore_daemonsets": True, "delete_emptydir_data": True},
    ),
    "a grace period": (("--grace-period=0",), {"grace_period": 0}),
    "the pod's own": (("--grace-period=-1",), {}),
    "overdue pods": (("--skip-wait-for-delete-timeout=10",), {"skip_wait_for_delete_timeout": 10}),
}


@pytest.mark.parametrize(("args", "expected"), GOOD.values(), ids=GOOD.keys())
def test_read(args: tuple[str, ...], expected: dict[str, Any]) -> None:
    assert drain_options(Drain(text="", nodes=("a",), args=args)) == DrainOptions(**expected)


def test_timeout_and_selector() -> None:
    options = drain_options(Drain(text="", nodes=("a",), args=("--pod-selector=app in (a,b),!x",), timeout=60.0))
    assert options.timeout == 60
    assert options.pod_selector == "app in (a,b),!x"


BAD = {
    ("--forced",): ("unknown flag: --forced", "did you mean --force?"),
    ("--dry-run=client",): ("unknown flag: --dry-run", ""),
    ("--force=maybe",): (
        'invalid argument "maybe" for "--force" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
        "",
    ),
    ("--grace-period=soon",): (
        'invalid argument "soon" for "--grace-period" flag: strconv.ParseInt: parsing "soon": invalid syntax',
        "",
    ),
    ("--pod-selector=a=b=c",): (
        "--pod-selector=<pod_selector> must be a valid label selector",
        "'a=b=c' is not a label selector",
    ),
}


@pytest.mark.parametrize(("args", "expected"), BAD.items(), ids=[args[0] for args in BAD])
def test_wrong(args: tuple[str, ...], expected: tuple[str, str]) -> None:
    with pytest.raises(Wrong) as wrong:
        drain_options(Drain(text="", nodes=("a",), args=args))
    assert wrong.value.message == expected[0]
    assert wrong.value.hint.startswith(expected[1])


@pytest.mark.parametrize(
    ("flag", "waits"), [("", True), ("--wait", True), ("--wait=0", False), ("--wait=False", False)]
)
def test_whether_to_wait_is_read_as_go_reads_it(flag: str, waits: bool) -> None:
    edit = parse_edit(f"drain a {flag}", cast("Reader", None))
    assert isinstance(edit, Drain)
    assert (edit.wait, edit.args) == (waits, ())
