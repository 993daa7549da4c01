"""Admission beyond the recordings: namespaces, what is said of changes, replicas."""

import pytest
from msgspec.structs import replace

from kwhatif.admission.new_pod import ReplicaAdmission, admit_pod, complete_pod
from kwhatif.admission.outcome import (
    Admitted,
    ChangeRow,
    Denied,
    Forbidden,
    ObjectNotFound,
    QuotaExceeded,
    changes_between,
)
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import ResourceRequirements
from kwhatif.kube.model.policy import (
    LimitRange,
    LimitRangeItem,
    LimitRangeSpec,
    PriorityClass,
    ResourceQuota,
    ResourceQuotaSpec,
    RuntimeClass,
    RuntimeClassOverhead,
    RuntimeClassScheduling,
)
from kwhatif.kube.model.workload import Namespace, NamespaceMeta
from tests.admissions import charge
from tests.builders import PodBuilder, affinity_term, namespace, pod, selector


def raw(name: str = "p", inside: str = "shop") -> PodBuilder:
    return pod(name, inside).image("app:1").spec(scheduler_name="", priority=None, preemption_policy="")


def admit(made: PodBuilder, *objects: object) -> Admitted[Pod] | Denied:
    cluster = Cluster([namespace("shop"), *objects])  # type: ignore[list-item]
    return charged(admit_pod(made.build(), cluster), cluster)


def charged(admitted: Admitted[Pod] | Denied, cluster: Cluster) -> Admitted[Pod] | Denied:
    return admitted if isinstance(admitted, Denied) else charge(admitted.object, cluster) or admitted


def quota(**hard: str | float) -> ResourceQuota:
    return ResourceQuota(metadata=ObjectMeta(name="quota", namespace="shop"), spec=ResourceQuotaSpec(hard=hard))


NO_NAMESPACE = Denied('namespaces "shopp" not found', ObjectNotFound("Namespace", "shopp"))

# --- namespaces --------------------------------------------------------------------------------------


def test_a_namespace_that_does_not_exist() -> None:
    assert admit(raw(inside="shopp")) == NO_NAMESPACE


def test_a_namespace_comes_before_all_else() -> None:
    assert admit(raw(inside="shopp").spec(priority_class_name="nope")) == NO_NAMESPACE


@pytest.mark.parametrize("inside", ["default", "kube-system", ""])
def test_namespaces_that_always_exist(inside: str) -> None:
    assert isinstance(admit(raw(inside=inside)), Admitted)


def test_without_any_namespace_nothing_is_known() -> None:
    cluster = Cluster()
    assert isinstance(admit_pod(raw(inside="any").build(), cluster), Admitted)


def test_a_namespace_that_is_going() -> None:
    going = Namespace(metadata=NamespaceMeta(name="shop", deletion_timestamp="2026-01-01T00:00:00Z"))
    assert admit(raw(), going) == Denied(
        'pods "p" is forbidden: unable to create new content in namespace shop because it is being terminated',
        Forbidden("NamespaceLifecycle"),
    )


# --- changes -----------------------------------------------------------------------------------------


def test_every_change_is_reported_with_who_did_it() -> None:
    limits = LimitRange(
        metadata=ObjectMeta(name="limits", namespace="shop"),
        spec=LimitRangeSpec(limits=(LimitRangeItem(type="Container", default_request={"cpu": "250m"}),)),
    )
    kata = RuntimeClass(
        metadata=ObjectMeta(name="kata"),
        overhead=RuntimeClassOverhead(pod_fixed={"cpu": "1"}),
        scheduling=RuntimeClassScheduling(node_selector={"runtime": "kata"}),
    )
    usual = PriorityClass(metadata=ObjectMeta(name="usual"), value=5, global_default=True)
    keyed = affinity_term("zone", selector(app="x"), match_label_keys=("rev",))
    made = raw().labels(rev="7").spec(runtime_class_name="kata").pod_affinity(keyed)
    admitted = admit(made, limits, kata, usual)
    assert isinstance(admitted, Admitted)
    term = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
    not_ready = (
        '{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}'
    )
    unreachable = not_ready.replace("not-ready", "unreachable")
    assert admitted.changes == (
        ChangeRow("Defaults", "spec.schedulerName", None, "default-scheduler"),
        ChangeRow("Defaults", "spec.restartPolicy", None, "Always"),
        ChangeRow("LimitRanger", "spec.containers[0].resources.requests[cpu]", None, "250m"),
        ChangeRow("Priority", "spec.priority", None, "5"),
        ChangeRow("Priority", "spec.priorityClassName", None, "usual"),
        ChangeRow("Priority", "spec.preemptionPolicy", None, "PreemptLowerPriority"),
        ChangeRow("DefaultTolerationSeconds", "spec.tolerations[0]", None, not_ready),
        ChangeRow("DefaultTolerationSeconds", "spec.tolerations[1]", None, unreachable),
        ChangeRow("RuntimeClass", "spec.nodeSelector[runtime]", None, "kata"),
        ChangeRow("RuntimeClass", "spec.overhead[cpu]", None, "1"),
        ChangeRow(
            "MatchLabelKeys",
            f"{term}.labelSelector.matchExpressions[0]",
            None,
            '{"key":"rev","operator":"In","values":["7"]}',
        ),
    )


def test_a_value_that_is_replaced_and_one_that_goes() -> None:
    before = ResourceRequirements(requests={"cpu": "1", "memory": "1"})
    after = ResourceRequirements(requests={"cpu": "2"})
    assert list(changes_between("X", before, after)) == [
        ChangeRow("X", "requests[cpu]", "1", "2"),
        ChangeRow("X", "requests[memory]", "1", None),
    ]
    assert list(changes_between("X", before, before)) == []


def test_what_is_complete_stays_as_it_is() -> None:
    first = admit(raw())
    assert isinstance(first, Admitted)
    cluster = Cluster([namespace("shop")])
    again = admit_pod(first.object, cluster)
    assert again == Admitted(first.object)
    assert complete_pod(raw().build(), cluster) == first.object


# --- replicas ----------------------------------------------------------------------------------------


def results(made: PodBuilder, names: tuple[str, ...], *objects: object) -> list[Admitted[Pod] | Denied]:
    cluster = Cluster([namespace("shop"), *objects])  # type: ignore[list-item]
    pod, admission = made.build(), ReplicaAdmission()
    named = [replace(pod, metadata=replace(pod.metadata, name=name)) for name in names]
    return [charged(admission.admit(each, cluster), cluster) for each in named]


def test_replicas_share_all_but_their_names() -> None:
    first, second = results(raw("").meta(generate_name="web-"), ("web-a", "web-b"))
    assert isinstance(first, Admitted)
    assert isinstance(second, Admitted)
    assert [each.object.metadata.name for each in (first, second)] == ["web-a", "web-b"]
    assert first.object.spec is second.object.spec
    assert first.changes is second.changes


def test_replicas_use_up_a_quota_one_by_one() -> None:
    said = results(raw("").meta(generate_name="web-").cpu("700m"), ("web-a", "web-b", "web-c"), quota(cpu="1500m"))
    assert [isinstance(each, Admitted) for each in said] == [True, True, False]
    assert said[2] == Denied(
        'pods "web-c" is forbidden: exceeded quota: quota, requested: cpu=700m, used: cpu=1400m, limited: cpu=1500m',
        QuotaExceeded("quota", {"cpu": "700m"}, {"cpu": "1400m"}, {"cpu": "1500m"}),
    )


def test_replicas_that_a_plugin_refuses_have_no_name_yet() -> None:
    said = results(raw("").meta(generate_name="web-").spec(priority_class_name="x"), ("web-a", "web-b"))
    message = 'pods "web-" is forbidden: no PriorityClass with name x was found'
    assert said == [Denied(message, ObjectNotFound("PriorityClass", "x"))] * 2


def test_replicas_that_are_not_valid_are_named() -> None:
    said = results(raw("").meta(generate_name="web-").cpu("-1"), ("web-a", "web-b"))
    assert [each.message.split(" is ")[0] for each in said if isinstance(each, Denied)] == [
        'Pod "web-a"',
        'Pod "web-b"',
    ]


def test_pods_alike_are_admitted_as_if_each_were_alone() -> None:
    objects = (namespace("shop"), quota(pods="3"))
    cluster = Cluster(objects)
    admission = ReplicaAdmission()
    first = raw().build()
    for number in range(3):
        meta = replace(first.metadata, name=f"p-{number}", uid=f"u-{number}")
        alone = admit_pod(replace(first, metadata=meta), Cluster(objects))
        assert isinstance(alone, Admitted)
        assert charged(admission.admit(replace(first, metadata=meta), cluster), cluster) == alone
    last = replace(first, metadata=replace(first.metadata, name="p-3"))
    refused = charged(admission.admit(last, cluster), cluster)
    assert isinstance(refused, Denied)
    assert "exceeded quota" in refused.message


def test_pods_alike_are_judged_anew_by_other_rules() -> None:
    cluster, admission = Cluster((namespace("shop"),)), ReplicaAdmission()
    first = raw().build()
    assert isinstance(admission.admit(first, cluster), Admitted)
    going = replace(namespace("shop"), metadata=ObjectMeta(name="shop", deletion_timestamp="2026-01-01T00:00:00Z"))
    cluster.add(going)
    assert isinstance(admission.admit(first, cluster), Denied)
