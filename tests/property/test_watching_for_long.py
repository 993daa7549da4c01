"""A cluster that is watched for long takes no more memory than one that is watched for a while (`tests/soak.py`)."""

import gc

import pytest

from tests.soak import soak


@pytest.mark.slow
def test_memory_does_not_grow() -> None:
    gc.freeze()  # what other tests have left is not looked through each time
    try:
        soak(5_000).check()
    finally:
        gc.unfreeze()
