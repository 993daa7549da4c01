"""Pins what would make output differ between machines, before anything of Rich or Typer is imported."""

import gc
import os
import signal
import time
from collections import deque
from collections.abc import Iterator
from functools import wraps
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from kwhatif.state.state import State
from tests.valid_state import validate

for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "KUBECONFIG"):
    os.environ.pop(name, None)
os.environ |= {
    "COLUMNS": "100",
    "TERMINAL_WIDTH": "100",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "SOURCE_DATE_EPOCH": "1795245600",
    # Most clusters of the tests are made by hand, and say nothing of their version.
    "KWHATIF_KUBERNETES_VERSION": "1.36",
    # Private to Typer: without it the width and colour of `--help` follow the machine. Recheck when Typer moves on.
    "_TYPER_FORCE_DISABLE_TERMINAL": "1",
}

# A shell starts what it runs in the background with interrupts ignored, and so would every command started here be.
signal.signal(signal.SIGINT, signal.default_int_handler)

# `make test` says the same on every machine, however slow, and soon; `make deep` is what looks for new examples.
settings.register_profile(
    "test", derandomize=True, max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("deep", deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
settings.load_profile("test")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite fixtures/cli from what is printed now")
    parser.addoption("--seconds", type=float, help="begin no test so many seconds after the first one")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: some tests wait for servers, or for other processes."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where time may not be enough for all tests, another part of them is run with every seed."""
    if config.getoption("--seconds") is not None:
        Random(config.getoption("--hypothesis-seed")).shuffle(items)


#: When this process began its first test.
BEGAN = pytest.StashKey[float]()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Counts from the first test, not from the start: on a slow machine, too, each process runs at least one."""
    seconds = item.config.getoption("--seconds")
    if seconds is not None and time.time() - item.config.stash.setdefault(BEGAN, time.time()) > seconds:
        pytest.skip("the time is over")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update-golden") and os.environ.get("CI"):
        raise pytest.UsageError("golden files are not rewritten in CI")


#: So many new objects before it is worthwhile to look for garbage: most tests make fewer, and looked in vain.
MANY = 50_000

#: Of the states that a test has, so many are checked at its end: the last ones, which the most has happened to.
LAST = 4


@pytest.fixture(autouse=True)
def _states_are_valid(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every state that a test has is checked when the test is over."""
    made: deque[State] = deque(maxlen=LAST)
    init, fork = State.__init__, State.fork

    def init_and_keep(self: State, *arguments: Any) -> None:
        init(self, *arguments)
        made.append(self)

    @wraps(fork)
    def fork_and_keep(self: State) -> State:
        made.append(fork(self))
        return made[-1]

    monkeypatch.setattr(State, "__init__", init_and_keep)
    monkeypatch.setattr(State, "fork", fork_and_keep)
    yield
    for state in made:
        if type(state) is State:  # else it is what a plugin of somebody's own gets to see (`framework.shown`)
            validate(state)


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: whoever looks for garbage need not look through all of them each time."""
    gc.freeze()
    gc.set_threshold(MANY)


def pytest_report_header() -> str:
    """The seed of today's mutated inputs, also where all is well."""
    from tests.hostile.test_hostile import CASES, todays_seed

    return f"mutated input: make fuzz-input N={CASES} SEED={todays_seed()}"
