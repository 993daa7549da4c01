"""Nodes that are new carry the pods of their DaemonSets before any other pod comes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.kube.model.pod import Pod
from kwhatif.render.edits import sentences_of
from tests.examples import examples
from tests.objects import manifest

Json = dict[str, Any]


def node(name: str = "a", cpu: str = "8", labels: dict[str, str] | None = None, taints: tuple[Json, ...] = ()) -> Json:
    amounts = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    return manifest(
        "Node",
        {"name": name, "labels": {"kubernetes.io/hostname": name} | (labels or {})},
        spec={"taints": list(taints)},
        status={"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    )


def spec_of(cpu: str, **more: Any) -> Json:
    return {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": cpu}}}]} | more


def daemon_set(name: str = "agent", cpu: str = "1", *, selector: bool = True, **spec: Any) -> Json:
    template = {"metadata": {"labels": {"app": name}}, "spec": spec_of(cpu, **spec)}
    chosen = {"selector": {"matchLabels": {"app": name}}} if selector else {}
    return manifest(
        "DaemonSet",
        {"name": name, "namespace": "kube-system", "uid": f"ds-{name}"},
        spec=chosen | {"template": template},
    )


def pod(cpu: str, name: str = "p", **more: Any) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec_of(cpu, **more)}


def carried(session: kwhatif.Session, edit: str) -> tuple[list[str], list[str]]:
    """Which pods are on new nodes, and which wait, by the DaemonSet; and what is said of it."""
    edited = kwhatif.edited(session, edit)
    pods = edited.cluster.all(Pod).values()
    found = sorted(
        f"{each.metadata.owner_references[0].name} {each.spec.node_name or '-'}"
        for each in pods
        if each.metadata.owner_references and (not each.spec.node_name or "-new-" in each.spec.node_name)
    )
    return found, [note for note in sentences_of(edited.changes[-1].remarks) if "DaemonSets" in note]


TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
TOLERATED = [{"key": "dedicated", "operator": "Exists"}]
PORT = [{"name": "c", "image": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]

CASES: list[tuple[str, list[Json], str, list[str]]] = [
    ("one on each", [node(), daemon_set()], "add 2 nodes like a", ["agent a-new-1", "agent a-new-2"]),
    ("a taint keeps it away", [node(taints=(TAINT,)), daemon_set()], "add 1 node like a", []),
    (
        "it tolerates the taint",
        [node(taints=(TAINT,)), daemon_set(tolerations=TOLERATED)],
        "add 1 node like a",
        ["agent a-new-1"],
    ),
    ("its selector wants another node", [node(), daemon_set(nodeSelector={"disk": "ssd"})], "add 1 node like a", []),
    (
        "a label of the edit is what it wants",
        [node(), daemon_set(nodeSelector={"disk": "ssd"})],
        "add 1 node like a disk=ssd",
        ["agent a-new-1"],
    ),
    ("too large for the node", [node(), daemon_set(cpu="9")], "add 1 node like a", ["agent -"]),
    (
        "the more important one comes first",
        [
            node(cpu="2"),
            daemon_set("a-small", "1"),
            daemon_set("z-agent", "2", priorityClassName="system-node-critical"),
        ],
        "add 1 node like a",
        ["a-small -", "z-agent a-new-1"],
    ),
    (
        "a port of the node for one of them",
        [node(), daemon_set("first", containers=PORT), daemon_set("second", containers=PORT)],
        "add 1 node like a",
        ["first a-new-1", "second -"],
    ),
    ("its controller does not touch it", [node(), daemon_set(selector=False)], "add 1 node like a", []),
    (
        "the cordon of the model does not count",
        [node() | {"spec": {"unschedulable": True}}, daemon_set()],
        "add 1 node like a",
        ["agent a-new-1"],
    ),
]


@pytest.mark.parametrize(("objects", "edit", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_which_pods_come_with_a_node(objects: list[Json], edit: str, expected: list[str]) -> None:
    found, notes = carried(kwhatif.load(objects), edit)
    assert found == expected
    assert len(notes) == any("-new-" in each for each in expected) + any(" -" in each for each in expected)


def test_what_they_take_is_said() -> None:
    sets = [daemon_set(f"agent-{number}", "110m") for number in range(4)]
    _, notes = carried(kwhatif.load([node(), *sets]), "add 3 nodes like a")
    where = "kube-system/agent-0, kube-system/agent-1, kube-system/agent-2 and 1 more"
    assert notes == [f"4 pods of DaemonSets take 440m cpu on each: {where}"]


def test_defaults_of_the_namespace_count() -> None:
    defaults = {"type": "Container", "defaultRequest": {"memory": "1Gi"}}
    limits = manifest("LimitRange", {"name": "l", "namespace": "kube-system"}, spec={"limits": [defaults]})
    _, notes = carried(kwhatif.load([node(), daemon_set(), limits]), "add 1 node like a")
    assert notes == ["1 pod of DaemonSets takes 1 cpu and 1Gi memory there: kube-system/agent"]


def test_what_a_quota_refuses_is_said() -> None:
    quota = manifest(
        "ResourceQuota",
        {"name": "q", "namespace": "kube-system"},
        spec={"hard": {"pods": "1"}},
        status={"hard": {"pods": "1"}, "used": {"pods": "0"}},
    )
    found, notes = carried(kwhatif.load([node(), daemon_set(), quota]), "add 2 nodes like a")
    assert found == ["agent a-new-1"]
    assert notes[1].startswith("the API server refuses 1 pod of DaemonSets there: ")


def test_a_node_of_the_manifests_has_them_too() -> None:
    session = kwhatif.load([node(cpu="1"), daemon_set()])
    report = kwhatif.schedule(session, [node("new"), pod("7500m")])
    assert report.decisions[0].outcome == "Unschedulable"
    assert kwhatif.schedule(session, [node("new"), pod("7")]).decisions[0].node == "new"


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3000), st.booleans(), st.booleans()), max_size=4),
    st.integers(1, 9000),
    st.integers(1, 3),
)
def test_advice_to_add_nodes_holds(sets: list[tuple[int, bool, bool]], asked: int, copies: int) -> None:
    """Whatever advice says of new nodes is so for `schedule`, and in a simulation whose controllers make the pods."""
    made = [
        daemon_set(
            f"agent-{number}",
            f"{cpu}m",
            tolerations=TOLERATED if tolerates else [],
            priorityClassName="system-node-critical" if critical else "",
        )
        for number, (cpu, tolerates, critical) in enumerate(sets)
    ]
    full = pod("7900m", "full") | {"status": {"phase": "Running"}}
    full["spec"]["nodeName"] = "a"
    tainted = node("b", taints=(TAINT,))
    session = kwhatif.load([node(), tainted, full, *made])
    wanted = [pod(f"{asked}m", f"p{number}", tolerations=TOLERATED) for number in range(copies)]
    report = kwhatif.advise(session, wanted)
    assert report.advise is not None
    advised = [
        (row.pod, change.edits[0])
        for row in report.advise.workloads
        for advice in row.advice
        for change in advice.changes
        if change.kind == "add-nodes" and len(advice.changes) == 1
    ]
    for name, edit in advised:
        edited = kwhatif.edited(session, edit)
        decisions = {each.pod: each.outcome for each in kwhatif.schedule(edited, wanted).decisions}
        assert decisions[name] in ("Placed", "Preempts")
    for edit in {edit for _, edit in advised} | {"add 1 node like a"}:
        assert _bound(kwhatif.simulate(kwhatif.edited(session, edit))) == _bound(kwhatif.simulate(session, then=[edit]))


def _bound(report: kwhatif.Report) -> list[Any]:
    story = report.story
    assert story is not None
    return sorted((row.workload, sorted(row.after.items()), row.pending) for row in story.workloads)
