"""The garbage collector is left as it was found."""

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kwhatif import garbage
from kwhatif.garbage import MANY, no_garbage_collection, rare_garbage_collection


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    was_enabled, thresholds = gc.isenabled(), gc.get_threshold()
    gc.enable()
    yield
    gc.set_threshold(*thresholds)
    if not was_enabled:
        gc.disable()


def test_none_is_collected_until_all_is_read() -> None:
    with pytest.raises(ZeroDivisionError), no_garbage_collection():
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled()


def test_where_it_was_off_it_stays_off() -> None:
    gc.disable()
    with no_garbage_collection():
        pass
    assert not gc.isenabled()


@pytest.mark.parametrize(("before", "during"), [(700, MANY), (2 * MANY, 2 * MANY), (0, 0)])
def test_it_is_rare_while_answering(before: int, during: int) -> None:
    gc.set_threshold(before, 7, 8)
    with pytest.raises(ZeroDivisionError), rare_garbage_collection():
        assert gc.get_threshold() == (during, 7, 8)
        raise ZeroDivisionError
    assert gc.get_threshold() == (before, 7, 8)


def test_only_a_process_for_one_answer_keeps_what_it_has_read() -> None:
    before = gc.get_freeze_count()
    garbage.keep(["read"])
    assert gc.get_freeze_count() == before
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            "import gc; from kwhatif import garbage; garbage.end_with_the_answer(); garbage.keep([]);"
            "print(gc.get_freeze_count() > 0)",
        ],
        capture_output=True,
        check=True,
        text=True,
    )
    assert ran.stdout == "True\n"
