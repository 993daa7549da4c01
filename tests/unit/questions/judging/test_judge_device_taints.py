"""DeviceTaintRules in a cluster: where pods land, who leaves, who is woken, and what is said where no rule counts."""

from typing import Any

import pytest

import kwhatif
from kwhatif.errors import InputError
from kwhatif.render.sentences import sentence
from kwhatif.report import Report
from tests.objects import manifest
from tests.unit.questions.test_upgrade import node, pod
from tests.unit.questions.upgrade.test_blame import CLASS, device, named, slice_of, upgraded, using
from tests.unit.questions.upgrade.test_blame import claim as claim_

NODES = [node("a", "4", "4Gi"), node("b", "4", "4Gi")]
DEVICES = [CLASS, slice_of("a", device("x"))]
SINCE = "2026-01-01T00:00:00Z"


def rule(effect: str = "NoSchedule", version: str = "v1", since: str = SINCE, **selector: str) -> dict[str, Any]:
    taint = {"key": "broken", "value": "yes", "effect": effect, **({"timeAdded": since} if since else {})}
    made = named("DeviceTaintRule", "r", {"deviceSelector": selector, "taint": taint})
    return {**made, "apiVersion": f"resource.k8s.io/{version}"}


def load(*objects: dict[str, Any], version: str = "1.37", gates: str = "") -> kwhatif.Session:
    return kwhatif.load([*NODES, *DEVICES, *objects], kubernetes_version=version, feature_gates=gates or None)


WANTS = using(pod("p"))
TRIED = {
    "phase": "Pending",
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/2 nodes are available: 2 cannot allocate all claims.",
        }
    ],
}


def codes(report: Report) -> set[str]:
    return {caveat.code for caveat in report.caveat_details}


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1alpha3"])
def test_a_rule_of_the_dump_keeps_a_pod_away(version: str) -> None:
    (found,) = kwhatif.preempt(load(claim_(), rule(version=version), WANTS)).decisions
    assert found.outcome == "Unschedulable"
    (why,) = [row for row in found.rejected if row.node == "a"]
    assert "0 of 1 matching device free, 1 tainted with broken=yes:NoSchedule" in " ".join(map(sentence, why.evidence))
    assert kwhatif.preempt(load(claim_(), rule("None"), WANTS)).decisions[0].outcome == "Placed"


def test_a_rule_of_the_manifests_counts_before_pods_are_placed() -> None:
    session = load(claim_())
    (found,) = kwhatif.schedule(session, rule(), using(pod("p"))).decisions
    assert found.outcome == "Unschedulable"


def test_that_the_release_looks_at_no_rules_is_said() -> None:
    found = kwhatif.preempt(load(claim_(), rule(version="v1beta2"), WANTS, version="1.36"))
    assert found.decisions[0].outcome == "Placed"
    assert "taint-rules-ignored" in codes(found)
    on = load(claim_(), rule(version="v1beta2"), WANTS, version="1.36", gates="DRADeviceTaintRules=true")
    found = kwhatif.preempt(on)
    assert found.decisions[0].outcome == "Unschedulable"
    assert codes(found).isdisjoint({"taint-rules-ignored", "gate-not-modelled", "devices-not-modelled"})
    off = load(claim_(), rule(), WANTS, gates="DRADeviceTaintRules=false")
    assert codes(kwhatif.preempt(off)) >= {"taint-rules-ignored"}


def test_a_version_that_the_release_does_not_serve_is_refused() -> None:
    with pytest.raises(InputError, match='no matches for kind "DeviceTaintRule" in version "resource.k8s.io/v1"'):
        kwhatif.schedule(load(claim_(), version="1.36"), rule(), using(pod("p")))
    served = kwhatif.schedule(load(claim_(), version="1.36"), rule(version="v1beta2"), using(pod("p")))
    assert codes(served) >= {"taint-rules-ignored", "version-not-default"}


def test_up_to_1_34_rules_that_select_by_class_are_not_modelled() -> None:
    old = rule(version="v1alpha3", deviceClassName="gpu")
    session = load(claim_(), old, WANTS, version="1.34", gates="DRADeviceTaints=true")
    assert "devices-not-modelled" in codes(kwhatif.preempt(session))
    session = load(claim_(), old, WANTS)  # later releases drop the field: the rule is about all devices
    assert kwhatif.preempt(session).decisions[0].outcome == "Unschedulable"


def test_two_gates_together_decide() -> None:
    """In 1.35 neither taints nor rules count: each gate alone would change nothing."""
    (found,) = upgraded(*NODES, *DEVICES, claim_(), rule(version="v1beta2"), WANTS, before="1.35", to="1.37").pending
    assert set(found.rules) == {"DRADeviceTaintRules (1.37)", "DRADeviceTaints (1.36)"}
    (found,) = upgraded(*NODES, *DEVICES, claim_(), rule(version="v1beta2"), WANTS, before="1.36", to="1.37").pending
    assert found.rules == ("DRADeviceTaintRules (1.37)",)


# --- as time goes on -----------------------------------------------------------------------------------------------


def in_use(*tolerations: dict[str, Any]) -> list[dict[str, Any]]:
    """A pod that runs with the device of node a; its claim is made of a template, and so is that of its replacement."""
    made = claim_("p-c", tolerations=list(tolerations))
    spec = made["spec"]
    made["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    ]
    device_ = {
        "request": "r",
        "driver": "gpu.example.com",
        "pool": "a",
        "device": "x",
        "tolerations": list(tolerations),
    }
    made["status"] = {
        "allocation": {"devices": {"results": [device_]}, "nodeSelector": ON_A},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "uid-p"}],
    }
    template = named("ResourceClaimTemplate", "gpus", {"spec": spec}, "shop")
    running = using(pod("p", "a", owner="ReplicaSet/web"))
    running["metadata"] |= {"uid": "uid-p", "labels": {"app": "web"}}
    running["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimTemplateName": "gpus"}]
    running["status"]["resourceClaimStatuses"] = [{"name": "c", "resourceClaimName": "p-c"}]
    pod_template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {key: running["spec"][key] for key in ("containers", "resourceClaims")},
    }
    owner = manifest(
        "ReplicaSet",
        {"name": "web", "namespace": "shop"},
        spec={"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": pod_template},
    )
    return [running, made, template, owner, slice_of("b", device("y"))]


ON_A = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]}
EVICTS = {"apply": rule("NoExecute", since="", pool="a")}


def tolerating(seconds: int | None = None) -> dict[str, Any]:
    made = {"key": "broken", "operator": "Exists", "effect": "NoExecute"}
    return made if seconds is None else {**made, "tolerationSeconds": seconds}


def events(report: Report, verb: str) -> list[tuple[float, str, str | None]]:
    assert report.story is not None
    return [(event.at, event.object, event.node) for event in report.story.events if event.verb == verb]


EVICTED = "evicted by device taint"


def test_a_rule_that_is_applied_evicts_and_the_replacement_takes_another_device() -> None:
    report = kwhatif.simulate(load(*in_use()), then=[EVICTS])
    assert events(report, EVICTED) == [(0, "Pod shop/p", "a")]
    assert [node for _, _, node in events(report, "bound")] == ["b"]
    assert report.story is not None
    assert [(row.pod, row.how) for row in report.story.gone] == [("shop/p", "DeviceTaintEviction")]


@pytest.mark.parametrize(("tolerations", "at"), [((tolerating(30),), 30), ((tolerating(),), None), ((), 0)])
def test_tolerated_for_a_time(tolerations: tuple[dict[str, Any], ...], at: float | None) -> None:
    report = kwhatif.simulate(load(*in_use(*tolerations)), then=[EVICTS])
    assert events(report, EVICTED)[:1] == ([] if at is None else [(at, "Pod shop/p", "a")])


def test_another_effect_counts_from_the_moment_at_which_it_changes() -> None:
    """The API server writes a new `timeAdded` where the effect changes, and the time does not."""
    session = load(*in_use(tolerating(30)), rule("NoSchedule", pool="a"))
    report = kwhatif.simulate(session, then=["wait 100s", "set devicetaintrule/r spec.taint.effect=NoExecute"])
    assert events(report, EVICTED)[:1] == [(130, "Pod shop/p", "a")]


def test_a_rule_of_the_dump_evicts_when_its_time_comes() -> None:
    """A minute after the last thing that it shows the simulation begins: ten seconds of the toleration have passed."""
    running, *others = in_use(tolerating(30))
    running["metadata"]["creationTimestamp"] = "2025-12-31T23:59:10Z"
    session = load(running, *others, rule("NoExecute", pool="a"))
    assert events(kwhatif.simulate(session, then=["wait 100s"]), EVICTED)[0] == (20, "Pod shop/p", "a")


def test_a_rule_that_goes_wakes_who_waits_for_its_devices() -> None:
    report = kwhatif.simulate(load(claim_(), rule(), WANTS), then=["delete devicetaintrule/r"])
    assert [which for _, which, _ in events(report, "bound")] == ["Pod shop/p"]


@pytest.mark.parametrize(("selector", "fate"), [({"pool": "a"}, "Woken"), ({"driver": "other.example.com"}, "Asleep")])
def test_only_a_rule_about_devices_that_are_there_wakes(selector: dict[str, str], fate: str) -> None:
    edit = {"apply": {**rule("None", **selector), "metadata": {"name": "another"}}}
    report = kwhatif.pending(kwhatif.edited(load(claim_(), rule(), {**WANTS, "status": TRIED}), edit))
    assert report.queue is not None
    assert [row.after.fate for row in report.queue.pods if row.after] == [fate]
