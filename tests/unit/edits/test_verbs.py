"""Every verb: what it changes, and how it is refused."""

import copy
import json
import pickle
import re
import shlex
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwhatif
from kwhatif.edits.parse import split_words
from kwhatif.edits.selection import selector_of
from kwhatif.errors import InputError
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget, PriorityClass, ResourceQuota
from kwhatif.kube.model.storage import CSINode
from kwhatif.kube.model.workload import Deployment, ReplicaSet
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.settled_cluster import named_nodes
from kwhatif.render.edits import sentences_of
from kwhatif.render.worded import worded
from kwhatif.state.change import SetFacts
from tests.builders import node
from tests.edit_cases import OBJECTS, load
from tests.valid_state import validate

Said = str | Mapping[str, Any]


def touched(*edits: Said, more: tuple[dict[str, Any], ...] = ()) -> list[str]:
    """`Node a1 changed spec.unschedulable=true`, of the last of the edits."""
    row = kwhatif.edited(load(*more), *edits).changes[-1]
    return [
        " ".join([each.object, each.change, *(f"{field.field}={field.after}" for field in each.fields)])
        for each in row.touched
    ]


CHANGES: list[tuple[Said, list[str]]] = [
    ("cordon a1", ["Node a1 changed spec.unschedulable=true"]),
    ({"cordon": ["a1"]}, ["Node a1 changed spec.unschedulable=true"]),
    ({"cordon": {"nodes": "a1"}}, ["Node a1 changed spec.unschedulable=true"]),
    ("cordon a* b1", [f"Node a{number} changed spec.unschedulable=true" for number in (1, 2)]),
    (
        "cordon topology.kubernetes.io/zone=a",
        [f"Node a{number} changed spec.unschedulable=true" for number in (1, 2)],
    ),
    (
        "cordon 'topology.kubernetes.io/zone in (a),kubernetes.io/hostname!=a2'",
        ["Node a1 changed spec.unschedulable=true"],
    ),
    (
        "uncordon b1",
        [
            "Node b1 changed spec.unschedulable=false spec.taints[0]=None",
        ],
    ),
    (
        "taint a1 maint=now:NoExecute",
        ['Node a1 changed spec.taints[0]={"key":"maint","value":"now","effect":"NoExecute"}'],
    ),
    ("taint a2 gpu=no:NoSchedule", ["Node a2 changed spec.taints[0].value=no"]),
    ("taint a* gpu-", ["Node a2 changed spec.taints[0]=None"]),
    ({"taint": {"nodes": ["a2"], "taints": ["gpu:NoSchedule-"]}}, ["Node a2 changed spec.taints[0]=None"]),
    ("label node/a1 disk=hdd", ["Node a1 changed metadata.labels[disk]=hdd"]),
    (
        {"label": {"objects": ["node/a1"], "labels": {"disk": None, "tier": "gold"}}},
        ["Node a1 changed metadata.labels[disk]=None metadata.labels[tier]=gold"],
    ),
    (
        "label pod/shop/db-* tier=gold",
        [f"Pod shop/db-{number} changed metadata.labels[tier]=gold" for number in (0, 1)],
    ),
    ("label deployment/shop/web tier=gold", ["Deployment shop/web changed metadata.labels[tier]=gold"]),
    ("delete node/a1", ["Node a1 deleted"]),
    ("delete pod/shop/db-0", ["Pod shop/db-0 deleted"]),
    (
        "delete deploy/shop/web",
        [
            "Deployment shop/web deleted",
            *(f"Pod shop/web-1-{number} deleted" for number in range(3)),
            "ReplicaSet shop/web-1 deleted",
        ],
    ),
    ({"delete": {"objects": ["pdb/shop/db"], "force": True}}, ["PodDisruptionBudget shop/db deleted"]),
    # The youngest of those on the node with the most pods of the Deployment goes first.
    ("scale deployment/shop/web=2", ["Deployment shop/web changed spec.replicas=2", "Pod shop/web-1-1 deleted"]),
    *(
        (f"restart {word}", [f"{name} changed spec.template.metadata.labels[kwhatif.dev/restarted]=1"])
        for word, name in (
            ("deployment/shop/web", "Deployment shop/web"),
            ("sts/shop/db", "StatefulSet shop/db"),
            ("ds/shop/agent", "DaemonSet shop/agent"),
        )
    ),
    (
        {"restart": {"objects": ["deployment/shop/web", "sts/shop/db"]}},
        [
            f"{name} changed spec.template.metadata.labels[kwhatif.dev/restarted]=1"
            for name in ("Deployment shop/web", "StatefulSet shop/db")
        ],
    ),
    ("scale rs/shop/web-1=2", ["Pod shop/web-1-1 deleted", "ReplicaSet shop/web-1 changed spec.replicas=2"]),
    (
        {"scale": {"sts/shop/db": 4}},
        ["Pod shop/db-2 created", "Pod shop/db-3 created", "StatefulSet shop/db changed spec.replicas=4"],
    ),
    ("scale sts/shop/db=1", ["Pod shop/db-1 deleted", "StatefulSet shop/db changed spec.replicas=1"]),
    (
        "scale sts/shop/db by 1.5",
        ["Pod shop/db-2 created", "StatefulSet shop/db changed spec.replicas=3"],
    ),
    (
        {"scale": {"by": 2, "workloads": ["sts/shop/db"]}},
        ["Pod shop/db-2 created", "Pod shop/db-3 created", "StatefulSet shop/db changed spec.replicas=4"],
    ),
    ("scale sts/shop/d* by 0.4", ["Pod shop/db-1 deleted", "StatefulSet shop/db changed spec.replicas=1"]),
    ("resize pod/shop/db-0 cpu=1", ["Pod shop/db-0 changed spec.containers[0].resources.requests[cpu]=1"]),
    (
        {"resize": {"object": "pod/shop/db-0", "container": "main", "requests": {"cpu": 1}, "limits": {"cpu": "2"}}},
        [
            "Pod shop/db-0 changed spec.containers[0].resources.requests[cpu]=1"
            " spec.containers[0].resources.limits[cpu]=2"
        ],
    ),
    ("set node/a1 status.allocatable.cpu=3", ["Node a1 changed status.allocatable[cpu]=3"]),
    ("set node/a1 status.allocatable.example.com/fpga=2", ["Node a1 changed status.allocatable[example.com/fpga]=2"]),
    ('set node/a1 metadata.labels["disk"]=null', ["Node a1 changed metadata.labels[disk]=None"]),
    (
        {"set": {"object": "node/a1", "values": {"status.allocatable.cpu": 3}}},
        ["Node a1 changed status.allocatable[cpu]=3"],
    ),
    ("set deployment/shop/web spec.replicas=5", ["Deployment shop/web changed spec.replicas=5"]),
    (
        "set deployment/shop/web spec.template.spec.priorityClassName=high",
        ["Deployment shop/web changed spec.template.spec.priorityClassName=high"],
    ),
    (
        "set pod/shop/db-0 spec.containers[0].resources.requests.cpu=2",
        ["Pod shop/db-0 changed spec.containers[0].resources.requests[cpu]=2"],
    ),
    (
        "set pod/shop/db-0 spec.priorityClassName=high",
        [
            "Pod shop/db-0 changed spec.priority=1000 spec.priorityClassName=high spec.preemptionPolicy=PreemptLowerPriority"
        ],
    ),
    (
        {"patch": {"object": "deployment/shop/web", "merge": {"spec": {"paused": True}}}},
        ["Deployment shop/web changed spec.paused=true"],
    ),
    ("""patch node/a1 '{"metadata": {"labels": {"disk": null}}}'""", ["Node a1 changed metadata.labels[disk]=None"]),
    ("priority high=5", ["PriorityClass high changed value=5"]),
    (
        "budget shop/db minAvailable=2",
        ["PodDisruptionBudget shop/db changed spec.minAvailable=2 status.disruptionsAllowed=0 status.desiredHealthy=2"],
    ),
    ("budget shop/web maxUnavailable=1", ["PodDisruptionBudget shop/web created"]),
    (
        {"budget": {"name": "shop/new", "minAvailable": "50%", "selector": {"app": "web"}}},
        ["PodDisruptionBudget shop/new created"],
    ),
    (
        "add 2 nodes like a1",
        [
            *("CSINode a1-new-1 created", "CSINode a1-new-2 created", "Node a1-new-1 created", "Node a1-new-2 created"),
            *("Pod shop/agent-dc9c5 created", "Pod shop/agent-f5wch created"),
        ],
    ),
    ({"add": {"count": 1, "like": "a2", "labels": {"topology.kubernetes.io/zone": "c"}}}, ["Node a2-new-1 created"]),
]


@pytest.mark.parametrize(("said", "expected"), CHANGES, ids=[json.dumps(said) for said, _ in CHANGES])
def test_changes(said: Said, expected: list[str]) -> None:
    assert touched(said) == expected


REFUSED: list[tuple[Said, str]] = [
    ("", "is empty"),
    ("cordn a1", "'cordn' is not a verb (did you mean cordon?)"),
    ("cordon 'a1", "cannot be split into words: no closing quotation"),
    (f"cordon '{'a[' * 100_000}'", "has 200,009 characters, and may have 131,072 (write it as a map of YAML)"),
    ("cordon", "names no node"),
    ("cordon a3", 'nodes "a3" not found (there are a1, a2, b1)'),
    ("cordon zz*", "no node has a name like zz*"),
    ("cordon disk=hdd", "no node has the labels disk=hdd (did you mean disk=ssd?)"),
    ("taint a1", "names no taint"),
    ("taint gpu=yes:NoSchedule", "names no node"),
    ("taint a1 gpu=yes:NoSchedul", "'NoSchedul' is not an effect (did you mean NoSchedule?)"),
    ("taint a1 gpu-", "no node of these has the taint gpu (there are no taints)"),
    ("taint a2 gpux-", "no node of these has the taint gpux (there is gpu)"),
    ("taint a1 b/c/d=yes:NoSchedule", "'b/c/d' is not a label key"),
    ("label node/a1", "names no label"),
    ("label a1 x=y", "'a1' does not name a kind"),
    ("label nod/a1 x=y", "there is no kind 'nod' that scheduling reads"),
    ("label node/a1 dsk-", "no object of these has the label dsk (did you mean disk?)"),
    ("label node/a1 disk=a/b", "'a/b' is not a label value"),
    ("delete pod/db-0", 'pods "db-0" not found in namespace default (did you mean pod/shop/db-0?)'),
    ("delete node/x/a1", "does not name an object (write node/NAME)"),
    ("delete priorityclass/system-node-critical", "is built into the API server"),
    ("scale deployment/shop/web", "does not say how many pods"),
    ("scale deployment/shop/web=x", "the number of replicas is not an integer"),
    ("scale deployment/shop/web=-1", "out of range"),
    (
        "scale deployment/shop/wbe=3",
        'deployments "wbe" not found in namespace shop (did you mean deployment/shop/web?)',
    ),
    ("scale ds/shop/agent=3", "a DaemonSet has no number of replicas"),
    ("scale deployment/shop/*=3", "ambiguous"),
    ("scale all by x", "'x' is not a factor (write `scale all by 1.5`"),
    ("scale all by -1", "'-1' is not a factor"),
    ("scale by 2", "cannot be read"),
    ("scale -n", "does not say how many pods"),
    ("scale all -n by 2", "-n names no namespace"),
    ("scale -n blog by 2", "no workload in namespace blog has a number of pods"),
    ("scale ds/shop/agent by 2", "DaemonSet shop/agent cannot be multiplied"),
    ("scale db to max", "db has no maximum"),
    ("scale hpa to max", "no HorizontalPodAutoscaler scales a workload of the input"),
    ("resize pod/shop/db-0", "cannot be read"),
    ("resize pod/shop/db-0 cpus=1", "'cpus=1' is not a resource to resize"),
    ("resize pod/shop/db-0 cpu=much", "'cpu=much': quantities must match"),
    ("resize pod/shop/db-0 a:cpu=1 b:cpu=1", "resizes several containers"),
    ("resize pod/shop/db-0 b:cpu=1", "there is no container 'b' (there is main)"),
    ("resize pod/shop/db-9 cpu=1", 'pods "db-9" not found in namespace shop'),
    ("resize pod/shop/db-0 limits.cpu=100m", "must be less than or equal to cpu limit of 100m"),
    ("restart", "names no workload"),
    ("restart rs/shop/web-1", "ReplicaSet shop/web-1 has no rollout (restart a Deployment, StatefulSet or DaemonSet)"),
    ("restart pod/shop/db-0", "Pod shop/db-0 has no rollout"),
    (
        "restart deployment/shop/wbe",
        'deployments "wbe" not found in namespace shop (did you mean deployment/shop/web?)',
    ),
    ("set node/a1", "cannot be read"),
    ("set node/a1 spec", "has no value"),
    ("set node/a1 status.alocatable.cpu=3", 'unknown field "status.alocatable" (did you mean allocatable?)'),
    ("set node/a1 status.allocatable.cpu=much", "status.allocatable.cpu"),
    ("set node/a1 spec.unschedulable=maybe", "spec.unschedulable: expected a boolean, got a string"),
    ("set node/a1 spec.podCIDR=10.0.0.0/8", "scheduling does not read spec.podCIDR"),
    ("set node/a1 metadata.name=a9", "an object cannot be renamed"),
    ("set node/a1 metadata.labels.dsk=null", "is not set: there is nothing to remove (did you mean disk?)"),
    ("set pod/shop/db-0 spec.containers[4].name=x", "there is no such entry (the list has 1)"),
    ("set pod/shop/db-0 spec.containers.main.name=x", "'main' is not an index"),
    ("set pod/shop/db-0 spec.priorityClassName=hgh", "no PriorityClass with name hgh was found"),
    ("set deployment/shop/web spec.selector.matchLabels.x=y", "field is immutable"),
    ("set deployment/shop/web spec.replicas=-1", "must be greater than or equal to 0"),
    ("patch node/a1 nonsense", "the patch is not JSON"),
    (
        {"patch": {"object": "node/a1", "merge": {"spec": {"unschedulabel": True}}}},
        'unknown field "spec.unschedulabel"',
    ),
    ("priority high", "cannot be read"),
    ("priority hihg=3", 'priorityclasses.scheduling.k8s.io "hihg" not found (did you mean high?)'),
    ("priority high=2000000000", "is too high"),
    ("priority system-node-critical=3", "is built into the API server"),
    ("budget shop/db", "must say one of minAvailable and maxUnavailable"),
    ("budget shop/db minAvailable=1 maxUnavailable=1", "must say one of"),
    ("budget shop/db minAvailable=x", "minAvailable is not an integer"),
    ("budget shop/db minAvailable=200%", "more than 100%"),
    (
        "budget shop/wbe minAvailable=1",
        "there is no PodDisruptionBudget or workload shop/wbe (did you mean shop/db or shop/web?)",
    ),
    (
        "budget shop/same minAvailable=1",
        "shop/same is ambiguous: there are Deployment shop/same and StatefulSet shop/same",
    ),
    ("add nodes like a1", "write `add 3 nodes like NODE"),
    ("add 0 nodes like a1", "out of range"),
    ("add 3 nodes like c1", 'nodes "c1" not found'),
    ("apply", "names no manifest"),
    ("apply nowhere.yaml", "nowhere.yaml"),
    ("drain a1", "drain needs time (use `kwhatif simulate --then`)"),
    ("drain a1 --wait=no", 'invalid argument "no" for "--wait" flag: strconv.ParseBool'),
    ({"delete": {"objects": ["pdb/shop/db"], "force": "yes"}}, 'force is neither true nor false: "yes"'),
    ("fail a1", "needs time"),
    ("recover a1", "needs time"),
    ("evict shop/db-0", "needs time"),
    ("wait 30s", "needs time"),
    ("wait soon", "'soon' is not a duration"),
    ({"cordon": ["a1"], "uncordon": ["a1"]}, "is not an edit"),
    ({"taint": {"node": ["a1"], "taints": ["x:NoSchedule"]}}, "unknown field 'node' (did you mean nodes?)"),
]


@pytest.mark.parametrize(("said", "message"), REFUSED, ids=[json.dumps(said)[:80] for said, _ in REFUSED])
def test_refusals(said: Said, message: str) -> None:
    with pytest.raises(kwhatif.InputError) as caught:
        kwhatif.edited(load(), said)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("said", "note"),
    [
        ("cordon b1", "b1 is cordoned already"),
        ("uncordon a*", "a1, a2 are already uncordoned"),
        ("taint a2 gpu=yes:NoSchedule", "a2 is already tainted like this"),
        ("label node/a1 disk=ssd", "nothing changes: the labels are already set"),
        ("scale deployment/shop/web=3", "Deployment shop/web already has this number of replicas"),
        ("set node/a1 status.allocatable.cpu=4", "nothing changes: the fields are already set"),
        ("priority high=1000", "high already has the value 1000"),
    ],
)
def test_what_is_so_already_is_no_mistake(said: str, note: str) -> None:
    (row,) = kwhatif.edited(load(), said).changes
    assert (row.touched, sentences_of(row.remarks)) == ((), (note,))


def autoscaler(name: str, most: int) -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": name}, "minReplicas": 1, "maxReplicas": most},
    }


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("scale all by 2", {"Deployment shop/web": "4", "Deployment shop/same": "2", "StatefulSet shop/db": "4"}),
        ("scale -n shop by 1.1", {"Deployment shop/web": "4", "Deployment shop/same": "2", "StatefulSet shop/db": "3"}),
        ({"scale": {"by": 1.1, "namespace": "shop"}}, {"Deployment shop/web": "4", "StatefulSet shop/db": "3"}),
        ("scale hpa to max", {"Deployment shop/web": "4"}),
        ("scale hpa -n shop to max", {"Deployment shop/web": "4"}),
        ({"scale": {"to": "max"}}, {"Deployment shop/web": "4"}),
    ],
)
def test_growth_stops_at_what_autoscalers_allow(said: Said, expected: dict[str, str]) -> None:
    """A Deployment's ReplicaSet is not scaled by itself; 1.1 of one pod are two."""
    (row,) = kwhatif.edited(load(autoscaler("web", 4)), said).changes
    found = {each.object: each.fields[0].after for each in row.touched if each.change == "changed"}
    assert expected.items() <= found.items()
    assert not any(name.startswith("ReplicaSet shop/web") for name in found)
    assert ("no more than the maximum" in " ".join(sentences_of(row.remarks))) == (said == "scale all by 2")


def test_a_resize_is_as_setting_the_fields() -> None:
    one, other = (
        kwhatif.edited(load(), said).cluster.all(Pod)["shop/db-0"]
        for said in ("resize pod/shop/db-0 cpu=1", "set pod/shop/db-0 spec.containers[0].resources.requests.cpu=1")
    )
    assert one == other


def test_a_restart_comes_after_each_other_but_not_while_it_is_paused() -> None:
    again = "restart deployment/shop/web"
    assert touched(again, again) == [
        "Deployment shop/web changed spec.template.metadata.labels[kwhatif.dev/restarted]=2"
    ]
    with pytest.raises(kwhatif.InputError, match=re.escape("Deployment shop/web is paused (resume it first)")):
        touched("set deployment/shop/web spec.paused=true", again)


def test_all_mistakes_at_once() -> None:
    with pytest.raises(kwhatif.InputError) as caught:
        kwhatif.edited(load(), "cordon a1", "cordn a1", "cordon x y", {"scale": {"deploy/shop/no": 1}})
    places = [problem.where for problem in caught.value.problems]
    assert places == [
        "edit 'cordn a1'",
        "edit 'cordon x y'",
        "edit 'cordon x y'",
        """edit '{"scale":{"deploy/shop/no":1}}'""",
    ]


def test_the_session_stays_as_it_is() -> None:
    session = load()
    before = dict(session.cluster.all(Pod))
    generation = session.state.generation
    edited = kwhatif.edited(session, "scale deploy/shop/web=9", "delete node/a1", "budget shop/db minAvailable=2")
    assert session.state.generation == generation
    assert dict(session.cluster.all(Pod)) == before
    assert session.changes == ()
    assert edited.unedited is session
    assert len(edited.cluster.all(Pod)) == len(before) + 6
    validate(edited.state)


def test_new_nodes_are_like_theirs_but_new() -> None:
    edited = kwhatif.edited(load(), "add 1 nodes like b1 tier=gold")
    made = edited.cluster.all(Node)["b1-new-1"]
    assert made.metadata.labels == {
        "disk": "ssd",
        "kubernetes.io/hostname": "b1-new-1",
        "tier": "gold",
        "topology.kubernetes.io/zone": "b",
    }
    assert not made.spec.unschedulable
    assert made.spec.taints == ()
    assert made.status.allocatable == edited.cluster.all(Node)["b1"].status.allocatable
    notes = "; ".join(sentences_of(edited.changes[0].remarks))
    assert "made up" in notes
    assert "its cordon, node.kubernetes.io/unschedulable" in notes
    assert kwhatif.edited(edited, "add 1 nodes like b1").changes[-1].touched[0].object == "Node b1-new-2"


def test_new_nodes_have_the_drivers_of_theirs() -> None:
    made = kwhatif.edited(load(), "add 1 nodes like a1").cluster.all(CSINode)["a1-new-1"]
    assert made.spec.drivers[0].name == "disk.example.com"


def test_pods_of_scaled_workloads_wait_for_a_node() -> None:
    edited = kwhatif.edited(load(), "scale deploy/shop/web=5")
    new = [info.pod for key, info in edited.state.pending.items()]
    assert len(new) == 2
    assert all(pod.metadata.labels == {"app": "web", "pod-template-hash": "1"} for pod in new)
    assert edited.cluster.all(Deployment)["shop/web"].spec.replicas == 5


def test_pods_that_a_quota_refuses_are_said() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": "shop"},
        "spec": {"hard": {"pods": "6"}},
        "status": {"hard": {"pods": "6"}, "used": {"pods": "5"}},
    }
    row = kwhatif.edited(load(quota), "scale deploy/shop/web=5").changes[0]
    assert [each.change for each in row.touched if each.object.startswith("Pod ")] == ["created"]
    assert any("refuses 1 of its pods" in note and "exceeded quota: few" in note for note in sentences_of(row.remarks))


def test_quotas_count_the_pods_that_come_and_go() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": "shop"},
        "spec": {"hard": {"pods": "9", "requests.cpu": "8"}},
        "status": {"hard": {"pods": "9", "requests.cpu": "8"}, "used": {"pods": "5", "requests.cpu": "2500m"}},
    }
    edits = (
        "scale deploy/shop/web=5",
        "delete pod/shop/db-0",
        "set pod/shop/db-1 spec.containers[0].resources.requests.cpu=2",
    )
    edited = kwhatif.edited(load(quota), *edits)
    (stored,) = edited.cluster.all(ResourceQuota).values()
    assert stored.status is not None
    assert stored.status.used == {"pods": "6", "requests.cpu": "4500m"}


def test_a_workload_that_is_scaled_has_so_many_pods_whatever_there_was() -> None:
    edited = kwhatif.edited(load(), "delete pod/shop/web-1-0 pod/shop/web-1-1", "scale deploy/shop/web=4")
    web = [pod for pod in edited.cluster.all(Pod).values() if pod.metadata.labels["app"] == "web"]
    assert sorted(pod.metadata.name for pod in web if pod.spec.node_name) == ["web-1-2"]
    assert len(web) == 4
    assert edited.cluster.all(Deployment)["shop/web"].spec.replicas == 4


def test_budgets_that_still_count_pods_that_are_gone_are_named() -> None:
    stale = "the status of PodDisruptionBudget shop/db still counts pods that are gone (`budget` recounts it)"
    assert sentences_of(kwhatif.edited(load(), "delete pod/shop/db-0").changes[0].remarks)[-1] == stale
    assert sentences_of(kwhatif.edited(load(), "scale sts/shop/db=1").changes[0].remarks) == (stale,)
    assert sentences_of(kwhatif.edited(load(), "scale deploy/shop/web=1").changes[0].remarks) == ()


@pytest.mark.parametrize(
    ("said", "note"),
    [
        ("delete pod/shop/db-0", "its controller would create a new pod"),
        ("delete pod/shop/db-0", "still counts pods that are gone"),
        ("restart deployment/shop/web", "a template is for new pods"),
        ("set deployment/shop/web spec.template.spec.terminationGracePeriodSeconds=7", "a template is for new pods"),
        ("set deployment/shop/web spec.replicas=7", "use `scale` to create and delete pods"),
    ],
)
def test_what_controllers_would_do_is_not_said_of_a_simulation_in_which_they_do_it(said: str, note: str) -> None:
    session = kwhatif.edited(load(), said)
    notes = {
        command: "; ".join(worded(session.report(command, (), ())).changes[0].notes)
        for command in ("schedule", "simulate")
    }
    assert note in notes["schedule"]
    assert note not in notes["simulate"]


def test_apply_makes_names_and_volumes() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "job-", "namespace": "shop"},
        "spec": {
            "containers": [{"name": "c", "image": "x"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "shop"},
        "spec": {
            "storageClassName": "fast",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    fast = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "x.io",
    }
    edited = kwhatif.edited(load(fast), {"apply": [pod, claim]})
    created = [each.object.split("-")[0] for each in edited.changes[0].touched]
    assert created == ["PersistentVolume pvc", "PersistentVolumeClaim shop/data", "Pod shop/job"]
    assert "volume-provisioned" in {caveat.code for caveat in kwhatif.preempt(edited).caveat_details}


def test_what_has_one_generate_name_has_names_of_its_own() -> None:
    meta = {"generateName": "job-", "namespace": "shop"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}}
    touched = kwhatif.edited(load(), {"apply": [pod, pod, job, job]}).changes[0].touched
    made = [each.object.split("-")[0] for each in touched if each.change == "created"]
    assert made == ["Job shop/job"] * 2 + ["Pod shop/job"] * 4


def test_what_is_applied_and_refused_is_a_mistake() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "nowhere"},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }
    with pytest.raises(kwhatif.InputError, match='namespaces "nowhere" not found'):
        kwhatif.edited(load(), {"apply": pod})


def test_edits_and_their_sessions_are_picklable() -> None:
    edited = kwhatif.edited(load(), "scale deploy/shop/web=5", "add 1 node like a1")
    again = pickle.loads(pickle.dumps(edited))
    assert again.changes == edited.changes
    assert list(again.state.pending) == list(edited.state.pending)


def test_pods_keep_the_priority_that_they_have() -> None:
    edited = kwhatif.edited(load(), "set pod/shop/db-0 spec.priorityClassName=high", "priority high=7")
    assert edited.cluster.all(Pod)["shop/db-0"].spec.priority == 1000
    assert edited.cluster.all(PriorityClass)["high"].value == 7
    assert "1 of this class" in sentences_of(edited.changes[1].remarks)[0]


def test_a_new_budget_selects_the_pods_of_the_workload_of_its_name() -> None:
    edited = kwhatif.edited(load(), "budget shop/web minAvailable=50%")
    budget = edited.cluster.all(PodDisruptionBudget)["shop/web"]
    assert budget.spec.selector is not None
    assert budget.spec.selector.match_labels == {"app": "web"}
    assert budget.status is not None
    assert (budget.status.disruptions_allowed, budget.status.expected_pods) == (1, 3)


def test_a_budget_that_is_set_is_counted_anew() -> None:
    edited = kwhatif.edited(load(), "set pdb/shop/db spec.minAvailable=2")
    status = edited.cluster.all(PodDisruptionBudget)["shop/db"].status
    assert status is not None
    assert status.disruptions_allowed == 0


def test_names_without_a_namespace_are_in_the_one_that_is_asked_for() -> None:
    edited = kwhatif.edited(load(), "scale deployment/web=4", namespace="shop")
    assert edited.cluster.all(Deployment)["shop/web"].spec.replicas == 4


def test_edits_see_those_before_them() -> None:
    edited = kwhatif.edited(load(), "add 1 nodes like a1", "cordon a1-new-1", "delete node/a1-new-1")
    assert "a1-new-1" not in edited.cluster.all(Node)


def test_a_namespace_goes_with_all_that_is_in_it() -> None:
    edited = kwhatif.edited(load(), "delete namespace/shop")
    assert not edited.cluster.all(Pod)
    assert not edited.cluster.all(Deployment)
    assert not edited.cluster.all(ReplicaSet)
    assert "5 pods that it owns" in sentences_of(edited.changes[0].remarks)[0]


def test_the_report_lists_the_edits() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }
    report = kwhatif.schedule(kwhatif.edited(load(), "cordon a1"), pod)
    assert report.to_dict()["changes"] == [
        {
            "edit": "cordon a1",
            "touched": [
                {
                    "object": "Node a1",
                    "change": "changed",
                    "fields": [{"by": "cordon", "field": "spec.unschedulable", "before": "false", "after": "true"}],
                }
            ],
            "notes": [],
        }
    ]
    assert report.decisions[0].outcome == "Unschedulable"


def test_apply_makes_the_pods_of_a_workload() -> None:
    new = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "new", "namespace": "blog"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "new"}},
            "template": {
                "metadata": {"labels": {"app": "new"}},
                "spec": {"containers": [{"name": "c", "image": "x"}], "priorityClassName": "higher"},
            },
        },
    }
    klass = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "higher"}, "value": 9}
    edited = kwhatif.edited(load(), {"apply": [new, klass]})
    assert [info.priority for info in edited.state.pending.values()] == [9, 9]
    assert "blog/new" in edited.cluster.all(Deployment)
    story = kwhatif.simulate(edited).story
    assert story is not None
    made = [(row.workload, sum(row.after.values())) for row in story.workloads if "/new" in row.workload]
    assert made == [("Deployment blog/new", 2)], "its controller finds them, and makes no others"


def test_ages_count_by_their_magnitude_where_the_moment_is_known() -> None:
    """Of pods about as old as each other the UID decides (`ActivePodsWithRanks`)."""
    names = {"web-1-0": "u3", "web-1-1": "u2", "web-1-2": "u1"}
    more = [copy.deepcopy(obj) for obj in OBJECTS if obj["metadata"]["name"] in names]
    for pod in more:
        pod["metadata"] |= {"uid": names[pod["metadata"]["name"]]}
        pod["spec"]["nodeName"] = "a1"
    others = [obj for obj in OBJECTS if obj["metadata"]["name"] not in names]
    session = kwhatif.load([*others, *more])
    session.state.apply(SetFacts.of(session.cluster, taken_at="2027-01-01T00:00:00Z"))
    gone = [each.object for each in kwhatif.edited(session, "scale deploy/shop/web=2").changes[0].touched]
    assert gone == ["Deployment shop/web", "Pod shop/web-1-2"]
    assert touched("scale deploy/shop/web=2")[1] == "Pod shop/web-1-1 deleted"


CLOUD = ("ip-1.eu.internal", "ip-2.eu.internal", "ip-2.us.internal", "plain")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("ip-1", "ip-1.eu.internal"),
        ("node/ip-1", "ip-1.eu.internal"),
        ("no/plain", "plain"),
        ("ip-2.eu", "ip-2.eu.internal"),
        ("Node/ip-2.us.internal", "ip-2.us.internal"),
    ],
)
def test_nodes_by_the_names_that_reports_print(word: str, meant: str) -> None:
    session = Session.of(Cluster([node(name).build() for name in CLOUD]))
    assert named_nodes(session, [word]) == (meant,)
    assert kwhatif.edited(session, f"cordon {word}").cluster.all(Node)[meant].spec.unschedulable
    labelled = kwhatif.edited(session, f"label node/{word.rpartition('/')[2]} a=b").cluster
    assert labelled.all(Node)[meant].metadata.labels["a"] == "b"
    host, dot, domain = meant.partition(".")
    assert f"{host}-new-1{dot}{domain}" in kwhatif.edited(session, f"add 1 node like {word}").cluster.all(Node)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("ip-2", "ip-2 is ambiguous: ip-2.eu.internal, ip-2.us.internal (name one of them)"),
        ("ip", 'nodes "ip" not found'),
        ("node/plan", 'nodes "node/plan" not found (did you mean plain?)'),
    ],
)
def test_a_name_that_is_not_of_one_node_is_refused(word: str, message: str) -> None:
    session = Session.of(Cluster([node(name).build() for name in CLOUD]))
    with pytest.raises(InputError) as caught:
        named_nodes(session, [word])
    assert message in str(caught.value)


@pytest.mark.parametrize("word", ["*", "[ab]*", "disk=ssd"])
def test_nodes_of_a_pattern_are_taken_by_name(word: str) -> None:
    session = load()
    nodes = dict(reversed([*session.cluster.all(Node).items()]))
    assert list(nodes) != sorted(nodes)
    turned = Session.of(Cluster([*nodes.values()]))
    assert named_nodes(turned, [word]) == named_nodes(session, [word]) == tuple(sorted(nodes))
    assert named_nodes(turned, ["b1", word])[0] == "b1"
    assert named_nodes(turned, [], selector_of("kubernetes.io/hostname")) == tuple(sorted(nodes))


@given(st.text(st.sampled_from("ab \t\r\n\x0b\xa0'\"\\#"), max_size=30))
def test_words_are_split_as_a_shell_does(text: str) -> None:
    try:
        expected = shlex.split(text)
    except ValueError as wrong:
        with pytest.raises(ValueError, match=str(wrong)):
            split_words(text)
    else:
        assert split_words(text) == expected


@pytest.mark.parametrize("text", ["'" * 100_001, '"' + r"\a" * 50_000 + '"', "[{'" * 33_333, "a" * 100_000 + "'"])
def test_long_quotations_are_split_at_once(text: str) -> None:
    start = time.process_time()
    for _ in range(10):
        with suppress(ValueError):
            split_words(text)
    assert time.process_time() - start < 3
