"""A profile may disable PreFilter or PreScore of a plugin, and leave Filter or Score enabled."""

import pytest
from msgspec.structs import replace

from kwhatif.kube.model.meta import AnnotatedMeta, ObjectMeta
from kwhatif.kube.model.pod import PodResourceClaim
from kwhatif.kube.model.pod_spec import NodeSelectorTerm
from kwhatif.kube.model.resource import (
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    DeviceSubRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from kwhatif.questions.session.session import Session
from kwhatif.report.decision import Decision
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.state.state import State
from tests.asking import each_alone
from tests.builders import PodBuilder, cluster, node, on_name, pod, term
from tests.placing import Placing
from tests.storage import claim, storage_class

NODES = (node("n1").allocatable(cpu="4", pods=10), node("n2").allocatable(cpu="4", pods=10))


def without(point: str, plugin: str) -> Profile:
    profile = default_profile()
    return replace(profile, **{point: tuple(entry for entry in getattr(profile, point) if entry.name != plugin)})


def decide(profile: Profile, candidate: PodBuilder) -> Decision:
    session = Session.of(cluster(*NODES), profiles={profile.scheduler_name: profile})
    (decision,) = each_alone(session, [candidate.build()]).decisions
    return decision


NO_PRE_FILTER = {
    "NodePorts": 'reading "PreFilterNodePorts" from cycleState: not found',
    "NodeResourcesFit": 'error reading "PreFilterNodeResourcesFit" from cycleState: not found',
    "VolumeRestrictions": 'cannot read "PreFilterVolumeRestrictions" from cycleState',
    "VolumeBinding": "not found",
    "PodTopologySpread": 'reading "PreFilterPodTopologySpread" from cycleState: not found',
    "InterPodAffinity": 'error reading "PreFilterInterPodAffinity" from cycleState: not found',
    "DynamicResources": "not found",
    "NodeDeclaredFeatures": 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found',
}


@pytest.mark.parametrize(("plugin", "text"), NO_PRE_FILTER.items(), ids=NO_PRE_FILTER)
def test_filter_fails_for_want_of_what_pre_filter_finds(plugin: str, text: str) -> None:
    decision = decide(without("pre_filter", plugin), pod("web").cpu("1"))
    assert decision.message == f'running "{plugin}" filter plugin: {text}'
    assert decision.ties == ()


def test_what_filter_did_not_look_for_is_not_reserved() -> None:
    profile = without("filter", "VolumeBinding")
    objects = (*NODES, storage_class("slow", "kubernetes.io/no-provisioner"), claim("data", "slow"))
    placer = Placing({profile.scheduler_name: profile}, State(cluster(*objects)))
    assert placer.place(pod("web").claim("data").info()).node == "n1"


@pytest.mark.parametrize("plugin", ["NodeAffinity", "VolumeZone", "NodeVolumeLimits"])
def test_filter_of_other_plugins_finds_it_out_for_itself(plugin: str) -> None:
    assert decide(without("pre_filter", plugin), pod("web").cpu("1")).ties == ("n1", "n2")


CONFLICTING: NodeSelectorTerm = term(fields=(*on_name("n1").match_fields, *on_name("n2").match_fields))


def test_node_names_in_conflict_are_no_more_than_a_mismatch_without_pre_filter() -> None:
    choosy = pod("web").node_affinity(CONFLICTING)
    assert "pod affinity terms conflict" in decide(default_profile(), choosy).message
    rows = decide(without("pre_filter", "NodeAffinity"), choosy).rejected
    assert [row.reasons for row in rows] == [("node(s) didn't match Pod's node affinity/selector",)] * 2


NO_PRE_SCORE = {
    "TaintToleration": 'failed to read "PreScoreTaintToleration" from cycleState: not found',
    "PodTopologySpread": 'error reading "PreScorePodTopologySpread" from cycleState: not found',
    "InterPodAffinity": 'failed to read "PreScoreInterPodAffinity" from cycleState: not found',
}


@pytest.mark.parametrize(("plugin", "text"), NO_PRE_SCORE.items(), ids=NO_PRE_SCORE)
def test_score_fails_for_want_of_what_pre_score_finds(plugin: str, text: str) -> None:
    decision = decide(without("pre_score", plugin), pod("web").cpu("1"))
    assert decision.message == f'running Score plugins: plugin "{plugin}" failed with: {text}'


@pytest.mark.parametrize("plugin", ["NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation"])
def test_score_of_other_plugins_finds_it_out_for_itself(plugin: str) -> None:
    candidate = pod("web").cpu("1").memory("1Gi")
    scores = decide(without("pre_score", plugin), candidate).feasible
    assert scores == decide(default_profile(), candidate).feasible


def test_a_score_plugin_that_scores_nothing_is_one_all_the_same() -> None:
    profile = replace(default_profile(), pre_score=(), score=())
    assert [row.score for row in decide(profile, pod("web")).feasible] == [1, 1]
    binding = tuple(entry for entry in default_profile().score if entry.name == "VolumeBinding")
    assert [row.score for row in decide(replace(profile, score=binding), pod("web")).feasible] == [0, 0]


def test_score_of_dynamic_resources_relies_on_pre_filter() -> None:
    profile = without("pre_filter", "DynamicResources")
    profile = replace(profile, filter=tuple(entry for entry in profile.filter if entry.name != "DynamicResources"))
    message = decide(profile, pod("web").cpu("1")).message
    assert message == 'running Score plugins: plugin "DynamicResources" failed with: not found'


def test_score_of_dynamic_resources_is_about_what_filter_found() -> None:
    profile = without("filter", "DynamicResources")
    wanted = DeviceRequest(name="gpu", first_available=(DeviceSubRequest(name="big", device_class_name="gpu"),))
    claim = ResourceClaim(
        metadata=AnnotatedMeta(name="mine", namespace="default"),
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=(wanted,))),
    )
    session = Session.of(
        cluster(*NODES, claim, DeviceClass(metadata=ObjectMeta(name="gpu"))), profiles={"default-scheduler": profile}
    )
    candidate = pod("web").spec(resource_claims=(PodResourceClaim(name="gpu", resource_claim_name="mine"),))
    (decision,) = each_alone(session, [candidate.build()]).decisions
    assert [("DynamicResources" in row.scores) for row in decision.feasible] == [False, False]
