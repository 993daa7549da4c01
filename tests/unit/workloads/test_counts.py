"""Numbers of pods that are valid and absurd: counted, not made one by one."""

from __future__ import annotations

import textwrap
import time

import pytest
import yaml
from msgspec.structs import replace

import kwhatif
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.caveat.workloads import TooManyPods
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.policy import PriorityClass
from kwhatif.kube.model.workload import CronJob, Deployment, Job, ReplicaSet, RollingUpdate, UpdateStrategy
from kwhatif.policy.fail_on import fails
from kwhatif.questions.session.session import Session
from kwhatif.render.edits import sentences_of
from kwhatif.render.markdown import to_markdown
from kwhatif.render.workloads import sentence
from kwhatif.report.decision import WorkloadRow
from kwhatif.simulation import limits as simulated_limits
from kwhatif.workloads import counts as limits
from kwhatif.workloads.counts import FEW, MOST, capped, most_pods, wanted
from kwhatif.workloads.custom import pods_of_templates
from tests.builders import NodeBuilder, PodBuilder, cluster, namespace, node, pod
from tests.unit.questions.judging.test_judge import FAILURES, ask, row, stored
from tests.unit.render.test_answer import shown

HUGE = 2**31 - 1
TEMPLATE = """
    metadata: {labels: {app: web}}
    spec: {restartPolicy: RESTART, containers: [{name: a, image: IMAGE, resources: {requests: {cpu: "1"}}}]}
"""
APP = "apiVersion: apps/v1\nkind: KIND\nmetadata: {name: web, namespace: default}\nspec:\n  replicas: COUNT\n  selector: {matchLabels: {app: web}}\n"
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: web, namespace: default}\nspec:\n  parallelism: COUNT\n"
MANIFESTS = {
    "Deployment": APP,
    "ReplicaSet": APP,
    "StatefulSet": APP + "  serviceName: web\n",
    "parallel StatefulSet": APP + "  serviceName: web\n  podManagementPolicy: Parallel\n",
    "ReplicationController": APP.replace("apps/v1", "v1").replace("{matchLabels: {app: web}}", "{app: web}"),
    "Job": JOB,
    "Job with completions": JOB + "  completions: COUNT\n",
}


def manifest(kind: str, count: int = HUGE, image: str = "one") -> str:
    head = MANIFESTS[kind].replace("KIND", kind.rpartition(" ")[2]).replace("COUNT", str(count))
    template = TEMPLATE.replace("RESTART", "Never" if "Job" in kind else "Always").replace("IMAGE", image)
    return f"{head}  template:{template}"


def cron_job() -> str:
    job = manifest("Job").partition("spec:\n")[2]
    head = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: web, namespace: default}\nspec:\n"
    return f'{head}  schedule: "0 1 * * *"\n  jobTemplate:\n    spec:\n{textwrap.indent(job, "    ")}'


def session(*objects: KubernetesObject | PodBuilder | NodeBuilder) -> Session:
    return Session.of(
        cluster(node("a").allocatable(cpu="2"), node("b").allocatable(cpu="1"), namespace("default"), *objects)
    )


def check(found: WorkloadRow, *, removed: int = 0) -> None:
    assert (found.replicas, found.placed, found.removed) == (HUGE, 3, removed)
    assert (found.unschedulable + found.waiting, found.ignored) == (HUGE - 3, 0)
    assert f"3 of {HUGE} pods fit" in found.message


@pytest.mark.parametrize("alone", [False, True])
def test_an_indexed_job_of_more_pods_than_there_may_be_is_refused(alone: bool) -> None:
    report = ask(session(), manifest("Job with completions") + "  completionMode: Indexed\n", alone=alone)
    (refused,) = report.decisions
    assert f"parallelism: Invalid value: {HUGE}: must be less than or equal to 100000" in refused.message
    found = kwhatif.simulate(
        session(), yaml.safe_load(manifest("Job with completions") + "  completionMode: Indexed\n")
    )
    assert found.story is not None
    assert found.story.commands[0].ok is False


@pytest.mark.parametrize("kind", [*MANIFESTS, "CronJob"])
@pytest.mark.parametrize("alone", [False, True])
def test_new_workload(kind: str, alone: bool) -> None:
    text = cron_job() if kind == "CronJob" else manifest(kind)
    start = time.process_time()
    report = ask(session(), text, alone=alone, **FAILURES)
    assert time.process_time() - start < 20
    name = f"{kind.rpartition(' ')[2] if 'with' not in kind else 'Job'} default/web"
    (caveat,) = (each for each in report.caveat_details if isinstance(each, TooManyPods))
    assert (caveat.workload, caveat.count, caveat.judged, caveat.missing) == (name, HUGE, FEW, True)
    if not alone:
        check(row(report))
        assert len(report.decisions) == FEW


@pytest.mark.parametrize("rollout", ["end", "final", "surge"])
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_changed_template(kind: str, rollout: str) -> None:
    known = stored(manifest(kind, 2))
    report = ask(session(*known), manifest(kind, image="two"), rollout=rollout, **FAILURES)
    found = row(report)
    assert found.replicas + 2 >= HUGE - FEW
    assert found.unschedulable + found.waiting > HUGE - FEW - 10
    if found.rollout is not None:
        assert (found.rollout.wanted, found.rollout.completed) == (HUGE, False)


def test_from_more_pods_to_fewer_and_back() -> None:
    huge = session(*stored(manifest("Deployment")))
    assert row(ask(huge, manifest("Deployment", 2), **FAILURES)).update == "scaled"
    same = ask(huge, manifest("Deployment"), **FAILURES)
    assert (row(same).message, row(same).replicas) == ("unchanged", 0)
    assert not any(isinstance(each, TooManyPods) for each in same.caveat_details)


def test_what_comes_after_a_pod_that_fits_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FEW", 10)
    monkeypatch.setattr(limits, "MOST", 20)
    text = manifest("Deployment").replace('{cpu: "1"}', '{cpu: "0"}')
    found = row(ask(session(), text, **FAILURES))
    assert (found.placed, found.unschedulable, found.ignored) == (20, HUGE - 220, 200)
    assert found.message == f"20 of {HUGE} pods fit, {HUGE - 220} stay pending, 200 are not judged"
    counts = "20 of 150 pods fit, 130 are not judged"
    assert row(ask(session(), text.replace(str(HUGE), "150"), **FAILURES)).message == counts


def test_without_the_rule_of_amounts_nodes_take_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FEW", 10)
    monkeypatch.setattr(limits, "MOST", 20)
    profile = next(iter(session().profiles.values()))
    filters = tuple(plugin for plugin in profile.filter if plugin.name != "NodeResourcesFit")
    asked = replace(session(), profiles={"default-scheduler": replace(profile, filter=filters)})
    found = row(ask(asked, manifest("Deployment"), **FAILURES))
    assert (found.placed, found.unschedulable, found.ignored) == (20, 0, HUGE - 20)


@pytest.mark.parametrize(("pods", "most"), [("110", FEW), ("499", FEW), ("9k", 9001), ("200k", MOST)])
def test_as_many_are_made_as_could_ever_fit(pods: str, most: int) -> None:
    assert most_pods(cluster(node("a").allocatable(pods=pods))) == most
    assert most_pods(cluster(node("a").status(allocatable=None, capacity={"pods": pods}))) == most


@pytest.mark.parametrize(("most", "judged"), [(1000, None), (20, 20)])
def test_edits_make_as_many_as_could_ever_fit(monkeypatch: pytest.MonkeyPatch, most: int, judged: int | None) -> None:
    monkeypatch.setattr(limits, "FEW", 10)
    monkeypatch.setattr(limits, "MOST", most)
    (known,) = (obj for obj in stored(manifest("Deployment", 0)) if isinstance(obj, Deployment))
    after = kwhatif.edited(session(known), f"scale deploy/web={HUGE}")
    assert len(after.state.pending) == judged or 2 * 110 + 1
    counted = [each.judged for each in after.caveats if isinstance(each, TooManyPods)]
    assert counted == [] if judged is None else [judged]
    notes = sentences_of(after.changes[-1].remarks)
    assert any("more pods are not made: no node has room" in note for note in notes) == (judged is None)


def test_what_a_workload_has_is_not_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FEW", 3)
    monkeypatch.setattr(limits, "MOST", 5)
    huge = replace(Deployment(), spec=replace(Deployment().spec, replicas=HUGE))
    known = [pod(f"p{number}").on("a") for number in range(20)]
    assert most_pods(cluster(node("a").allocatable(pods="10"), huge, *known)) == 23
    assert most_pods(cluster(node("a").allocatable(pods="1k"), huge, *known)) == 25
    small = replace(huge, spec=replace(huge.spec, replicas=7))
    assert most_pods(cluster(node("a").allocatable(pods="1k"), small, *known)) == 12


@pytest.mark.parametrize(("more", "message"), [(1, "1 pod is not judged"), (9, "all 9 pods are not judged")])
def test_none_of_them_is_judged(more: int, message: str) -> None:
    assert sentence("scaled", 0, (), {"Ignored": more}) == message


def test_a_large_workload_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of what is new is judged, however many pods it has."""
    monkeypatch.setattr(limits, "FEW", 5)
    known = stored(manifest("Deployment", 20))
    assert [row(ask(session(*known), manifest("Deployment", count), **FAILURES)).message for count in (21, 30)] == [
        "fits on a",
        "3 of 10 pods fit, 7 stay pending",
    ]


@pytest.mark.parametrize(("replicas", "made", "left_out"), [(10**40, FEW, 10**40 - FEW), (3, 3, 0), (-(10**40), 0, 0)])
def test_custom_resource(replicas: int, made: int, left_out: int) -> None:
    template = {"spec": {"containers": [{"name": "a", "image": "b"}]}}
    raw = {"kind": "Training", "metadata": {"name": "x"}, "spec": {"replicas": replicas, "template": template}}
    resource = CustomResource("Training", ObjectMeta(name="x"), raw, (".spec.template",))
    expansion = pods_of_templates(resource, Cluster())
    assert (len(expansion.pods), expansion.left_out) == (made, left_out)


def surging(count: int, surge: int | str) -> Deployment:
    strategy = UpdateStrategy(rolling_update=RollingUpdate(max_surge=surge))
    made = Deployment()
    return replace(made, spec=replace(made.spec, replicas=count, strategy=strategy))


@pytest.mark.parametrize(("surge", "left"), [(HUGE, 50), ("99999999%", 50), (20, 20), ("30%", "30%")])
def test_surge(surge: int | str, left: int | str) -> None:
    rolling = capped(surging(10, surge), 50).spec.strategy.rolling_update
    assert rolling is not None
    assert rolling.max_surge == left


@pytest.mark.parametrize("empty", [Deployment(), ReplicaSet(), Job(), CronJob()])
def test_small_numbers_stay(empty: object) -> None:
    assert wanted(empty) == 1
    assert capped(empty, 5) is empty


@pytest.mark.parametrize(("cpu", "counted", "settled"), [("1", HUGE - 3, "pending"), ("0", HUGE - 2 * 110, "pending")])
@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "Job"])
def test_a_story_counts_those_that_are_not_made(
    monkeypatch: pytest.MonkeyPatch, kind: str, cpu: str, counted: int, settled: str
) -> None:
    monkeypatch.setattr(limits, "FEW", 10)
    monkeypatch.setattr(limits, "MOST", 20)
    text = manifest(kind).replace('{cpu: "1"}', f'{{cpu: "{cpu}"}}')
    story = kwhatif.simulate(session(), yaml.safe_load(text)).story
    assert story is not None
    assert (sum(each.count for each in story.pending), story.settled) == (counted, settled)
    assert len(story.pending) <= 21
    (found,) = (each for each in story.workloads if each.workload == f"{kind} default/web")
    assert found.pending == counted
    assert {each.owner for each in story.pending} == {f"{kind} default/web"}


@pytest.mark.parametrize(
    ("cpu", "evicting", "judged"),
    [("1", 4, 3 + 4), ("1", 100, 3 + 5), ("500m", 4, 6 + 2 * 4), ("0", 4, 20)],
)
def test_a_story_goes_on_with_so_many_evictions_only(
    monkeypatch: pytest.MonkeyPatch, cpu: str, evicting: int, judged: int
) -> None:
    """As many pods as nodes have room for, with those gone that so many pods evict."""
    monkeypatch.setattr(limits, "FEW", 10)
    monkeypatch.setattr(limits, "MOST", 20)
    monkeypatch.setattr("kwhatif.questions.story.simulate.EVICTING", evicting)
    monkeypatch.setattr(simulated_limits, "FEW", 1)
    low = [pod(f"low-{number}").cpu("1").on(name) for number, name in enumerate("aaaab")]
    high = PriorityClass(metadata=ObjectMeta(name="high"), value=10)
    there = Session.of(
        cluster(*(node(name).allocatable(cpu="4", pods="100") for name in "ab"), namespace("default"), high, *low)
    )
    text = (
        manifest("ReplicaSet")
        .replace('{cpu: "1"}', f'{{cpu: "{cpu}"}}')
        .replace("spec: {", "spec: {priorityClassName: high, ")
    )
    report = kwhatif.simulate(there, yaml.safe_load(text))
    assert report.story is not None
    (said,) = (each for each in report.caveats if "ReplicaSet default/web asks for" in each)
    assert f" {HUGE:,} pods, of which {judged} were judged" in said


def test_a_gate_fails_for_pods_that_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FEW", 10)
    monkeypatch.setattr(limits, "MOST", 20)
    made = yaml.safe_load(manifest("Deployment").replace('{cpu: "1"}', '{cpu: "0"}'))
    policy = kwhatif.gate(session(), made).policy
    assert policy is not None
    (finding,) = (each for each in policy.findings if each.rule == "unschedulable")
    assert (finding.level, finding.workload) == ("fail", "Deployment default/web")
    assert (
        finding.message
        == f"{HUGE - 220} of {HUGE} pods stay pending: all nodes together cannot take this number of pods"
    )


@pytest.mark.parametrize("output", ["text", "markdown"])
def test_advice_is_about_all_pods(monkeypatch: pytest.MonkeyPatch, output: str) -> None:
    monkeypatch.setattr(limits, "FEW", 10)
    monkeypatch.setattr(limits, "MOST", 20)
    some = kwhatif.advise(session(), yaml.safe_load(manifest("Deployment")))
    assert some.advise is not None
    (about,) = some.advise.workloads
    assert (about.fit, about.of) == (3, HUGE)
    assert {each.of for each in about.advice} <= {HUGE}
    all_judged = kwhatif.advise(session(), yaml.safe_load(manifest("Deployment").replace('{cpu: "1"}', '{cpu: "0"}')))
    said = shown(all_judged, width=200) if output == "text" else to_markdown(all_judged)
    assert f"Deployment default/web: 20 of {HUGE} pods fit, {HUGE - 220} stay pending, 200 are not judged" in said
    assert "all" not in said.partition("fit")[0]
    assert (fails(all_judged, ("unschedulable",)), fails(all_judged, ("ignored",))) == (True, True)
