"""The law of threats: each one, asked about by the command that shows it, evicts the pod; harmless classes never do."""

import random
from typing import Any

from hypothesis import HealthCheck, given, settings

import kwhatif
from kwhatif.report import Report
from kwhatif.report.risks import ThreatRow
from tests.examples import examples
from tests.objects import manifest
from tests.property.test_harm import CLASSES, Json, node, pod_spec
from tests.property.worlds import RANDOMS

NEVER: Json = manifest("PriorityClass", {"name": "polite"}, value=50, preemptionPolicy="Never")
#: As the API server gives them to every pod.
DEFAULTED = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]
NAMES = ("low", "mid", "high", "polite")


def running(name: str, spec: Json, where: str, owner: str = "") -> Json:
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}]
    return manifest(
        "Pod",
        {
            "name": name,
            "namespace": "default",
            "uid": name,
            "labels": {"app": owner or name},
            **({"ownerReferences": owners} if owner else {}),
        },
        spec={**spec, "tolerations": DEFAULTED, **({"nodeName": where} if where else {})},
        status={"phase": "Running" if where else "Pending"},
    )


def replica_set(name: str, count: int, spec: Json) -> Json:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return manifest(
        "ReplicaSet",
        {"name": name, "namespace": "default", "uid": name},
        spec={"replicas": count, "selector": {"matchLabels": labels}, "template": template},
    )


def world(dice: random.Random) -> list[Json]:
    """Nodes that are nearly full, with pods of workloads and bare ones, and now and then a pending pod."""
    nodes = [node(name, dice.randint(2, 5)) for name in ("a", "b", "c")[: dice.randint(1, 3)]]
    if dice.random() < 0.3:
        nodes[0]["spec"]["taints"] = [{"key": "old", "effect": "NoExecute"}]
    left = {each["metadata"]["name"]: int(each["status"]["allocatable"]["cpu"]) for each in nodes}
    objects = [*CLASSES, NEVER, *nodes]
    for owner in ("", "x", "y"):
        spec = pod_spec(dice.randint(1, 2), dice.choice(NAMES), 0, dice.choice(("", "", "", "x")))
        size = int(spec["containers"][0]["resources"]["requests"]["cpu"])
        places = [name for name in left for _ in range(left[name] // size)]
        chosen = dice.sample(places, min(len(places), dice.randint(1, 3)))
        for number, where in enumerate(chosen):
            left[where] -= size
            objects.append(running(f"{owner or 'bare'}-{number}", spec, where, owner))
        if owner:
            objects.append(replica_set(owner, len(chosen), spec))
    if dice.random() < 0.5:
        objects.append(running("late", pod_spec(dice.randint(1, 3), dice.choice(("mid", "high")), 0, ""), ""))
    return objects


def victims(report: Report) -> set[str]:
    return {victim.pod for decision in report.decisions for victim in decision.victims}


def gone(report: Report) -> set[str]:
    assert report.story is not None
    return {row.pod for row in report.story.gone if row.initial}


def played(session: kwhatif.Session, threat: ThreatRow) -> set[str]:
    """Whom the command evicts that shows it."""
    words = threat.command.split()
    match threat.kind:
        case "pending":
            return victims(kwhatif.preempt(session))
        case "template":
            counted = kwhatif.capacity(session, words[2], limit=1, with_preemption=True)
            assert "--limit 1" in threat.command
            return victims(counted)
        case "class":
            assert threat.manifest is not None
            return victims(kwhatif.preempt(session, dict(threat.manifest), alone=True))
        case "outage":
            return gone(kwhatif.outage(session, words[2]))
        case "drain":
            flags: dict[str, Any] = {flag[2:].replace("-", "_"): True for flag in words[3:]}
            return gone(kwhatif.drain(session, words[2], **flags))
        case _:
            return gone(kwhatif.simulate(session))


@settings(max_examples=examples(70, deep=200), suppress_health_check=list(HealthCheck))
@given(RANDOMS)
def test_threats_evict_and_harmless_classes_do_not(dice: random.Random) -> None:
    objects = world(dice)
    session = kwhatif.load(objects)
    there = [each["metadata"]["name"] for each in objects if each["kind"] == "Pod" and "nodeName" in each["spec"]]
    subjects = [f"pod/{there[0]}", f"pod/{there[-1]}", f"node/{next(iter(session.state.by_name))}", "rs/x"]
    usable = [True, True, bool(session.state.nodes[0].pods), "x-0" in there]
    subject = dice.choice([each for each, is_usable in zip(subjects, usable, strict=True) if is_usable])
    row = kwhatif.threats(session, subject, jobs=1).threats
    assert row is not None
    for threat in row.threats:
        assert set(threat.pods) <= played(session, threat), threat
    nodes = list(session.state.by_name)
    for harmless in row.harmless:
        for _ in range(3):
            pod = running("new", pod_spec(dice.randint(1, 4), harmless.name, 0, dice.choice(("", "x", "y"))), "")
            if dice.random() < 0.5:
                pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": dice.choice(nodes)}
            assert victims(kwhatif.preempt(session, pod, alone=True)).isdisjoint(row.pods), (harmless, pod)
    if row.shield is not None and row.of("pending", "template"):
        assert row.shield.value > row.lowest
