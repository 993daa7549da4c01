"""Some of `make fuzz-input` in every run, with another seed every day."""

import datetime as dt
from collections.abc import Iterator

import pytest

from tests.hostile.__main__ import Batch, own_worker, try_batch

#: In parts, so that processes can share them.
CASES, PARTS = 160, 4


def todays_seed() -> int:
    """Another one every day; printed at the top of every run."""
    return dt.datetime.now(dt.UTC).date().toordinal()


@pytest.fixture(scope="module", autouse=True)
def _no_child_is_left() -> Iterator[None]:
    """Tests of other modules count the children of this process."""
    yield
    own_worker().end()


@pytest.mark.parametrize("part", range(PARTS))
def test_mutated_input_is_answered_or_refused(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBECONFIG", "FORCE_COLOR", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    seed = todays_seed()
    codes, found = try_batch(Batch(seed, part * CASES // PARTS, CASES // PARTS))
    faults = [
        f"{fault.kind}: case {fault.case}, {fault.done}: kwhatif {' '.join(fault.command)}"
        for fault in found
        if fault.kind != "slow"  # a busy machine is not a fault; `make fuzz-input` reports it
    ]
    assert not faults, f"make fuzz-input N={CASES} SEED={seed} shows:\n" + "\n".join(faults)
    assert sum(codes.values()) == CASES // PARTS
    assert min(codes["answered"], codes["refused"]) > CASES // PARTS // 10, f"seed {seed}: {codes}"
