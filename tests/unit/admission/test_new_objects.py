"""New objects: workloads that the API server would not take, and when a device was tainted."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kwhatif.admission.new_objects import check_workload, with_times
from kwhatif.admission.outcome import Denied, Forbidden, ObjectNotFound
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.resource import DeviceTaint, DeviceTaintRule, ResourceSlice
from kwhatif.kube.model.workload import Namespace, NamespaceMeta, Workload
from tests.builders import pod
from tests.devices import device, slice_, taint_rule

APP = {"matchLabels": {"app": "web"}}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
OF_JOB = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}}
CLAIM: dict[str, Any] = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}


def workload(kind: str, **spec: Any) -> Any:
    template = OF_JOB if kind == "Job" else TEMPLATE
    chosen = {} if kind == "Job" else {"selector": APP}
    data = {
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"template": template, **chosen, **spec},
    }
    return msgspec.convert(data, Workload)


SHOP = Namespace(metadata=NamespaceMeta(name="shop"))


def said(new: Any, *there: Any) -> str | None:
    denied = check_workload(new, Cluster([SHOP, *there]))
    return denied.message if denied else None


OTHER = {"matchLabels": {"app": "other"}}
OTHER_TEMPLATE = {**TEMPLATE, "metadata": {"labels": {"app": "other"}}}
MOVED = 'spec.selector: Invalid value: {"matchLabels":{"app":"other"}}: field is immutable'
FORBIDDEN = (
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template',"
    " 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)

CHANGES: dict[str, tuple[Any, Any, str | None]] = {
    "nothing": (workload("Deployment"), workload("Deployment"), None),
    "replicas and template": (workload("Deployment", replicas=3), workload("Deployment", replicas=9), None),
    "the selector of a Deployment": (
        workload("Deployment"),
        workload("Deployment", selector=OTHER, template=OTHER_TEMPLATE),
        f'Deployment.apps "web" is invalid: {MOVED}',
    ),
    "the selector of a DaemonSet": (
        workload("DaemonSet"),
        workload("DaemonSet", selector=OTHER, template=OTHER_TEMPLATE),
        f'DaemonSet.apps "web" is invalid: {MOVED}',
    ),
    "the selector of a ReplicaSet": (
        workload("ReplicaSet"),
        workload("ReplicaSet", selector=OTHER, template=OTHER_TEMPLATE),
        f'ReplicaSet.apps "web" is invalid: {MOVED}',
    ),
    "the partition of a StatefulSet": (
        workload("StatefulSet"),
        workload("StatefulSet", updateStrategy={"rollingUpdate": {"partition": 2}}),
        None,
    ),
    "the claims of a StatefulSet": (
        workload("StatefulSet"),
        workload("StatefulSet", volumeClaimTemplates=[CLAIM]),
        f'StatefulSet.apps "web" is invalid: {FORBIDDEN}',
    ),
    "the same claims in other words": (
        workload("StatefulSet", volumeClaimTemplates=[CLAIM]),
        workload(
            "StatefulSet",
            volumeClaimTemplates=[
                {**CLAIM, "spec": {"volumeMode": "Filesystem", "resources": {"requests": {"storage": "1024Mi"}}}}
            ],
        ),
        None,
    ),
    "how claims of a StatefulSet are used": (
        workload("StatefulSet", volumeClaimTemplates=[CLAIM]),
        workload(
            "StatefulSet", volumeClaimTemplates=[{**CLAIM, "spec": {**CLAIM["spec"], "accessModes": ["ReadWriteMany"]}}]
        ),
        f'StatefulSet.apps "web" is invalid: {FORBIDDEN}',
    ),
    "the service of a StatefulSet": (
        workload("StatefulSet", serviceName="web"),
        workload("StatefulSet", serviceName="db"),
        f'StatefulSet.apps "web" is invalid: {FORBIDDEN}',
    ),
    "the pod management of a StatefulSet": (
        workload("StatefulSet"),
        workload("StatefulSet", podManagementPolicy="Parallel"),
        f'StatefulSet.apps "web" is invalid: {FORBIDDEN}',
    ),
    "the same pod management": (
        workload("StatefulSet"),
        workload("StatefulSet", podManagementPolicy="OrderedReady"),
        None,
    ),
    "the parallelism of a Job": (workload("Job", parallelism=1), workload("Job", parallelism=5), None),
    "the completions of a Job": (
        workload("Job", completions=3),
        workload("Job", completions=5),
        'Job.batch "web" is invalid: spec.completions: Invalid value: 5: field is immutable',
    ),
    "the completions of an indexed Job": (
        workload("Job", completions=3, parallelism=3, completionMode="Indexed"),
        workload("Job", completions=5, parallelism=5, completionMode="Indexed"),
        None,
    ),
    "the completions of an indexed Job alone": (
        workload("Job", completions=3, parallelism=3, completionMode="Indexed"),
        workload("Job", completions=5, parallelism=3, completionMode="Indexed"),
        'Job.batch "web" is invalid: spec.completions: Invalid value: 5: can only be modified in tandem with'
        " spec.parallelism",
    ),
    "the mode of a Job": (
        workload("Job", completions=3),
        workload("Job", completions=3, completionMode="Indexed"),
        'Job.batch "web" is invalid: spec.completionMode: Invalid value: "Indexed": field is immutable',
    ),
    "something that no new one could have either": (
        workload("Deployment"),
        workload("Deployment", replicas=-1),
        'Deployment.apps "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    ),
}


@pytest.mark.parametrize(("known", "new", "expected"), CHANGES.values(), ids=CHANGES)
def test_changing(known: Any, new: Any, expected: str | None) -> None:
    assert said(new, known) == expected


IMAGELESS = {**TEMPLATE, "spec": {"containers": [{"name": "main"}]}}
MORE = {**TEMPLATE, "spec": {"containers": [{"name": "main"}, {"name": "more"}]}}
MISSING = 'Deployment.apps "web" is invalid: spec.template.spec.containers[{}].image: Required value'


@pytest.mark.parametrize(
    ("known", "new", "expected"),
    [
        ((), IMAGELESS, MISSING.format(0)),
        ((TEMPLATE,), IMAGELESS, MISSING.format(0)),
        ((IMAGELESS,), IMAGELESS, None),
        ((IMAGELESS,), TEMPLATE, None),
        ((IMAGELESS,), MORE, MISSING.format(1)),
    ],
)
def test_an_image_is_only_missing_where_no_snapshot_has_left_it_out(
    known: tuple[Any, ...], new: Any, expected: str | None
) -> None:
    there = [workload("Deployment", template=template) for template in known]
    assert said(workload("Deployment", template=new), *there) == expected


def test_the_job_of_a_cron_job_may_have_had_its_images_left_out() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "web", "uid": "u", "controller": True}
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main"}]}}
    meta = {"name": "web-1", "namespace": "shop"}
    data = {"kind": "Job", "metadata": meta, "spec": {"template": template}}
    refused = 'Job.batch "web-1" is invalid: spec.template.spec.containers[0].image: Required value'
    assert said(msgspec.convert(data, Workload)) == refused
    data["metadata"] = {**meta, "ownerReferences": [owner]}
    assert said(msgspec.convert(data, Workload)) is None
    body = {"schedule": "0 1 * * *", "jobTemplate": {"spec": {"template": template}}}
    cron = {"kind": "CronJob", "metadata": {"name": "web", "namespace": "shop"}, "spec": body}
    known = msgspec.convert(cron, Workload)
    assert said(known, known) is None


def test_a_dump_that_has_no_selector_does_not_say_that_it_changed() -> None:
    known = workload("Deployment")
    assert said(workload("Deployment"), replace(known, spec=replace(known.spec, selector=None))) is None


@pytest.mark.parametrize(("kind", "resource"), [("Deployment", "deployments.apps"), ("Job", "jobs.batch")])
def test_a_namespace_that_is_not_there_or_about_to_go(kind: str, resource: str) -> None:
    new = workload(kind)
    elsewhere = Cluster([Namespace(metadata=NamespaceMeta(name="default"))])
    assert check_workload(new, elsewhere) == Denied('namespaces "shop" not found', ObjectNotFound("Namespace", "shop"))
    going = Namespace(metadata=NamespaceMeta(name="shop", deletion_timestamp="2026-01-01T00:00:00Z"))
    assert check_workload(new, Cluster([going])) == Denied(
        f'{resource} "web" is forbidden: unable to create new content in namespace shop because it is being terminated',
        Forbidden("NamespaceLifecycle"),
    )
    assert check_workload(new, Cluster([going, new])) is None


# --- When a device was tainted, as the API server writes it -------------------------------------------


EARLIER, NOW, BETWEEN = "2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z", "2026-01-01T00:05:00Z"


def rule(effect: str, since: str | None) -> DeviceTaintRule:
    return taint_rule("r", {}, effect=effect, since=since)


#: The rule, what it was before, and since when it taints.
CASES: dict[str, tuple[DeviceTaintRule, DeviceTaintRule | None, str]] = {
    "new": (rule("NoExecute", None), None, NOW),
    "new, with a time": (rule("NoExecute", EARLIER), None, EARLIER),
    "another effect": (rule("NoExecute", EARLIER), rule("NoSchedule", EARLIER), NOW),
    "another effect, and no time": (rule("NoExecute", None), rule("NoSchedule", EARLIER), NOW),
    "another effect, and another time": (
        rule("NoExecute", BETWEEN),
        rule("NoSchedule", EARLIER),
        BETWEEN,
    ),
    "the same effect": (rule("NoExecute", EARLIER), rule("NoExecute", EARLIER), EARLIER),
    "the same effect, and no time": (rule("NoExecute", None), rule("NoExecute", EARLIER), EARLIER),
    "another time": (rule("NoExecute", BETWEEN), rule("NoExecute", EARLIER), BETWEEN),
}


@pytest.mark.parametrize(("new", "old", "since"), CASES.values(), ids=CASES.keys())
def test_since_when_a_rule_taints(new: DeviceTaintRule, old: DeviceTaintRule | None, since: str) -> None:
    found = with_times(new, old, NOW)
    assert isinstance(found, DeviceTaintRule)
    assert found.spec.taint.time_added == since


def test_taints_of_a_slice() -> None:
    taints = (DeviceTaint(key="a", time_added=EARLIER), DeviceTaint(key="b"))
    found = with_times(slice_("n1", replace(device("x"), taints=taints), device("y")), None, NOW)
    assert isinstance(found, ResourceSlice)
    assert [[taint.time_added for taint in each.taints] for each in found.spec.devices] == [[EARLIER, NOW], []]


def test_what_says_everything_stays_as_it_is() -> None:
    for obj in (pod().build(), rule("None", EARLIER), slice_("n1", device("x"))):
        assert with_times(obj, None, NOW) is obj
