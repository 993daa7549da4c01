"""`schedule` and `gate` say the same of every pod, whatever is applied: random manifests on random clusters.

`KWHATIF_READINGS=2000 pytest tests/property/test_one_reading.py` tries more of them.
"""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.questions.judging import judge as judging
from kwhatif.questions.judging.question import Answer, Question
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.report.decision import JudgedWorkload
from tests.differential.dice import Dice
from tests.differential.files import write
from tests.differential.generate import FAMILIES, generate
from tests.differential.scene import Case, Object

SEED = 12
#: Manifest sets of all families together.
SETS = int(os.environ.get("KWHATIF_READINGS", "60"))


def template_of(pod: Object, dice: Dice) -> Object:
    """A pod template like this pod; now and then one that the API server refuses."""
    spec = {field: value for field, value in pod["spec"].items() if field not in ("nodeName", "preemptionPolicy")}
    if "priority" in spec and dice.chance(0.9):
        del spec["priority"]
    if dice.chance(0.3):
        spec["priorityClassName"] = dice.pick("urgent", "urgent", "missing")
    labels = {**(pod["metadata"].get("labels") or {}), "set": pod["metadata"]["name"]}
    return {"metadata": {"labels": labels}, "spec": spec}


def workload(number: int, pod: Object, dice: Dice) -> Object:
    kind = dice.pick("Pod", "Deployment", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")
    template = template_of(pod, dice)
    namespace = pod["metadata"].get("namespace", "default")
    meta = {"name": f"new-{number}", "namespace": namespace}
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": kind, "metadata": meta | template["metadata"], "spec": template["spec"]}
    replicas = dice.randint(0, 6)
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        spec: Object = {"parallelism": replicas, "completions": replicas, "template": template}
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": meta, "spec": spec}
    spec = {"selector": {"matchLabels": {"set": pod["metadata"]["name"]}}, "template": template}
    if kind != "DaemonSet":
        spec["replicas"] = replicas
    if kind == "StatefulSet":
        spec["serviceName"] = "s"
        spec |= dice.sometimes({"podManagementPolicy": "Parallel"})
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec}


def companions(case: Case, dice: Dice) -> Iterator[Object]:
    """What may come with the pods, and changes what becomes of them."""
    classes = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}}
    yield classes | {"value": dice.pick(5, 2_000_000)}
    if dice.chance(0.2):
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "new", "namespace": "default"}}
        yield quota | {"spec": {"hard": {"pods": str(dice.randint(1, 9))}}}
    nodes = [obj for obj in case.cluster if obj["kind"] == "Node"]
    if nodes and dice.chance(0.2):
        node = dice.one(nodes)
        yield node | {"metadata": {**node["metadata"], "name": "node-new", "uid": "node-new"}}


def manifests(case: Case, dice: Dice) -> list[Object]:
    pods = [obj for obj in case.cluster if obj["kind"] == "Pod"]
    templates = [case.pod, *dice.some(pods, 0, 3)]
    made = [workload(number, pod, dice) for number, pod in enumerate(templates)]
    if dice.chance(0.2):
        made.append(case.pod)
    made.extend(companions(case, dice))
    dice.shuffle(made)
    return made


def try_some(case: Case, dice: Dice) -> None:
    """The scheduler has tried some of the pending pods in vain."""
    for pod in (obj for obj in case.cluster if obj["kind"] == "Pod" and not obj["spec"].get("nodeName")):
        if dice.chance(0.5):
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            pod["status"] = {**(pod.get("status") or {}), "conditions": [condition]}


def named(case: Case, dice: Dice) -> list[str]:
    """Now and then a pod of the cluster."""
    pods = [obj["metadata"] for obj in case.cluster if obj["kind"] == "Pod"]
    asked = dice.some(pods, 1, 1) if pods and dice.chance(0.3) else []
    return [f"pod/{meta.get('namespace', 'default')}/{meta['name']}" for meta in asked]


def fates(report: Report) -> dict[str, Any]:
    found = {decision.pod: (decision.outcome, decision.node, decision.ties) for decision in report.decisions}
    assert len(found) == len(report.decisions)
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_schedule_and_gate_say_the_same_of_every_pod(family: str, tmp_path: Path) -> None:
    judged = 0
    for index in range(SETS // len(FAMILIES)):
        case = generate(family, SEED, index)
        dice = Dice(case.name)
        try_some(case, dice)
        folder = write(case, tmp_path)
        config = folder / "config.yaml"
        session = kwhatif.load(folder / "cluster.yaml", scheduler_config=config if case.config else None)
        path = folder / "manifests.json"
        path.write_text("\n".join(map(json.dumps, manifests(case, dice))))
        asked: list[Any] = [path, *named(case, dice)]
        # Cases hold invented fields, which the API server would refuse.
        gate = kwhatif.gate(session, *asked, validation="ignore")
        assert gate.problems == (), case.name
        schedule = kwhatif.schedule(session, *asked, validation="ignore")
        by_gate, by_schedule = fates(gate), fates(schedule)
        assert {pod: by_schedule.get(pod) for pod in by_gate} == by_gate, case.name
        # What was pending already, and stays as it is, is no news for a gate.
        news = by_schedule.keys() - by_gate.keys()
        assert news <= {each.pod for each in gate.queued_before} | session.state.pending.keys(), case.name
        judged += len(by_gate)
    assert judged


def in_short(judged: Sequence[JudgedWorkload]) -> list[Any]:
    """What becomes of the workloads, whatever the names that the API server makes."""
    rows = [each.row for each in judged]
    return [(row.name, row.placed, row.unschedulable, row.denied, row.gated, row.nodes) for row in rows]


@pytest.mark.parametrize("family", FAMILIES)
def test_where_nobody_is_evicted_a_simulation_says_the_same(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for pods that are about to go, and sets whose pods are made one by one: in a simulation, time passes.

    And but for what a manifest cannot bring along: a pod's status, its node, that it is being deleted.

    So pods that tolerate a NoExecute taint for some seconds only would be placed, and evicted when these are over.
    """
    answers: list[Answer] = []

    def judge(session: Session, question: Question) -> Answer:
        answers.append(judging.judge(session, question))
        return answers[-1]

    monkeypatch.setattr(judging, "_BURST", 0)
    monkeypatch.setattr("kwhatif.questions.gate.judge", judge)
    for index in range(SETS // len(FAMILIES)):
        case = generate(family, SEED, index)
        dice = Dice(case.name)
        case.cluster[:] = [untimed(each) for each in case.cluster if not each["metadata"].get("deletionTimestamp")]
        folder = write(case, tmp_path)
        config = folder / "config.yaml"
        session = kwhatif.load(folder / "cluster.yaml", scheduler_config=config if case.config else None)
        path = folder / "manifests.json"
        made = [fresh(untimed(each)) for each in manifests(case, dice) if not is_ordered(each)]
        path.write_text("\n".join(map(json.dumps, made)))
        report = kwhatif.gate(session, path, validation="ignore")
        if any(each.victims for each in report.decisions) or any(each.victims for each in report.queued_before):
            continue
        answer = answers[-1]
        # Rollouts are judged by a simulation in any case.
        if answer.reacted:
            assert in_short(answer.reacted) == in_short(answer.judged), case.name


def is_ordered(obj: Object) -> bool:
    return obj["kind"] == "StatefulSet" and obj["spec"].get("podManagementPolicy") != "Parallel"


def fresh(obj: Object) -> Object:
    """As it is created."""
    if obj["kind"] != "Pod":
        return obj
    spec = {field: value for field, value in obj["spec"].items() if field != "nodeName"}
    metadata = {field: value for field, value in obj["metadata"].items() if field != "deletionTimestamp"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def untimed(value: Any) -> Any:
    """The same, with tolerations that hold forever."""
    if isinstance(value, dict):
        return {field: untimed(each) for field, each in value.items() if field != "tolerationSeconds"}
    return list(map(untimed, value)) if isinstance(value, list) else value
