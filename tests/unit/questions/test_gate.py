"""The gate: what takes effect before the pods, in which order they are placed, and what the report says."""

from __future__ import annotations

import io
import re
import textwrap
from datetime import date
from typing import Any, Literal

import pytest

from kwhatif.kube.model.caveat.reading import NoImages
from kwhatif.kube.model.caveat.scheduling import DevicesNotModelled, OtherVersion
from kwhatif.kube.model.meta import ObjectMeta, OwnerReference
from kwhatif.kube.model.pod import PodMeta, PodTemplateSpec
from kwhatif.kube.model.policy import PriorityClass, ResourceQuota, ResourceQuotaSpec, ResourceQuotaStatus
from kwhatif.kube.model.resource import CELDeviceSelector, DeviceClass, DeviceClassSpec, DeviceSelector
from kwhatif.kube.model.workload import ReplicaSet, ReplicaSetMeta, ReplicaSetSpec, StatefulSet, StatefulSetSpec
from kwhatif.policy.build import build_rulebook, default_rulebook
from kwhatif.questions.gate import GateQuestion, gate
from kwhatif.questions.judging.question import Question
from kwhatif.questions.session.session import Session
from kwhatif.render.worded import worded
from kwhatif.render.workloads import workload_message
from kwhatif.report import Report
from kwhatif.report.decision import Decision, WorkloadRow
from kwhatif.sources.manifests.applied import all_applied, as_row
from kwhatif.sources.manifests.read import read_manifest_set
from kwhatif.sources.manifests.unmodelled import in_cluster
from kwhatif.sweep.processes import play_here
from tests.builders import PodBuilder, budget, cluster, namespace, node, pod, selector

HIGH = PriorityClass(metadata=ObjectMeta(name="high"), value=100)


def run(session: Session, text: str, **question: Any) -> Report:
    """The gate's report about manifests in YAML."""
    found = read_manifest_set(
        ["-"],
        stdin=io.BytesIO(textwrap.dedent(text).encode()),
        default_namespace="default",
        template_paths=question.pop("template_paths", None),
    )
    book, today = question.pop("book", default_rulebook()), question.pop("today", date(2026, 1, 1))
    strict = question.pop("strict", False)
    applied = all_applied(found.manifests)
    asked = Question(
        applied=applied,
        problems=tuple(map(as_row, found.problems)),
        caveats=tuple(in_cluster(found.caveats, applied, session.cluster)),
        **question,
    )
    return worded(
        gate(
            session,
            GateQuestion(question=asked, book=book, today=today, message_of=workload_message, strict=strict),
            play_here,
        )
    )


def workload(
    kind: str,
    name: str,
    replicas: int | None = None,
    cpu: str = "1",
    spec: str = "",
    ns: str = "default",
    meta: str = "",
) -> str:
    """A manifest; `spec` goes into the pod template's spec, `meta` into the object's metadata."""
    version = "batch/v1" if kind in ("Job", "CronJob") else "apps/v1"
    count = f"replicas: {replicas}," if replicas is not None else ""
    template = (
        f"template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{{spec} containers:"
        f" [{{name: main, image: 'x:1', resources: {{requests: {{cpu: '{cpu}'}}}}}}]}}}}"
    )
    chosen = "" if kind == "Job" else f"selector: {{matchLabels: {{app: {name}}}}},"
    return (
        f"---\napiVersion: {version}\nkind: {kind}\n"
        f"metadata: {{name: {name}, namespace: {ns}, {meta}}}\n"
        f"spec: {{{count} {chosen} {template}}}\n"
    )


def bare(name: str, cpu: str = "1", spec: str = "") -> str:
    return (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: default}}\n"
        f"spec: {{{spec} containers: [{{name: main, image: 'x:1', resources: {{requests: {{cpu: '{cpu}'}}}}}}]}}\n"
    )


def row(report: Report, name: str) -> WorkloadRow:
    return next(row for row in report.workloads if row.name == name)


def decision(report: Report, name: str) -> Decision:
    return next(decision for decision in report.decisions if decision.pod == name)


def low(name: str, cpu: str = "2") -> PodBuilder:
    return pod(name, "batch").labels(app="low").cpu(cpu).priority(-10).on("n1").started("2026-01-01T00:00:00Z")


# --- in order, on one snapshot ---------------------------------------------------------------------------


def test_each_placed_pod_takes_its_room() -> None:
    report = run(Session.of(cluster(node("n1"), node("n2"))), workload("Deployment", "web", 9))
    web = row(report, "Deployment default/web")
    assert (web.replicas, web.placed, web.unschedulable) == (9, 8, 1)
    assert web.nodes == {"n1": 4, "n2": 4}
    assert web.message == "8 of 9 pods fit, 1 stays pending"
    assert report.policy is not None
    assert report.policy.verdict == "fail"


def test_each_victim_leaves_and_is_named_once() -> None:
    younger = low("etl-2").started("2026-01-02T00:00:00Z")
    session = Session.of(cluster(node("n1"), low("etl-1"), younger, HIGH))
    report = run(session, workload("Deployment", "web", 3, cpu="2", spec="priorityClassName: high,"))
    web = row(report, "Deployment default/web")
    assert web.message == "none of 3 pods fit, 2 would evict 2 pods without an owner (priority -10), 1 stays pending"
    assert web.victims == ("batch/etl-2", "batch/etl-1")
    assert (web.preempting, web.unschedulable) == (2, 1)


def test_higher_priority_goes_first_whatever_the_order_of_the_manifests() -> None:
    session = Session.of(cluster(node("n1"), HIGH))
    report = run(session, bare("late", cpu="3") + bare("first", cpu="3", spec="priorityClassName: high,"))
    assert decision(report, "default/first").outcome == "Placed"
    assert decision(report, "default/late").outcome == "Unschedulable"
    assert [row.name for row in report.workloads] == ["Pod default/late", "Pod default/first"]


def test_equal_priority_goes_by_the_order_of_the_manifests() -> None:
    report = run(Session.of(cluster(node("n1"))), bare("b", cpu="3") + bare("a", cpu="3"))
    assert [each.outcome for each in report.decisions] == ["Placed", "Unschedulable"]


def test_the_session_stays_as_it_was() -> None:
    session = Session.of(cluster(node("n1"), low("etl"), HIGH))
    text = workload("Deployment", "web", 2, cpu="2", spec="priorityClassName: high,")
    assert run(session, text) == run(session, text)


def test_a_budget_is_spent_only_once() -> None:
    session = Session.of(
        cluster(node("n1"), low("etl-1"), low("etl-2"), HIGH, budget("low", 1, selector(app="low"), "batch"))
    )
    report = run(session, workload("Deployment", "web", 2, cpu="2", spec="priorityClassName: high,"))
    assert row(report, "Deployment default/web").violations == ("batch/low",)
    assert report.policy is not None
    assert [(found.rule, found.level) for found in report.policy.findings] == [
        ("budgetViolation", "fail"),
        ("preemption", "warn"),
    ]


def test_only_the_first_pod_of_each_outcome_says_why_in_full() -> None:
    session = Session.of(cluster(node("n1"), low("etl-1", "1"), low("etl-2", "1"), HIGH))
    report = run(session, workload("Deployment", "web", 7, spec="priorityClassName: high,"))
    evicting = [each for each in report.decisions if each.outcome == "Preempts"]
    assert [bool(each.rejected) for each in evicting] == [True, False]
    stuck = [each for each in report.decisions if each.outcome == "Unschedulable"]
    assert [bool(each.rejected) for each in stuck] == [True, False, False]
    assert {each.message for each in stuck} == {stuck[0].message}
    assert "Insufficient cpu" in stuck[0].message


# --- what takes effect before the pods -------------------------------------------------------------------


def test_a_new_priority_class_counts() -> None:
    new = "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: top}\nvalue: 7\n"
    report = run(Session.of(cluster(node("n1"))), bare("p", spec="priorityClassName: top,") + new)
    assert decision(report, "default/p").priority == 7


def test_a_new_limit_range_fills_in_and_says_so() -> None:
    limits = (
        "---\napiVersion: v1\nkind: LimitRange\nmetadata: {name: l, namespace: default}\n"
        "spec: {limits: [{type: Container, defaultRequest: {memory: 1Gi}}]}\n"
    )
    report = run(Session.of(cluster(node("n1"))), bare("p") + limits)
    changes = decision(report, "default/p").changes
    assert [(change.by, change.field, change.after) for change in changes if "memory" in change.field] == [
        ("LimitRanger", "spec.containers[0].resources.requests[memory]", "1Gi")
    ]


def test_a_new_quota_refuses_what_exceeds_it() -> None:
    quota = (
        "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: default}\nspec: {hard: {pods: '2'}}\n"
    )
    report = run(Session.of(cluster(node("n1"))), quota + workload("Deployment", "web", 3))
    web = row(report, "Deployment default/web")
    assert (web.placed, web.denied) == (2, 1)
    assert web.message == "2 of 3 pods fit, 1 is refused"
    refused = next(each for each in report.decisions if each.outcome == "Denied")
    assert refused.message.endswith("exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2")


def test_a_pod_of_a_namespace_that_is_not_there_is_refused_unless_the_manifests_have_it() -> None:
    session = Session.of(cluster(node("n1"), namespace("default")))
    text = workload("Deployment", "web", 1, ns="new")
    assert row(run(session, text), "Deployment new/web").denied == 1
    made = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: new}\n"
    assert row(run(session, text + made), "Deployment new/web").placed == 1


def test_a_new_namespace_says_nothing_about_the_others_where_the_dump_has_none() -> None:
    made = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: new}\n"
    report = run(Session.of(cluster(node("n1"))), made + workload("Deployment", "web", 1, ns="old"))
    assert row(report, "Deployment old/web").placed == 1


def test_a_quota_that_changes_is_counted_anew() -> None:
    def quota(pods: int) -> str:
        return f"---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: q, namespace: default}}\nspec: {{hard: {{pods: '{pods}'}}}}\n"

    known = ResourceQuota(
        metadata=ObjectMeta(name="q", namespace="default"),
        spec=ResourceQuotaSpec(hard={"pods": "3"}),
        status=ResourceQuotaStatus(hard={"pods": "3"}, used={"pods": "3"}),
    )
    session = Session.of(cluster(node("n1"), pod("there").cpu("1").on("n1"), known))
    assert row(run(session, quota(3) + bare("p")), "Pod default/p").denied == 1  # as its status says
    assert row(run(session, quota(2) + bare("p")), "Pod default/p").placed == 1  # as it will be counted
    assert row(run(session, quota(1) + bare("p")), "Pod default/p").denied == 1


def test_a_new_budget_guards_the_pods_that_run() -> None:
    ready = low("etl").owner("ReplicaSet", "etl").build()
    new = (
        "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b, namespace: batch}\n"
        "spec: {minAvailable: 1, selector: {matchLabels: {app: low}}}\n"
    )
    session = Session.of(cluster(node("n1"), ready, HIGH))
    report = run(session, new + bare("p", cpu="3", spec="priorityClassName: high,"))
    assert row(report, "Pod default/p").violations == ("batch/b",)


def test_a_budget_that_says_the_same_keeps_its_status() -> None:
    session = Session.of(cluster(node("n1"), low("etl"), HIGH, budget("b", 1, selector(app="low"), "batch")))
    same = (
        "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b, namespace: batch}\n"
        "spec: {selector: {matchLabels: {app: low}}}\n"
    )
    report = run(session, same + bare("p", cpu="3", spec="priorityClassName: high,"))
    assert row(report, "Pod default/p").violations == ()


def test_a_claim_of_the_manifests_is_there_for_the_pods() -> None:
    claim = (
        "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: default}\n"
        "spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 1Gi}}}\n"
        "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: late}\n"
        "provisioner: example.com/csi\nvolumeBindingMode: WaitForFirstConsumer\n"
    )
    user = bare("p", spec="volumes: [{name: d, persistentVolumeClaim: {claimName: data}}],")
    session = Session.of(cluster(node("n1")))
    assert "data" in decision(run(session, user), "default/p").message
    assert decision(run(session, user + claim), "default/p").outcome == "Placed"


def test_claims_of_a_stateful_set_are_made_with_its_pods() -> None:
    template = (
        "volumeClaimTemplates: [{metadata: {name: data}, spec:"
        " {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 1Gi}}}}]"
    )
    text = workload("StatefulSet", "db", 2).replace("spec: {", f"spec: {{{template}, ", 1)
    late = (
        "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: late}\n"
        "provisioner: example.com/csi\nvolumeBindingMode: WaitForFirstConsumer\n"
    )
    report = run(Session.of(cluster(node("n1"))), text + late)
    assert [(each.pod, each.outcome) for each in report.decisions] == [
        ("default/db-0", "Placed"),
        ("default/db-1", "Placed"),
    ]


def test_a_claim_that_a_quota_refuses_keeps_its_pod_from_being_made() -> None:
    template = "volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: 1Gi}}}}]"
    text = workload("StatefulSet", "db", 2).replace("spec: {", f"spec: {{{template}, ", 1)
    quota = (
        "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: default}\n"
        "spec: {hard: {persistentvolumeclaims: '0'}}\n"
    )
    report = run(Session.of(cluster(node("n1"))), quota + text)
    db = row(report, "StatefulSet default/db")
    assert db.message == "none of 2 pods fit, db-0 is refused, 1 waits for it"
    assert 'persistentvolumeclaims "data-db-0" is forbidden' in report.decisions[0].message


def test_claims_from_templates_are_made_for_pods() -> None:
    devices = (
        "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu}\nspec: {}\n"
        "---\napiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\n"
        "spec: {driver: d.example.com, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1},"
        " devices: [{name: gpu-0}]}\n"
        "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\n"
        "metadata: {name: one-gpu, namespace: default}\n"
        "spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}\n"
    )
    wants = "resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}],"
    report = run(Session.of(cluster(node("n1"))), devices + workload("Deployment", "ml", 2, spec=wants))
    assert row(report, "Deployment default/ml").message == "1 of 2 pods fits, 1 stays pending"


def test_ephemeral_volumes_get_their_claims() -> None:
    late = (
        "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: late}\n"
        "provisioner: example.com/csi\nvolumeBindingMode: WaitForFirstConsumer\n"
    )
    volume = (
        "volumes: [{name: tmp, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce],"
        " storageClassName: late, resources: {requests: {storage: 1Gi}}}}}}],"
    )
    report = run(Session.of(cluster(node("n1"))), late + bare("p", spec=volume))
    assert decision(report, "default/p").outcome == "Placed"


def test_a_new_node_takes_pods() -> None:
    new = (
        "---\napiVersion: v1\nkind: Node\nmetadata: {name: n2}\n"
        "status: {allocatable: {cpu: '8', memory: 8Gi, pods: '10'}}\n"
    )
    report = run(Session.of(cluster(node("n1"))), new + bare("p", cpu="6"))
    assert decision(report, "default/p").node == "n2"


def test_default_spreading_knows_the_new_replica_set() -> None:
    zones = [node(f"n{index}").zone(f"z{index % 2}") for index in range(4)]
    service = (
        "---\napiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: default}\nspec: {selector: {app: web}}\n"
    )
    report = run(Session.of(cluster(*zones)), workload("Deployment", "web", 4, cpu="100m") + service)
    assert row(report, "Deployment default/web").nodes == {"n0": 1, "n1": 1, "n2": 1, "n3": 1}


# --- an update is not an addition ------------------------------------------------------------------------


def running(count: int) -> Session:
    """A cluster in which that Deployment has run for long, with so many pods."""
    text = workload("Deployment", "web", count)
    before = run(Session.of(cluster(node("n1"), node("n2"))), text)
    made = read_manifest_set(["-"], stdin=io.BytesIO(text.encode()), default_namespace="default").manifests[0].object
    pods = [
        pod(each.pod.partition("/")[2]).labels(app="web").owner("ReplicaSet", str(each.owner).rpartition("/")[2])
        .cpu("1").image("x:1").on(str(each.node))
        for each in before.decisions
    ]  # fmt: skip
    return Session.of(cluster(node("n1"), node("n2"), made, *pods))


def test_what_runs_already_counts_nothing() -> None:
    report = run(running(3), workload("Deployment", "web", 3))
    web = row(report, "Deployment default/web")
    assert (web.update, web.replicas, web.removed, web.message) == ("unchanged", 0, 0, "unchanged")
    assert report.decisions == ()


def test_more_replicas_count_the_difference() -> None:
    web = row(run(running(3), workload("Deployment", "web", 5)), "Deployment default/web")
    assert (web.update, web.replicas, web.placed, web.removed) == ("scaled", 2, 2, 0)


def test_fewer_replicas_make_room() -> None:
    report = run(running(7), workload("Deployment", "web", 3) + bare("p", cpu="3"))
    web = row(report, "Deployment default/web")
    assert (web.removed, web.message) == (4, "4 removed")
    assert decision(report, "default/p").outcome == "Placed"


def test_another_template_replaces_the_pods() -> None:
    text = workload("Deployment", "web", 4, cpu="2")
    web = row(run(running(4), text), "Deployment default/web")
    assert (web.update, web.removed, web.placed) == ("changed", 4, 4)
    assert web.message == "4 removed; all 4 pods fit on 2 nodes"


def test_with_surge_the_old_pods_are_still_there() -> None:
    text = workload("Deployment", "web", 4, cpu="2")
    web = row(run(running(4), text, rollout="surge"), "Deployment default/web")
    assert (web.update, web.removed, web.placed) == ("changed", 1, 2)


def test_a_job_whose_name_is_yet_to_be_made_makes_its_pods() -> None:
    text = workload("Job", "etl", spec="restartPolicy: Never,").replace("{name: etl,", "{generateName: etl-,")
    report = run(Session.of(cluster(node("n1"))), text)
    assert [(row.name, row.placed) for row in report.workloads] == [("Job default/etl-", 1)]
    assert re.fullmatch(r"default/etl-[a-z0-9]{5}-[a-z0-9]{5}", report.decisions[0].pod)


@pytest.mark.parametrize("beside", ["", workload("Deployment", "web", 4, cpu="2")], ids=["at once", "with a rollout"])
def test_pods_with_one_generate_name_have_names_of_their_own(beside: str) -> None:
    text = bare("p").replace("{name: p,", "{generateName: p-,")
    report = run(running(4), text + text + beside)
    rows = [(row.name, row.placed) for row in report.workloads if row.name.startswith("Pod")]
    assert rows == [("Pod default/p-", 1)] * 2
    named = [each.pod for each in report.decisions if each.pod.startswith("default/p-")]
    assert len({name for name in named if re.fullmatch(r"default/p-[a-z0-9]{5}", name)}) == 2


@pytest.mark.parametrize(
    ("spec", "message"),
    [("", ""), ("priorityClassName: nope,", 'pods "p" is forbidden: no PriorityClass with name nope was found')],
)
def test_beside_a_name_a_generate_name_means_nothing(spec: str, message: str) -> None:
    text = bare("p", spec=spec).replace("{name: p,", "{name: p, generateName: other-,")
    found = decision(run(Session.of(cluster(node("n1"))), text), "default/p")
    assert found.message == message


def test_a_workload_that_the_api_server_refuses_is_reported_once() -> None:
    report = run(
        Session.of(cluster(node("n1"))), workload("Deployment", "web", 5).replace("image: 'x:1', ", "") + bare("p")
    )
    web = row(report, "Deployment default/web")
    assert (web.denied, web.message) == (1, "is refused")
    assert decision(report, "default/web").message == (
        'Deployment.apps "web" is invalid: spec.template.spec.containers[0].image: Required value'
    )
    assert decision(report, "default/p").outcome == "Placed"


@pytest.mark.parametrize(("labels", "shown"), [("labels: {}", "{}"), ("labels: null", "null"), ("", "null")])
def test_labels_that_are_given_but_empty_are_not_missing(labels: str, shown: str) -> None:
    report = run(Session.of(cluster(node("n1"))), workload("Deployment", "web").replace("labels: {app: web}", labels))
    assert decision(report, "default/web").message == (
        f'Deployment.apps "web" is invalid: spec.template.metadata.labels: Invalid value: {shown}:'
        " `selector` does not match template `labels`"
    )


def test_a_pod_management_that_there_is_not_is_refused() -> None:
    text = workload("StatefulSet", "db").replace("spec: {", "spec: {podManagementPolicy: Random, ", 1)
    assert decision(run(Session.of(cluster(node("n1"))), text), "default/db").message == (
        'StatefulSet.apps "db" is invalid: spec.podManagementPolicy: Invalid value: "Random":'
        " must be 'OrderedReady' or 'Parallel'"
    )


# --- custom resources ------------------------------------------------------------------------------------

ROLLOUT = workload("Rollout", "web", 2).replace("apps/v1", "example.com/v1")


def test_a_custom_resource_is_judged_by_the_path_of_its_template() -> None:
    report = run(Session.of(cluster(node("n1"))), ROLLOUT, template_paths={"Rollout": [".spec.template"]})
    assert row(report, "Rollout default/web").message == "all 2 pods fit on n1"
    assert report.caveats == ()


def test_a_custom_resource_whose_path_is_not_given_is_a_caveat() -> None:
    report = run(Session.of(cluster(node("n1"))), ROLLOUT + bare("p"))
    assert [row.name for row in report.workloads] == ["Pod default/p"]
    assert report.caveats == (
        "Rollout default/web holds a pod template that was not judged: give --pod-template-path Rollout=.spec.template",
    )


def test_an_autoscaler_is_a_caveat() -> None:
    scaler = (
        "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web, namespace: default}\n"
        "spec: {minReplicas: 3, maxReplicas: 9, scaleTargetRef: {kind: Deployment, name: web, apiVersion: apps/v1}}\n"
    )
    report = run(Session.of(cluster(node("n1"))), workload("Deployment", "web") + scaler, strict=True)
    assert row(report, "Deployment default/web").replicas == 3
    assert report.caveats == (
        "HorizontalPodAutoscaler default/web (3 to 9 replicas): what its metrics ask for is not modelled,"
        " Deployment default/web counts with 3 replicas, the least that it allows",
    )
    assert report.policy is not None
    assert [(found.rule, found.level, found.workload) for found in report.policy.findings] == [
        ("caveats/autoscaler", "fail", "Deployment default/web")
    ]


def test_a_path_that_leads_nowhere_is_a_problem_of_that_manifest() -> None:
    report = run(Session.of(cluster(node("n1"))), bare("p") + ROLLOUT, template_paths={"Rollout": [".spec.pod"]})
    assert [row.name for row in report.workloads] == ["Pod default/p"]
    ((problem),) = report.problems
    assert (problem.message, problem.source and problem.source.object) == (".spec has no 'pod'", "Rollout default/web")


def test_running_pods_of_a_custom_resource_are_replaced_and_that_is_said() -> None:
    old = pod("web-x").cpu("3").on("n1").owner("Rollout", "web", "example.com/v1")
    report = run(Session.of(cluster(node("n1"), old)), ROLLOUT, template_paths={"Rollout": [".spec.template"]})
    web = row(report, "Rollout default/web")
    assert (web.removed, web.placed) == (1, 2)
    assert report.caveats == ("Rollout default/web: its controller is not known, so all its pods count as replaced",)


@pytest.mark.parametrize(("mine", "replicas"), [(True, 3), (False, 1)])
@pytest.mark.parametrize("rollout", ["final", "surge"])
def test_pods_of_a_custom_resource_may_stand_below_its_replica_sets(
    rollout: Literal["final", "surge"], mine: bool, replicas: int
) -> None:
    """As those of Argo Rollouts: a manifest without `replicas` keeps as many, and they go with their ReplicaSets."""
    owner = OwnerReference(
        kind="Rollout", name="web" if mine else "other", api_version="example.com/v1", uid="u", controller=True
    )
    meta = ReplicaSetMeta(name="web-1", namespace="default", owner_references=(owner,))
    labels = {"app": "web"}
    template = PodTemplateSpec(metadata=PodMeta(labels=labels), spec=pod().cpu("1").build().spec)
    old_set = ReplicaSet(metadata=meta, spec=ReplicaSetSpec(replicas=3, selector=selector(**labels), template=template))
    old = [
        pod(f"web-1-{name}").labels(labels).cpu("1").on("n1").owner("ReplicaSet", "web-1").status(phase="Running")
        for name in "abc"
    ]
    report = run(
        Session.of(cluster(node("n1"), old_set, *old)),
        ROLLOUT.replace("replicas: 2,", ""),
        template_paths={"Rollout": [".spec.template"]},
        rollout=rollout,
    )
    web = row(report, "Rollout default/web")
    assert (web.replicas, web.removed, web.placed) == (replicas, 3 if mine else 0, replicas)


def test_pods_of_a_custom_resource_may_stand_below_a_stateful_set() -> None:
    owner = OwnerReference(kind="Rollout", name="web", api_version="example.com/v1", uid="u", controller=True)
    template = PodTemplateSpec(metadata=PodMeta(labels={"app": "web"}), spec=pod().cpu("1").build().spec)
    spec = StatefulSetSpec(replicas=1, selector=selector(app="web"), template=template)
    below = StatefulSet(metadata=ObjectMeta(name="web-db", namespace="default", owner_references=(owner,)), spec=spec)
    old = pod("web-db-0").labels({"app": "web"}).cpu("1").on("n1").owner("StatefulSet", "web-db")
    old = old.status(phase="Running")
    report = run(Session.of(cluster(node("n1"), below, old)), ROLLOUT, template_paths={"Rollout": [".spec.template"]})
    web = row(report, "Rollout default/web")
    assert (web.removed, web.placed) == (1, 2)


@pytest.mark.parametrize(
    ("expression", "stored", "said"),
    [
        ("device.driver == 'x'", "", False),
        ("device.attributes['x'].all(a, true)", "", True),
        ("cel.bind(x, device.attributes['x'], x.small)", "device.driver == 'x'", True),
        ("device.attributes['x'].all(a, true)", "device.attributes['x'].all(a, true)", False),
    ],
)
def test_the_estimated_cost_of_a_new_selector_is_not_judged(expression: str, stored: str, said: bool) -> None:
    selectors = (DeviceSelector(cel=CELDeviceSelector(expression=stored)),)
    known = DeviceClass(metadata=ObjectMeta(name="known"), spec=DeviceClassSpec(selectors=selectors))
    chosen = f'selectors: [{{cel: {{expression: "{expression}"}}}}]'
    request = f"devices: {{requests: [{{name: a, firstAvailable: [{{name: b, deviceClassName: known, {chosen}}}]}}]}}"
    for kind, spec in (
        ("DeviceClass", chosen),
        ("ResourceClaim", request),
        ("ResourceClaimTemplate", f"spec: {{{request}}}"),
    ):
        text = f"---\napiVersion: resource.k8s.io/v1\nkind: {kind}\nmetadata: {{name: new}}\nspec: {{{spec}}}\n"
        found = run(Session.of(cluster(node("n1"), known)), bare("p") + text).caveat_details
        assert any(isinstance(each, DevicesNotModelled) for each in found) is said, kind


# --- judged by the policy --------------------------------------------------------------------------------


def test_the_annotation_on_the_object_suppresses() -> None:
    meta = "annotations: {kwhatif.dev/ignore: 'unschedulable: not before May'}"
    report = run(Session.of(cluster(node("n1"))), workload("Deployment", "web", 5, meta=meta))
    assert report.policy is not None
    assert [(found.rule, found.suppressed) for found in report.policy.findings] == [("unschedulable", "not before May")]
    assert report.policy.verdict == "pass"


def test_placement_is_judged_by_the_labels_of_nodes() -> None:
    rule = {"name": "gpu", "nodes": {"matchLabels": {"pool": "gpu"}}}
    book = build_rulebook({"apiVersion": "kwhatif.dev/v1", "kind": "Policy", "placement": [rule]}, "p.yaml")
    report = run(Session.of(cluster(node("n1").labels(pool="gpu"))), bare("p"), book=book)
    assert report.policy is not None
    assert [found.rule for found in report.policy.findings] == ["placement/gpu"]


@pytest.mark.parametrize(("strict", "verdict"), [(True, "fail"), (False, "pass")])
def test_missing_information_fails_a_strict_gate_only(strict: bool, verdict: str) -> None:
    session = Session.of(cluster(node("n1")), caveats=[NoImages(), OtherVersion(version="1.35")])
    report = run(session, bare("p"), strict=strict)
    assert report.policy is not None
    assert report.policy.verdict == verdict
    assert [caveat.code for caveat in report.caveat_details] == ["no-images", "other-version"]


def test_a_finding_points_into_the_file() -> None:
    report = run(Session.of(cluster()), bare("a") + bare("b"))
    assert report.policy is not None
    places = [(found.source.file, found.source.line) for found in report.policy.findings if found.source]
    assert places == [("standard input", 2), ("standard input", 7)]


# --- sentences -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (bare("p"), "fits on n1"),
        (bare("p", cpu="9"), "stays pending"),
        (bare("p", spec="schedulingGates: [{name: g}],"), "is not queued"),
        (bare("p", spec="schedulerName: other,"), "is not judged"),
        (bare("p", spec="priorityClassName: none,"), "is refused"),
        (workload("Deployment", "p", 0), "makes no pods"),
        (workload("Deployment", "p", 2), "all 2 pods fit on n1"),
        (workload("Deployment", "p", 2, cpu="9"), "all 2 pods stay pending"),
    ],
)
def test_sentences(text: str, message: str) -> None:
    assert run(Session.of(cluster(node("n1"))), text).workloads[0].message == message
