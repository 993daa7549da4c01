"""What is said about devices and claims."""

import pytest

from kwhatif.render.sentences import sentence
from kwhatif.scheduler.framework.evidence import (
    BindingFailed,
    BindingTimedOut,
    ClaimElsewhere,
    DeviceShortage,
    Evidence,
    InvalidDevicePool,
)


@pytest.mark.parametrize(
    ("evidence", "text"),
    [
        pytest.param(
            DeviceShortage("ns/c", "gpu", 2, 0, 0), "claim ns/c, request gpu: no device matches", id="none of the kind"
        ),
        pytest.param(
            DeviceShortage("ns/c", "gpu", 2, 1, 1),
            "claim ns/c, request gpu: needs 2, 1 of 1 matching device free",
            id="too few of the kind",
        ),
        pytest.param(
            DeviceShortage("ns/c", "gpu", 2, 4, 1),
            "claim ns/c, request gpu: needs 2, 1 of 4 matching devices free",
            id="too few free",
        ),
        pytest.param(
            DeviceShortage("ns/c", "gpu", None, 4, 3),
            "claim ns/c, request gpu: wants all of 4 matching devices, 3 free",
            id="not all free",
        ),
        pytest.param(
            DeviceShortage("ns/c", "gpu", 2, 4, 3),
            "claim ns/c, request gpu: 3 free for 2, but none that go with constraints, counters and other requests",
            id="enough, but not together",
        ),
        pytest.param(
            InvalidDevicePool("d/p", "duplicate device name x"),
            "device pool d/p is broken: duplicate device name x",
            id="a broken pool",
        ),
        pytest.param(
            ClaimElsewhere("ns/c", ("d/p/x", "d/p/y")),
            "claim ns/c has d/p/x, d/p/y already, out of reach from here",
            id="devices elsewhere",
        ),
        pytest.param(
            BindingFailed("ns/c", "d/p/x", "failed"),
            "claim ns/c: device d/p/x could not be prepared (failed)",
            id="a device that failed",
        ),
        pytest.param(
            BindingTimedOut("ns/c", "d/p/x", 660, 600),
            "claim ns/c: device d/p/x is not ready after 660 s (bindingTimeout 600 s)",
            id="a device that takes too long",
        ),
    ],
)
def test_sentences(evidence: Evidence, text: str) -> None:
    assert sentence(evidence) == text
