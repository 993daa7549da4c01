"""Numbers of pods that are valid and absurd: counted, not made one by one."""

from __future__ import annotations

import textwrap
import time

import pytest
from msgspec.structs import replace

from kwhatif.model.caveat import TooManyPods
from kwhatif.model.cluster import Cluster, KubernetesObject
from kwhatif.model.workload import CronJob, Deployment, Job, ReplicaSet, RollingUpdate, UpdateStrategy
from kwhatif.report.workload import WorkloadRow
from kwhatif.whatif.session import Session
from kwhatif.workloads import many
from kwhatif.workloads.custom import pods_from_template_path
from kwhatif.workloads.many import FEW, MOST, capped, most_pods, wanted
from tests.builders import NodeBuilder, PodBuilder, cluster, namespace, node
from tests.unit.whatif.test_judge import ask, row, stored

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
    "indexed Job": JOB + "  completions: COUNT\n  completionMode: Indexed\n",
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
    return Session(
        cluster(node("a").allocatable(cpu="2"), node("b").allocatable(cpu="1"), namespace("default"), *objects)
    )


def check(found: WorkloadRow, *, removed: int = 0) -> None:
    assert (found.replicas, found.placed, found.removed) == (HUGE, 3, removed)
    assert (found.unschedulable + found.waiting, found.ignored) == (HUGE - 3, 0)
    assert f"3 of {HUGE} pods fit" in found.message


@pytest.mark.parametrize("kind", [*MANIFESTS, "CronJob"])
@pytest.mark.parametrize("alone", [False, True])
def test_new_workload(kind: str, alone: bool) -> None:
    text = cron_job() if kind == "CronJob" else manifest(kind)
    start = time.process_time()
    report = ask(session(), text, alone=alone, full=False)
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
    report = ask(session(*known), manifest(kind, image="two"), rollout=rollout, full=False)
    found = row(report)
    assert found.replicas + 2 >= HUGE - FEW
    assert found.unschedulable + found.waiting > HUGE - FEW - 10
    if found.rollout is not None:
        assert (found.rollout.wanted, found.rollout.completed) == (HUGE, False)


def test_from_more_pods_to_fewer_and_back() -> None:
    huge = session(*stored(manifest("Deployment")))
    assert row(ask(huge, manifest("Deployment", 2), full=False)).update == "scaled"
    same = ask(huge, manifest("Deployment"), full=False)
    assert (row(same).message, row(same).replicas) == ("unchanged", 0)
    assert not any(isinstance(each, TooManyPods) for each in same.caveat_details)


def test_what_comes_after_a_pod_that_fits_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "FEW", 10)
    monkeypatch.setattr(many, "MOST", 20)
    text = manifest("Deployment").replace('{cpu: "1"}', '{cpu: "0"}')
    found = row(ask(session(), text, full=False))
    assert (found.placed, found.unschedulable, found.ignored) == (20, 0, HUGE - 20)
    assert found.message == f"20 of {HUGE} pods fit, {HUGE - 20} are not judged"


@pytest.mark.parametrize(("pods", "most"), [("110", FEW), ("1999", FEW), ("12k", 12001), ("200k", MOST)])
def test_as_many_are_made_as_could_ever_fit(pods: str, most: int) -> None:
    assert most_pods(cluster(node("a").allocatable(pods=pods))) == most
    assert most_pods(cluster(node("a").status(allocatable=None, capacity={"pods": pods}))) == most


@pytest.mark.parametrize(("replicas", "made", "left_out"), [(10**40, FEW, 10**40 - FEW), (3, 3, 0), (-(10**40), 0, 0)])
def test_custom_resource(replicas: int, made: int, left_out: int) -> None:
    template = {"spec": {"containers": [{"name": "a", "image": "b"}]}}
    raw = {"kind": "Training", "metadata": {"name": "x"}, "spec": {"replicas": replicas, "template": template}}
    expansion = pods_from_template_path(raw, ".spec.template", Cluster())
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
