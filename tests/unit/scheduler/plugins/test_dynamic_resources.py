"""DynamicResources."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.meta import OwnerReference
from kwhatif.kube.model.pod import PodResourceClaim
from kwhatif.kube.model.resource import DeviceRequest, ResourceClaim, ResourceClaimConsumerReference
from kwhatif.questions.decisions.described import caveats_of
from kwhatif.render.caveats import sentence
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.evidence import (
    BindingFailed,
    BindingTimedOut,
    ClaimElsewhere,
    DeviceShortage,
    InsufficientResource,
    InvalidDevicePool,
)
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, Reads
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Code, Status, unresolvable
from kwhatif.scheduler.plugins.default_preemption import DefaultPreemption
from kwhatif.scheduler.plugins.dynamic_resources import DynamicResources, DynamicResourcesArgs
from kwhatif.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kwhatif.state.change import SetFacts
from kwhatif.state.state import State
from tests.builders import NodeBuilder, PodBuilder, node, pod, reserve, snapshot
from tests.devices import (
    GPU,
    allocated,
    alternative,
    asking,
    claim,
    device,
    device_class,
    first_of,
    gpus,
    held,
    match,
    only_on,
    request,
    result,
    slice_,
)

Object = KubernetesObject | PodBuilder | NodeBuilder
RESOURCE = "example.com/gpu"
GPU_0 = f"{GPU}/n1/gpu-0"
MINE = claim("mine", request())


def world(*objects: Object) -> State:
    return snapshot(node("n1"), node("n2"), device_class(), *objects)


def compiled(asked: PodBuilder, within: State) -> NodeFilter:
    found = DynamicResources().pre_filter(asked.info(), within)
    assert isinstance(found, NodeFilter), found
    return found


def verdict(asked: PodBuilder, *objects: Object, name: str = "n1") -> Status:
    within = world(*objects)
    return compiled(asked, within).filter(within.by_name[name])


# --- the pod's claims ------------------------------------------------------------------------------------------


def test_a_pod_without_claims_is_not_checked() -> None:
    assert DynamicResources().pre_filter(pod().info(), world()) is SKIP
    assert DynamicResources().pre_enqueue(pod().info(), world()) is SUCCESS


def owned(name: str, uid: str) -> ResourceClaim:
    return claim(name, request(), owner=uid)


@pytest.mark.parametrize(
    ("asked", "objects", "reason"),
    [
        pytest.param(asking("mine"), [], 'could not find ResourceClaim "default/mine"', id="no such claim"),
        pytest.param(
            asking("mine"),
            [claim("mine", request(), meta={"deletion_timestamp": "2026-01-01T00:00:00Z"})],
            'resourceclaim "mine" is being deleted',
            id="the claim goes away",
        ),
        pytest.param(
            asking().spec(resource_claims=(PodResourceClaim(name="gpu", resource_claim_template_name="t"),)),
            [],
            'pod "default/pod": ResourceClaim not created yet',
            id="no claim is generated yet",
        ),
        pytest.param(
            asking(gpu="pod-gpu"),
            [owned("pod-gpu", "somebody")],
            "ResourceClaim default/pod-gpu was not created for Pod default/pod (Pod is not owner)",
            id="the generated claim is for another pod",
        ),
        pytest.param(
            asking(gpu="pod-gpu"),
            [claim("pod-gpu", request())],
            "ResourceClaim default/pod-gpu was not created for Pod default/pod (Pod is not owner)",
            id="the generated claim is for nobody",
        ),
        pytest.param(
            asking().spec(resource_claims=(PodResourceClaim(name="gpu"),)),
            [],
            'pod "default/pod", spec.resourceClaim "gpu": none of the supported fields are set',
            id="an entry of the future",
        ),
    ],
)
def test_claims_that_the_pod_waits_for(asked: PodBuilder, objects: list[Object], reason: str) -> None:
    plugin, within = DynamicResources(), world(*objects)
    assert plugin.pre_enqueue(asked.info(), within) == unresolvable(reason)
    assert plugin.pre_filter(asked.info(), within) == unresolvable(reason)


def test_a_generated_claim_is_used() -> None:
    assert verdict(asking(gpu="pod-gpu"), owned("pod-gpu", "default/pod"), gpus("n1", 1)) is SUCCESS


def test_an_entry_for_which_no_claim_is_needed_is_ignored() -> None:
    assert DynamicResources().pre_filter(asking(gpu=None).info(), world()) is SKIP


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        pytest.param(request("r", of="absent"), "request r: device class absent does not exist", id="no such class"),
        pytest.param(
            first_of("r", alternative("a"), alternative("b", of="absent")),
            "request r/b: device class absent does not exist",
            id="no such class of an alternative",
        ),
        pytest.param(
            DeviceRequest(name="r"),
            "resource claim default/mine, request r: unknown request type",
            id="a request of the future",
        ),
    ],
)
def test_claims_that_cannot_be_allocated_anywhere(asked: DeviceRequest, reason: str) -> None:
    found = DynamicResources().pre_filter(asking("mine").info(), world(claim("mine", asked)))
    assert found == unresolvable(reason)


def test_a_request_without_a_class_is_an_error() -> None:
    found = DynamicResources().pre_filter(asking("mine").info(), world(claim("mine", request(of=""))))
    assert found == Status(Code.ERROR, ("request r: unsupported request type",))


def test_the_class_of_an_allocated_claim_may_be_gone() -> None:
    has = allocated(claim("mine", request(of="absent")), result("r", GPU_0))
    assert verdict(asking("mine"), has) is SUCCESS


# --- Filter ----------------------------------------------------------------------------------------------------


def test_a_node_with_the_devices_is_fit_for_the_pod() -> None:
    assert verdict(asking("mine"), MINE, gpus("n1", 1)) is SUCCESS


def test_a_node_without_them_is_not() -> None:
    shortage = DeviceShortage("default/mine", "r", 1, 0, 0)
    assert verdict(asking("mine"), MINE, gpus("n1", 1), name="n2") == unresolvable(
        "cannot allocate all claims", shortage
    )


def test_devices_that_others_hold_are_not_freed_by_eviction() -> None:
    found = verdict(asking("mine"), MINE, gpus("n1", 1), held(GPU_0))
    assert found.code is Code.UNRESOLVABLE
    assert found.evidence == (DeviceShortage("default/mine", "r", 1, 1, 0),)


def test_broken_pools_are_told_where_nothing_else_is_found() -> None:
    broken = slice_("n1", device("x"), device("x"))
    assert verdict(asking("mine"), MINE, broken) == unresolvable(
        "invalid resource pools were encountered", InvalidDevicePool(f"{GPU}/n1", "duplicate device name x")
    )
    assert verdict(asking("mine"), MINE, broken, gpus("n1", 1, pool="p")) is SUCCESS


def test_a_broken_selector_ends_the_cycle() -> None:
    found = verdict(asking("mine"), claim("mine", request("r", 'device.attributes["a"].b')), gpus("n1", 1))
    assert found.code is Code.ERROR
    assert found.message == "claim default/mine: selector #0: CEL runtime error: no such key: b"


@pytest.mark.parametrize(
    ("has", "expected"),
    [
        pytest.param(allocated(MINE, result("r", GPU_0)), None, id="devices for every node"),
        pytest.param(allocated(MINE, result("r", GPU_0), only="n1"), None, id="devices of the node"),
        pytest.param(
            allocated(MINE, result("r", GPU_0), only="n2"),
            ClaimElsewhere("default/mine", (GPU_0,)),
            id="devices of another node",
        ),
    ],
)
def test_an_allocated_claim_ties_the_pod_to_its_devices(has: ResourceClaim, expected: object) -> None:
    found = verdict(asking("mine"), has)
    if expected is None:
        assert found is SUCCESS
    else:
        assert found == unresolvable("resourceclaim not available on the node", expected)  # type: ignore[arg-type]


def prepared(**conditions: str) -> ResourceClaim:
    wanted = {"binding_conditions": ("ready", "linked"), "binding_failure_conditions": ("failed",)}
    return allocated(MINE, result("r", GPU_0, **wanted), conditions=conditions)


@pytest.mark.parametrize(
    ("conditions", "usable"),
    [
        pytest.param({"ready": "True", "linked": "True"}, True, id="it is ready"),
        pytest.param({"ready": "True"}, True, id="it is not ready yet"),
        pytest.param({}, True, id="nothing is said about it"),
        pytest.param({"failed": "False"}, True, id="it has not failed"),
        pytest.param({"failed": "True"}, False, id="it has failed"),
        pytest.param({"ready": "True", "linked": "True", "failed": "True"}, False, id="it has failed in the end"),
    ],
)
def test_a_device_that_is_being_prepared(conditions: dict[str, str], *, usable: bool) -> None:
    found = verdict(asking("mine"), prepared(**conditions))
    expected = unresolvable("resourceclaim not available on the node", BindingFailed("default/mine", GPU_0, "failed"))
    assert found == (SUCCESS if usable else expected)


def test_a_device_without_a_status_is_waited_for() -> None:
    wanted = {"binding_conditions": ("ready",), "binding_failure_conditions": ("failed",)}
    assert verdict(asking("mine"), allocated(MINE, result("r", GPU_0, **wanted))) is SUCCESS


@pytest.mark.parametrize(
    ("taken_at", "conditions", "limit", "waited"),
    [
        pytest.param("2026-01-01T00:10:01Z", {}, "600s", 601, id="too long"),
        pytest.param("2026-01-01T00:10:00Z", {}, "600s", None, id="just as long as it may"),
        pytest.param("2026-01-01T00:10:00Z", {}, "1m30s", 600, id="another limit"),
        pytest.param("2026-01-01T09:00:00Z", {"ready": "True", "linked": "True"}, "600s", None, id="it is ready"),
        pytest.param("", {}, "600s", None, id="nobody knows"),
    ],
)
def test_a_device_that_takes_too_long(
    taken_at: str, conditions: dict[str, str], limit: str, waited: int | None
) -> None:
    """`bound-claim-with-timed-out-binding` in upstream's `dynamicresources_test.go`, and around it."""
    claim = prepared(**conditions)
    since = replace(claim.status.allocation, allocation_timestamp="2026-01-01T00:00:00Z")  # type: ignore[type-var]
    within = world(replace(claim, status=replace(claim.status, allocation=since)))
    within.apply(SetFacts.of(within.cluster, taken_at=taken_at))
    plugin = DynamicResources(DynamicResourcesArgs(binding_timeout=limit))
    only = (plugin,)
    profile = Profile(pre_filter=only, filter=only, post_filter=only)
    attempt_ = attempt(profile, asking("mine").info(), within)
    caveats = [sentence(caveat) for caveat in caveats_of(attempt_)]
    if waited is None:
        assert attempt_.scores is not None
        assert [caveat[:41] for caveat in caveats] == (
            [] if taken_at else ["ResourceClaim default/mine waits for its "]
        )
        return
    evidence = BindingTimedOut("default/mine", GPU_0, waited, 90 if limit == "1m30s" else 600)
    expected = unresolvable("resourceclaim not available on the node", evidence)
    assert attempt_.cycle.verdicts["n1"].status == expected
    assert attempt_.post_filter is not None
    assert attempt_.post_filter.status.message == "deallocation of ResourceClaim completed"
    assert caveats == []


def test_new_devices_are_looked_for_first() -> None:
    elsewhere = allocated(claim("other"), result("r", f"{GPU}/n2/gpu-0"), only="n2")
    assert verdict(asking("other", "mine"), elsewhere, MINE).reasons == ("cannot allocate all claims",)
    assert verdict(asking("other", "mine"), elsewhere, MINE, gpus("n1", 1)).reasons == (
        "resourceclaim not available on the node",
    )


def test_a_node_is_judged_once() -> None:
    within = world(MINE, gpus("n1", 1))
    filter_ = compiled(asking("mine"), within)
    first = filter_.filter(within.by_name["n2"])
    assert filter_.filter(within.by_name["n2"].clone()) is first
    assert filter_.reads is Reads.NODE


# --- extended resources ----------------------------------------------------------------------------------------

CLASS = device_class("gpu-class", resource=RESOURCE)


def wanting(count: int = 1, name: str = RESOURCE) -> PodBuilder:
    return pod().requests({name: str(count)})


def test_an_extended_resource_is_taken_from_devices() -> None:
    assert verdict(wanting(2), CLASS, gpus("n1", 2)) is SUCCESS
    assert verdict(wanting(3), CLASS, gpus("n1", 2)) == unresolvable(
        "cannot allocate all claims", DeviceShortage("default/<extended-resources>", "container-0-request-0", 3, 2, 2)
    )


def test_every_class_stands_for_a_resource_of_its_own() -> None:
    assert verdict(wanting(1, "deviceclass.resource.kubernetes.io/gpu"), gpus("n1", 1)) is SUCCESS


def test_a_resource_without_a_class_is_nobodys_business() -> None:
    assert DynamicResources().pre_filter(wanting(1, "example.com/other").info(), world(CLASS)) is SKIP
    assert DynamicResources().pre_filter(wanting(0).info(), world(CLASS)) is SKIP


def test_what_a_device_plugin_provides_is_not_taken_from_devices() -> None:
    within = snapshot(node("n1").allocatable({RESOURCE: "1"}), node("n2").allocatable({RESOURCE: "0"}), CLASS)
    filter_ = compiled(wanting(), within)
    assert filter_.filter(within.by_name["n1"]) is SUCCESS
    assert filter_.filter(within.by_name["n2"]).reasons == ("cannot allocate all claims",)


def test_resources_that_neither_provides() -> None:
    asked = wanting().requests({"example.com/other": "1"})
    assert verdict(asked, CLASS, gpus("n1", 1)) == unresolvable(
        "cannot fit resource", InsufficientResource("example.com/other", 1, 0, 0)
    )


def test_claims_and_extended_resources_compete_for_devices() -> None:
    asked = asking("mine").requests({RESOURCE: "1"})
    assert verdict(asked, CLASS, MINE, gpus("n1", 2)) is SUCCESS
    assert verdict(asked, CLASS, MINE, gpus("n1", 1)).reasons == ("cannot allocate all claims",)


def left_over(owner: str = "default/pod", *, marked: str = "true", controller: bool = True) -> ResourceClaim:
    owners = (OwnerReference(kind="Pod", name="pod", uid=owner, controller=controller),)
    notes = {"resource.kubernetes.io/extended-resource-claim": marked}
    return claim("pod-extended-resources-x", request(), meta={"owner_references": owners, "annotations": notes})


@pytest.mark.parametrize(
    ("left", "in_the_way"),
    [
        pytest.param(left_over(), True, id="the pod's own"),
        pytest.param(left_over("other"), False, id="another pod's"),
        pytest.param(left_over(marked="false"), False, id="another kind of claim"),
        pytest.param(left_over(controller=False), False, id="one that the pod does not control"),
    ],
)
def test_the_claim_of_an_earlier_attempt_is_in_the_way(left: ResourceClaim, *, in_the_way: bool) -> None:
    found = verdict(wanting(), CLASS, gpus("n1", 1), left)
    assert found == (unresolvable("cannot schedule extended resource claim") if in_the_way else SUCCESS)


# --- PostFilter ------------------------------------------------------------------------------------------------


def post_filter(asked: PodBuilder, *objects: Object, **points: Any) -> Status:
    """What the plugin says after a cycle of it alone, or with others."""
    plugin = DynamicResources()
    others = points.pop("others", ())
    profile = Profile(
        pre_filter=(*others, plugin), filter=(*others, plugin), post_filter=points.pop("post_filter", (plugin,))
    )
    cycle = Cycle(profile, asked.info(), world(*objects))
    if cycle.pre_filter():
        cycle.filter_nodes()
    return plugin.post_filter(cycle).status


USED_BY_POD = ("default/pod",)


@pytest.mark.parametrize(
    ("asked", "objects", "message"),
    [
        pytest.param(pod(), [], "no new claims to deallocate", id="no claims"),
        pytest.param(asking("absent"), [], "no new claims to deallocate", id="claims that are not there"),
        pytest.param(asking("mine"), [MINE], "still not schedulable", id="no devices"),
        pytest.param(
            asking("mine"),
            [allocated(MINE, result("r", GPU_0), only="n3")],
            "deallocation of ResourceClaim completed",
            id="devices out of reach that nobody uses",
        ),
        pytest.param(
            asking("mine"),
            [allocated(MINE, result("r", GPU_0), only="n3", users=USED_BY_POD)],
            "deallocation of ResourceClaim completed",
            id="that only this pod may use",
        ),
        pytest.param(
            asking("mine"),
            [allocated(MINE, result("r", GPU_0), only="n3", users=("other", *USED_BY_POD))],
            "still not schedulable",
            id="that another pod uses too",
        ),
        pytest.param(
            wanting(), [CLASS, left_over()], "deletion of ResourceClaim completed", id="the claim of an earlier attempt"
        ),
    ],
)
def test_what_is_undone(asked: PodBuilder, objects: list[Object], message: str) -> None:
    found = post_filter(asked, *objects)
    assert (found.code, found.message) == (Code.UNSCHEDULABLE, message)


class _Refuses:
    name = "Refuses"

    def pre_filter(self, pod: object, snapshot: object) -> Status:
        return unresolvable("no")


def test_without_its_own_prefilter_it_fails() -> None:
    found = post_filter(asking("mine"), MINE, others=(_Refuses(),))
    assert (found.code, found.message) == (Code.ERROR, "not found")


def test_devices_count_as_out_of_reach_on_nodes_that_eviction_would_free() -> None:
    full = [pod(f"p{index}").cpu("4").on(name) for index, name in enumerate(("n1", "n2"))]
    has = allocated(MINE, result("r", GPU_0), only="n3")
    asked = asking("mine").cpu("1").priority(10)
    fit, plugin = NodeResourcesFit(), DynamicResources()
    alone = post_filter(asked, *full, has, others=(fit,))
    evicting = post_filter(asked, *full, has, others=(fit,), post_filter=(plugin, DefaultPreemption()))
    never = post_filter(
        asked.spec(preemption_policy="Never"), *full, has, others=(fit,), post_filter=(plugin, DefaultPreemption())
    )
    assert [found.message for found in (alone, evicting, never)] == [
        "still not schedulable",
        "deallocation of ResourceClaim completed",
        "still not schedulable",
    ]


# --- Score -----------------------------------------------------------------------------------------------------


def scores(asked: PodBuilder, *objects: Object) -> list[int] | None:
    """Of n1 and n2; None when nothing is scored."""
    within = world(*objects)
    nodes = within.nodes
    found = DynamicResources().pre_score(asked.info(), within, nodes)
    if found is SKIP:
        return None
    assert isinstance(found, NodeScorer)
    return [found.score(one) for one in nodes]


PREFERRING = claim("mine", first_of("r", alternative("two", count=2), alternative("one")))


@pytest.mark.parametrize(
    ("asked", "objects", "expected"),
    [
        pytest.param(pod(), [], None, id="without claims there is nothing to score"),
        pytest.param(asking("mine"), [MINE, gpus("n1", 1)], None, id="nor without alternatives"),
        pytest.param(
            asking("mine"), [PREFERRING, gpus("n1", 2), gpus("n2", 1)], [8, 7], id="the first alternative is best"
        ),
        pytest.param(
            asking("mine", "other"),
            [PREFERRING, replace(PREFERRING, metadata=claim("other").metadata), gpus("n1", 4), gpus("n2", 3)],
            [16, 15],
            id="the points of all claims count",
        ),
        pytest.param(
            asking("mine"),
            [allocated(PREFERRING, result("r/two", GPU_0))],
            None,
            id="a claim that has its devices has no choice",
        ),
        pytest.param(
            asking("mine", "other"),
            [allocated(PREFERRING, result("r/one", GPU_0)), claim("other", request()), gpus("n2", 1), gpus("n1", 2)],
            [7, 7],
            id="but its points count beside a choice",
        ),
    ],
)
def test_scores(asked: PodBuilder, objects: list[Object], expected: list[int] | None) -> None:
    assert scores(asked, *objects) == expected


def test_scores_are_scaled_to_the_best_node() -> None:
    within = world(PREFERRING, gpus("n1", 2), gpus("n2", 1))
    scorer = DynamicResources().pre_score(asking("mine").info(), within, within.nodes)
    assert isinstance(scorer, NodeScorer)
    assert scorer.normalize([8, 7], within.nodes) == [100, 87]


# --- Reserve ---------------------------------------------------------------------------------------------------


def test_the_next_pod_finds_the_devices_taken() -> None:
    within = world(MINE, claim("next", request()), gpus("n1", 1))
    reserve(compiled(asking("mine"), within), within)
    assert compiled(asking("next"), within).filter(within.by_name["n1"]).reasons == ("cannot allocate all claims",)


def test_a_claim_is_kept_for_the_pod_where_it_is() -> None:
    within = world(MINE, gpus("n1", 1))
    reserve(compiled(asking("mine"), within), within)
    has = within.cluster.get(ResourceClaim, "default/mine")
    assert has is not None
    assert has.status.allocation is not None
    assert has.status.allocation.node_selector == only_on("n1")
    assert has.status.reserved_for == (ResourceClaimConsumerReference(resource="pods", name="pod", uid="default/pod"),)
    again = compiled(asking("mine"), within)
    assert again.filter(within.by_name["n1"]) is SUCCESS
    assert again.filter(within.by_name["n2"]).reasons == ("resourceclaim not available on the node",)


def test_a_claim_with_devices_gets_one_more_user_only_once() -> None:
    within = world(allocated(MINE, result("r", GPU_0), users=("other",)))
    for _ in range(2):
        reserve(compiled(asking("mine"), within), within)
    has = within.cluster.get(ResourceClaim, "default/mine")
    assert has is not None
    assert [user.uid for user in has.status.reserved_for] == ["other", "default/pod"]


def test_devices_behind_extended_resources_are_taken_too() -> None:
    within = world(CLASS, gpus("n1", 3))
    reserve(compiled(wanting(2), within), within)
    assert compiled(wanting(1), within).filter(within.by_name["n1"]) is SUCCESS
    assert compiled(wanting(2), within).filter(within.by_name["n1"]).reasons == ("cannot allocate all claims",)


def test_nothing_is_recorded_for_a_device_plugins_resource() -> None:
    within = snapshot(node("n1").allocatable({RESOURCE: "1"}), CLASS)
    reserve(compiled(wanting(), within), within)
    assert not within.cluster.all(ResourceClaim)


# --- arguments -------------------------------------------------------------------------------------------------


def test_the_filter_timeout_bounds_the_search() -> None:
    there = slice_("n1", *(device(f"x{index}", key=index) for index in range(20)))
    hard = claim("mine", request("a", count=8), request("b", count=2), constraints=(match(f"{GPU}/key", "b"),))
    within = world(hard, there)
    found = DynamicResources(DynamicResourcesArgs(filter_timeout="5ms")).pre_filter(asking("mine").info(), within)
    assert isinstance(found, NodeFilter)
    assert found.filter(within.by_name["n1"]) == Status(Code.ERROR, ("node n1: timed out trying to allocate devices",))


def test_a_filter_timeout_of_zero_is_none() -> None:
    within = world(MINE, gpus("n1", 1))
    found = DynamicResources(DynamicResourcesArgs(filter_timeout="0s")).pre_filter(asking("mine").info(), within)
    assert isinstance(found, NodeFilter)
    assert found.filter(within.by_name["n1"]) is SUCCESS
