"""NodeDeclaredFeatures."""

import pytest

from kwhatif.kube.model.pod_spec import RestartPolicyRule
from kwhatif.scheduler.framework.evidence import MissingFeature
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Code
from kwhatif.scheduler.plugins.node_declared_features import NodeDeclaredFeatures, required_features
from tests.builders import PodBuilder, node, pod, snapshot

RESTART = "RestartAllContainersOnContainerExits"
USERNS = "UserNamespacesHostNetworkSupport"
RULES = (RestartPolicyRule(action="Restart"), RestartPolicyRule(action="RestartAllContainers"))


@pytest.mark.parametrize(
    ("asking", "features"),
    [
        pytest.param(pod(), set(), id="a plain pod"),
        pytest.param(pod().container("b", restart_policy_rules=RULES), {RESTART}, id="a container restarts all"),
        pytest.param(pod().init_container(restart_policy_rules=RULES), {RESTART}, id="an init container restarts all"),
        pytest.param(pod().container("b", restart_policy_rules=RULES[:1]), set(), id="a rule that restarts itself"),
        pytest.param(pod().spec(host_network=True, host_users=False), {USERNS}, id="host network without host users"),
        pytest.param(pod().spec(host_network=True), set(), id="host network, users not said"),
        pytest.param(pod().spec(host_network=True, host_users=True), set(), id="host network and host users"),
        pytest.param(pod().spec(host_users=False), set(), id="a user namespace without host network"),
    ],
)
def test_required_features(asking: PodBuilder, features: set[str]) -> None:
    assert required_features(asking.build().spec) == features
    assert (NodeDeclaredFeatures().pre_filter(asking.info(), snapshot()) is SKIP) is not bool(features)


def test_all_required_features_must_be_declared() -> None:
    asking = pod().spec(host_network=True, host_users=False).init_container(restart_policy_rules=RULES)
    check = NodeDeclaredFeatures().pre_filter(asking.info(), snapshot())
    assert isinstance(check, NodeFilter)
    assert check.reads is Reads.SHAPE
    assert check.filter(node().features("Other", RESTART, USERNS).info()) is SUCCESS
    status = check.filter(node().features("Other", RESTART).info())
    assert status.code is Code.UNRESOLVABLE
    assert status.message == "node(s) didn't match Pod's required features"
    assert status.evidence == (MissingFeature((USERNS,)),)
    assert check.filter(node().info()).evidence == (MissingFeature((RESTART, USERNS)),)
