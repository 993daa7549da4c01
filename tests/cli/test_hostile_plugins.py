"""Plugins of your own that misbehave: named with pod and node, exit code 3, nothing of them in the answer."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

import kwhatif
from kwhatif.errors import ExitCode, PluginFailed
from kwhatif.questions.session.session import Session
from kwhatif.scheduler.framework.guard import CallSite
from tests.cli.running import Ran, run

HEAD = """
import os, sys, time
from kwhatif.scheduler.framework.plugin import NodeFilter
from kwhatif.scheduler.framework.status import SUCCESS
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod

class Own:
    name = "Own"
    @staticmethod
    def objects(cluster):
        return list(cluster.all(Pod).values())
    def pre_filter(self, pod, snapshot):
        {pre_filter}
        return Filter(snapshot)

class Unprintable(Exception):
    def __str__(self):
        raise ValueError

class Filter(NodeFilter):
    def __init__(self, snapshot):
        self.snapshot = snapshot
    def filter(self, node):
        {filter}
        return SUCCESS
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: b}]}\n"
NODE = (
    "apiVersion: v1\nkind: Node\nmetadata: {name: node}\nspec: {}\n"
    'status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}\n'
)
NEIGHBOUR = (
    POD.replace("name: p", "name: q, labels: {app: q}")
    .replace("spec: {", "spec: {nodeName: node, nodeSelector: {b: c}, affinity: {podAntiAffinity: TERMS}, ")
    .replace(
        "TERMS", "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: SELECTOR}]}"
    )
    .replace("SELECTOR", "{matchLabels: {app: q}}")
)
PENDING = f"{POD.replace('name: p', 'name: r')}status: {{nominatedNodeName: node}}\n"
ASK = "kwhatif schedule pod.yaml --from cluster.yaml --plugin own_plugin:Own -o json"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_plugin", raising=False)
    Path("pod.yaml").write_text(POD)
    Path("cluster.yaml").write_text(f"{NODE}---\n{NEIGHBOUR}---\n{PENDING}")


def ask(*, pre_filter: str = "pass", filter: str = "pass", top: str = "") -> Ran:
    Path("own_plugin.py").write_text(top + HEAD.format(pre_filter=pre_filter, filter=filter))
    sys.modules.pop("own_plugin", None)
    return run(ASK)


RAISES = {
    "sys.exit(0)": "SystemExit: 0",
    "raise Unprintable": "Unprintable, which cannot be printed",
    "raise BaseException('odd')": "BaseException: odd",
    "raise GeneratorExit": "GeneratorExit: ",
    "1 / 0": "ZeroDivisionError: division by zero",
    "node.name.nothing": "AttributeError: 'str' object has no attribute 'nothing'",
    "return 1": "it returned int, not Status",
}


@pytest.mark.parametrize(("code", "reported"), RAISES.items(), ids=RAISES)
def test_what_a_filter_raises_is_named(code: str, reported: str) -> None:
    ran = ask(filter=code)
    assert (ran.code, ran.stdout) == (ExitCode.BAD_INPUT, "")
    assert ran.stderr == f"error: plugin Own failed in Filter for pod default/p on node node: {reported}\n"


def test_the_same_while_it_is_imported_or_made() -> None:
    ran = ask(top="import sys; sys.exit(0)\n")
    assert (ran.code, ran.stdout) == (ExitCode.BAD_INPUT, "")
    assert "own_plugin cannot be imported: SystemExit: 0" in ran.stderr


def test_what_it_prints_goes_to_standard_error() -> None:
    ran = ask(filter="print('hello'); sys.stdout.write('again')", top="print('early')\n")
    assert ran.code == ExitCode.OK
    assert json.loads(ran.stdout)["decisions"][0]["node"] == "node"
    assert "early\n" in ran.stderr
    assert "hello\nagain" in ran.stderr


POINTS = [
    "PreFilter for pod default/p",
    "PreFilter for pod default/r",
    "Filter for pod default/p on node node",
    "Filter for pod default/r on node node",
]
CHANGES = {
    "the list of nodes": ("snapshot.nodes.clear()", "pass"),
    "the nodes by name": ("snapshot.by_name.clear()", "pass"),
    "the indexes of nodes": ("snapshot.index_by_name.clear()", "pass"),
    "the shapes of nodes": ("[each.clear() for each in snapshot.names_and_shapes]", "pass"),
    "a node of a shape": ("[each.pods.clear() for each in snapshot.of_shape.values()]", "pass"),
    "pods on nodes that are not there": ("snapshot.strays.clear()", "pass"),
    "the pods": ("snapshot.pods.clear()", "pass"),
    "the pods of a node": ("snapshot.nodes[0].pods.clear()", "pass"),
    "a node's sums": ("pass", "node.cpu = 10**9; node.allowed_pods = 0"),
    "a node's pods": ("pass", "node.pods.clear(); self.snapshot.nodes[0].pods.clear()"),
    "an attribute": ("snapshot.nodes = []", "pass"),
    "the pod": ("pod.pod = pod.labels = pod.resources = pod.affinity = None", "pass"),
    "the pod's labels": ("pod.labels['a'] = 'b'; pod.pod.metadata.labels['c'] = 'd'", "pass"),
    "a pod on a node": ("pass", "node.pods[0].priority = 10**9"),
    "the requests of a pod on a node": ("pass", "node.pods[0].resources = None"),
    "the labels of a pod on a node": ("node_pod = snapshot.nodes[0].pods[0]; node_pod.labels['a'] = 'b'", "pass"),
    "the object of a pod on a node": ("pass", "node.pods[0].pod.metadata.labels['a'] = 'b'"),
    "what selects its nodes": ("pass", "node.pods[0].pod.spec.node_selector['a'] = 'b'"),
    "its affinity": ("pass", "node.pods[0].affinity.pod_anti_affinity.required[0].label_selector.match_labels.clear()"),
    "what its terms were made of": ("pass", "node.pods[0].affinity_terms.required_anti[0].selector = None"),
    "a pod by its key": ("snapshot.pods['default/q'].labels['a'] = 'b'; snapshot.pods['default/q'].key = 'x'", "pass"),
    "a pending pod": ("snapshot.pending['default/r'].priority = 7", "pass"),
    "a nominated pod": ("snapshot.nominated['node'][0].labels['a'] = 'b'", "pass"),
    "what a node has": ("pass", "node.node.status.allocatable['cpu'] = '0'"),
    "an object of the cluster": ("snapshot.cluster.get(Pod, 'default/q').metadata.labels['a'] = 'b'", "pass"),
    "all objects of a kind": (
        "[each.metadata.labels.clear() for kind in (Node, Pod) for each in snapshot.cluster.all(kind).values()]",
        "pass",
    ),
    "selected objects": ("snapshot.cluster.select(Pod, ['default/q'])[0].spec.node_selector.update(a='b')", "pass"),
    "the collection of objects": ("snapshot.cluster.all(Pod).clear()", "pass"),
    "the objects": ("snapshot.cluster.discard(Node, 'node')", "pass"),
    "what is derived from objects": (
        "[each.metadata.labels.clear() for each in snapshot.cluster.derived(Own.objects, Pod)]",
        "pass",
    ),
    "a node's labels": ("pass", "node.labels['a'] = 'b'; node.node.metadata.labels['c'] = 'd'"),
}


@pytest.mark.parametrize(("pre_filter", "filter"), CHANGES.values(), ids=CHANGES)
def test_what_it_is_shown_cannot_be_changed(pre_filter: str, filter: str) -> None:
    Path("own_plugin.py").write_text(HEAD.format(pre_filter=pre_filter, filter=filter))
    sys.modules.pop("own_plugin", None)
    session = kwhatif.load("cluster.yaml", plugins=["own_plugin:Own"])
    in_vain: list[str] = []
    try:
        in_vain.append(str(kwhatif.schedule(session, "pod.yaml").decisions[0].node))
    except PluginFailed as failure:
        in_vain.append(str(failure).partition(": ")[0])
    assert in_vain[0] in ("node", *(f"plugin Own failed in {point}" for point in POINTS))
    plain = kwhatif.load("cluster.yaml")
    assert len(session.state.nodes) == len(session.state.by_name) == 1
    _check_same(session, plain)


def _check_same(session: Session, plain: Session) -> None:
    (left,), (right,) = session.state.nodes, plain.state.nodes
    assert [pod.key for pod in left.pods] == [pod.key for pod in right.pods] == ["default/q"]
    assert (left.cpu, left.allowed_pods, left.labels) == (right.cpu, right.allowed_pods, right.labels)
    assert left.node == right.node
    assert list(session.state.pods) == list(plain.state.pods)
    for key, pod in session.state.pods.items() | session.state.pending.items():
        other = plain.state.pods.get(key) or plain.state.pending[key]
        assert (pod.pod, pod.key, pod.labels, pod.priority) == (other.pod, other.key, other.labels, other.priority)
        assert (pod.resources, pod.affinity) == (other.resources, other.affinity)


POST_FILTER = """
from kwhatif.scheduler.framework.plugin import PostFilterResult
from kwhatif.scheduler.framework.status import Status, unschedulable
from kwhatif.scheduler.plugins.default_preemption import DefaultPreemption
from kwhatif.scheduler.preemption.policy import Policy

class Own:
    name = "Own"
    def pre_filter(self, pod, snapshot):
        return unschedulable("no")
    def post_filter(self, cycle):
        {post_filter}
        return PostFilterResult(unschedulable("nor here"))

class Rules(Policy):
    def potential_victims(self, pod, node):
        {post_filter}
        return super().potential_victims(pod, node)
    def rank(self, node, victims, pdb_violations):
        {rank}
        return super().rank(node, victims, pdb_violations)

class Evicts(DefaultPreemption):
    name = "Evicts"
    policy = Rules()

class Wraps(DefaultPreemption):
    name = "Wraps"
    def post_filter(self, cycle):
        {rank}
        return super().post_filter(cycle)
"""


@contextmanager
def _failing(said: str) -> Iterator[None]:
    """What is done may fail; then that is said."""
    failure = None
    try:
        yield
    except PluginFailed as failed:
        failure = str(failed)
    assert failure is None or failure.startswith(said)


@pytest.mark.parametrize(
    "code",
    [
        "cycle.snapshot.nodes[0].pods.clear(); cycle.snapshot.nodes[0].node.status.allocatable.clear()",
        "cycle.verdicts.clear()",
        "cycle.compiled.clear()",
        "cycle.filters.clear(); cycle.unschedulable_plugins.clear(); cycle.asked.clear()",
        "cycle.pod.pod.metadata.labels['a'] = 'b'; cycle.pod.priority = 1",
        "cycle.pod = cycle.snapshot = cycle.verdicts = cycle.absent = None",
        "cycle.snapshot.cluster.get(Pod, 'default/q').metadata.labels.clear()",
    ],
)
def test_what_post_filter_is_shown_cannot_be_changed(code: str) -> None:
    Path("own_plugin.py").write_text(
        "from kwhatif.kube.model.pod import Pod\n" + POST_FILTER.format(post_filter=code, rank="pass")
    )
    sys.modules.pop("own_plugin", None)
    session = kwhatif.load("cluster.yaml", plugins=["own_plugin:Own"])
    with _failing("plugin Own failed in PostFilter for pod default/"):
        decision = kwhatif.schedule(session, "pod.yaml").decisions[0]
        assert decision.message.endswith("nor here")
        assert decision.unschedulable_plugins == ("Own",)
    _check_same(session, kwhatif.load("cluster.yaml"))


@pytest.mark.parametrize(
    ("plugin", "code"),
    [
        ("Evicts", "pass"),
        ("Evicts", "victims[0].labels.clear(); node.pods.clear()"),
        ("Evicts", "victims[0].priority = 10**9"),
        ("Evicts", "victims[0].pod.metadata.labels.clear()"),
        ("Evicts", "node.node.status.allocatable.clear()"),
        ("Wraps", "pass"),
        ("Wraps", "cycle.snapshot.nodes[0].pods.clear(); cycle.snapshot = cycle.snapshot.fork()"),
        ("Wraps", "cycle.pod.pod.metadata.labels['a'] = 'b'"),
    ],
)
def test_what_decides_about_victims_is_shown_copies_only(plugin: str, code: str) -> None:
    """And the victims that it names are those of the cluster."""
    Path("own_plugin.py").write_text(POST_FILTER.format(post_filter="pass", rank=code))
    sys.modules.pop("own_plugin", None)
    big, low = "resources: {requests: {cpu: '4'}}", "resources: {requests: {cpu: '3'}}"
    Path("big.yaml").write_text(
        POD.replace("image: b", f"image: b, {big}").replace("spec: {", "spec: {priorityClassName: high, ")
    )
    high = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 9\n"
    Path("busy.yaml").write_text(f"{NODE}---\n{high}---\n{NEIGHBOUR.replace('image: b', f'image: b, {low}')}")
    session = kwhatif.load("busy.yaml", plugins=[f"own_plugin:{plugin}"])
    with _failing(f"plugin {plugin} failed in PostFilter for pod default/p") if code != "pass" else nullcontext():
        decision = kwhatif.schedule(session, "big.yaml").decisions[0]
        assert [victim.pod for victim in decision.victims] == ["default/q"]
        story = kwhatif.simulate(session, "big.yaml").story
        assert story is not None
        assert [each.pod for each in story.gone] == ["default/q"]
    _check_same(session, kwhatif.load("busy.yaml"))


def test_a_plugin_knows_pods_again() -> None:
    Path("own_plugin.py").write_text(
        HEAD.format(
            pre_filter="self.seen = snapshot.nodes[0].pods[0]; assert self.seen is snapshot.pods['default/q']",
            filter="assert node.pods[0] is self.snapshot.pods['default/q']; assert node.pods[0] in {*node.pods}",
        )
    )
    sys.modules.pop("own_plugin", None)
    session = kwhatif.load("cluster.yaml", plugins=["own_plugin:Own"])
    assert kwhatif.schedule(session, "pod.yaml").decisions[0].node == "node"


def test_ctrl_c_ends_the_command() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            CallSite("Own", "Filter", "default/p").call(signal.raise_signal, signal.SIGINT, returns=object)
    finally:
        signal.signal(signal.SIGINT, before)
