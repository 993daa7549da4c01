"""Which release is asked: what is said comes before what is read, and nothing known means the newest."""

import pytest

from kwhatif.errors import InputError
from kwhatif.kube.model.caveat.scheduling import AssumedVersion, GateNotModelled, OtherVersion
from kwhatif.kube.model.node import Node, NodeStatus, NodeSystemInfo
from kwhatif.scheduler.release import MINORS, NEWEST
from kwhatif.sources.scheduler.release import (
    VARIABLE,
    AskedRelease,
    ReleaseOptions,
    ask_release,
    completed_gates,
    gates_of,
    parse_version,
)

OLDEST, BEFORE_NEWEST = MINORS[-1], MINORS[1]


@pytest.fixture(autouse=True)
def _nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def kubelets(*versions: str) -> list[Node]:
    return [Node(status=NodeStatus(node_info=NodeSystemInfo(kubelet_version=version))) for version in versions]


def ask(
    option: str | None = None, *, server: str = "", nodes: tuple[str, ...] = (), live: bool = False, gates: str = ""
) -> AskedRelease:
    return ask_release(ReleaseOptions(option, gates), server, kubelets(*nodes), live=live)


@pytest.mark.parametrize(
    ("text", "minor"),
    [("1.34", 34), ("v1.34", 34), ("1.34.4", 34), ("v1.34.4-gke.100", 34), ("v1.35.0+k3s1", 35), (" 1.36 ", 36)],
)
def test_versions(text: str, minor: int) -> None:
    assert parse_version(text) == minor


@pytest.mark.parametrize("text", ["", "1", "34", "2.1", "1.x", "latest", "1.-3", "1.34\x1b["])
def test_what_is_not_a_version(text: str) -> None:
    if text.startswith("1.34"):
        assert parse_version(text) == 34
        return
    with pytest.raises(ValueError, match="is not a version of Kubernetes"):
        parse_version(text)


def found(asked: AskedRelease) -> tuple[int, str]:
    return asked.release.minor, asked.source


def test_the_option_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, f"1.{NEWEST}")
    assert found(ask(f"1.{OLDEST}", server=f"1.{NEWEST}")) == (OLDEST, "asked")
    assert found(ask(server=f"1.{OLDEST}")) == (NEWEST, "asked")


def test_then_what_the_api_server_says() -> None:
    assert found(ask(server=f"1.{OLDEST}", nodes=(f"v1.{NEWEST}.0",), live=True)) == (OLDEST, "server")
    assert found(ask(server=f"1.{OLDEST}", nodes=(f"v1.{NEWEST}.0",))) == (OLDEST, "snapshot")


def test_then_the_newest_kubelet() -> None:
    asked = ask(nodes=(f"v1.{OLDEST}.9", f"v1.{BEFORE_NEWEST}.1", "", "unknown"))
    assert found(asked) == (BEFORE_NEWEST, "kubelets")
    assert asked.caveats == ()


def test_else_the_newest_release_and_a_caveat() -> None:
    asked = ask(nodes=("", "none"))
    assert found(asked) == (NEWEST, "assumed")
    assert asked.caveats == (AssumedVersion(rules=f"1.{NEWEST}"),)


def test_of_a_version_that_is_not_modelled_the_nearest_and_a_caveat() -> None:
    assert ask("1.20").caveats == (OtherVersion(version="1.20", rules=f"1.{OLDEST}"),)
    assert ask(nodes=("v1.99.0",)).caveats == (OtherVersion(version="1.99", rules=f"1.{NEWEST}"),)


@pytest.mark.parametrize("variable", ["banana", "1"])
def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(VARIABLE, variable)
    with pytest.raises(
        InputError, match=f"{VARIABLE}: '{variable}' is not a version of Kubernetes: write it as 1.{NEWEST}"
    ):
        ReleaseOptions().check()


# --- feature gates -------------------------------------------------------------------------------------------------


def test_gates_are_set_by_hand() -> None:
    asked = ask("1.36", gates="DRADeviceTaints=false,kube:DRAListTypeAttributes=T, DRAAdminAccess=true,")
    assert asked.feature_gates == {"DRADeviceTaints": False, "DRAListTypeAttributes": True, "DRAAdminAccess": True}
    assert "DRADeviceTaints" not in asked.release.gates
    assert asked.info().feature_gates == asked.feature_gates


REFUSED = {
    "Nope=true": ["unrecognized feature gate: Nope"],
    "DRADeviceTaint=true": ["unrecognized feature gate: DRADeviceTaint (did you mean DRADeviceTaints?)"],
    "DRADeviceTaints": ["missing bool value for DRADeviceTaints"],
    "DRADeviceTaints=yes": [
        'invalid value of DRADeviceTaints=yes, err: strconv.ParseBool: parsing "yes": invalid syntax',
    ],
    "DynamicResourceAllocation=false": [
        "cannot set feature gate DynamicResourceAllocation to false, feature is locked to true",
    ],
    "DRAResourceClaimDeviceStatus=false": [
        "DRADeviceBindingConditions is enabled, but depends on features that are disabled:"
        " [DRAResourceClaimDeviceStatus]",
        "DRAResourceClaimGranularStatusAuthorization is enabled, but depends on features that are disabled:"
        " [DRAResourceClaimDeviceStatus]",
    ],
    "Nope=true,Neither": ["missing bool value for Neither", "unrecognized feature gate: Nope"],
}


@pytest.mark.parametrize("gates", REFUSED)
def test_what_kube_scheduler_refuses(gates: str) -> None:
    with pytest.raises(InputError) as caught:
        ask("1.36", gates=gates)
    assert list(map(str, caught.value.problems)) == [f"--feature-gates: {text}" for text in REFUSED[gates]]


def test_a_gate_of_another_release_is_not_known() -> None:
    with pytest.raises(InputError, match="unrecognized feature gate: DRAListTypeAttributes"):
        ask("1.35", gates="DRAListTypeAttributes=true")


NOT_MODELLED = {
    ("1.36", "OpportunisticBatching=false,DRAListTypeAttributes=true"): (
        "DRAListTypeAttributes",
        "OpportunisticBatching",
    ),
    ("1.36", "OpportunisticBatching=true,DRAListTypeAttributes=false"): (),  # as they are without it
    ("1.36", "DRADeviceTaints=false"): (),  # modelled
    ("1.37", "DRADeviceTaintRules=false,StorageCapacityScoring=false"): (),
    ("1.36", "ContextualLogging=false"): (),  # no rule of the scheduler asks about it
    ("1.36", "KubeletInUserNamespace=true"): (),
    ("1.37", "InterPodAffinityHostnameFastPath=true"): (),  # the same answer, earlier
}


@pytest.mark.parametrize(("version", "gates"), NOT_MODELLED)
def test_gates_that_are_not_modelled_are_a_caveat(version: str, gates: str) -> None:
    names = NOT_MODELLED[version, gates]
    assert ask(version, gates=gates).caveats == ((GateNotModelled(gates=names),) if names else ())


GATES = {
    ("1.36", "DRADeviceTaintRules"): (False, False),
    ("1.37", "DRADeviceTaintRules"): (True, False),  # locked from 1.38 on
    ("1.37", "DRAExtendedResource"): (True, True),
    ("1.37", "DRAFractionalCapacityRange"): (False, False),  # on where nothing older than 1.37 has to be served
}


@pytest.mark.parametrize(("version", "gate"), GATES)
def test_defaults_of_gates(version: str, gate: str) -> None:
    found = gates_of(version)[gate]
    assert (found.default, found.locked) == GATES[version, gate]
    assert found.decides


def test_all_gates_of_a_stage() -> None:
    beta = ask("1.36", gates="AllBeta=false,DRADeviceTaints=true").release.gates
    assert "DRADeviceTaints" in beta
    assert "DRAPartitionableDevices" not in beta
    assert "DynamicResourceAllocation" in beta


def test_completion_offers_what_is_not_the_default() -> None:
    assert completed_gates("1.36", "DRADeviceTaints") == ["DRADeviceTaints=false"]
    assert completed_gates(None, "A=true,VolumeLimitScal")[0].startswith("A=true,VolumeLimitScaling=")
    assert completed_gates("banana", "DRA") == []
