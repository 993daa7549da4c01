"""The running account of quotas: what it begins with, and what comes back."""

from typing import Any

from msgspec.structs import replace

from kwhatif.admission.outcome import Denied
from kwhatif.admission.quota import QuotaAdmission
from kwhatif.controllers.contract import Create
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import AnnotatedMeta, ObjectMeta
from kwhatif.kube.model.pod import ContainerStatus
from kwhatif.kube.model.pod_spec import ResourceRequirements
from kwhatif.kube.model.policy import ResourceQuota, ResourceQuotaSpec, ResourceQuotaStatus
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.simulation.api_server import ApiServer
from kwhatif.state.state import State
from tests.admissions import charge
from tests.builders import PodBuilder, pod


def quota(hard: dict[str, Any], used: dict[str, Any] | None = None, name: str = "quota") -> ResourceQuota:
    status = None if used is None else ResourceQuotaStatus(hard=hard, used=used)
    meta = ObjectMeta(name=name, namespace="default")
    return ResourceQuota(metadata=meta, spec=ResourceQuotaSpec(hard=hard), status=status)


class Account:
    """The quotas of a cluster, stored as admission returns them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def charge(self, obj: Any) -> Denied | None:
        return charge(obj, self._cluster)

    def release(self, obj: Any) -> None:
        self._cluster.add_all(
            ResourceQuota, {key_of(each): each for each in QuotaAdmission().release(obj, self._cluster)}
        )


def usage(*objects: Any) -> Account:
    return Account(Cluster(each.build() if isinstance(each, PodBuilder) else each for each in objects))


def said(refusal: Denied | None) -> str:
    return refusal.message.partition(" is forbidden: ")[2] if refusal else ""


def test_the_status_counts_not_what_is_there() -> None:
    account = usage(quota({"pods": "3"}, {"pods": "2"}), pod("a"), pod("b"), pod("c"))
    assert account.charge(pod("x").build()) is None
    assert said(account.charge(pod("y").build())) == (
        "exceeded quota: quota, requested: pods=1, used: pods=3, limited: pods=3"
    )


def test_an_empty_status_is_none() -> None:
    empty = ResourceQuota(
        metadata=ObjectMeta(name="quota", namespace="default"),
        spec=ResourceQuotaSpec(hard={"pods": "1"}),
        status=ResourceQuotaStatus(),
    )
    assert "used: pods=1" in said(usage(empty, pod("a")).charge(pod("x").build()))


def test_a_status_of_what_the_quota_once_said() -> None:
    changed = ResourceQuota(
        metadata=ObjectMeta(name="quota", namespace="default"),
        spec=ResourceQuotaSpec(hard={"pods": "2"}),
        status=ResourceQuotaStatus(hard={"pods": "1"}, used={"pods": "1"}),
    )
    account = usage(changed, pod("a"))
    assert account.charge(pod("x").build()) is None
    assert "used: pods=2, limited: pods=2" in said(account.charge(pod("y").build()))


def test_a_status_that_lacks_what_counts() -> None:
    account = usage(quota({"pods": "3", "cpu": "1"}, {"pods": "1"}))
    assert said(account.charge(pod("x").cpu("1").build())) == "status unknown for quota: quota, resources: cpu,pods"


def test_other_namespaces_are_not_counted() -> None:
    account = usage(quota({"pods": "1"}), pod("a", "other"))
    assert account.charge(pod("x", "other").build()) is None
    assert account.charge(pod("y").build()) is None
    assert said(account.charge(pod("z").build())) != ""


def test_a_refusal_takes_nothing_from_any_quota() -> None:
    account = usage(quota({"pods": "5"}, name="a"), quota({"cpu": "1"}, name="b"))
    assert "exceeded quota: b" in said(account.charge(pod("x").cpu("2").build()))
    for name in "12345":
        assert account.charge(pod(name).cpu("0").build()) is None


def test_what_is_removed_gives_back() -> None:
    running = pod("a").cpu("800m").build()
    account = usage(quota({"cpu": "1"}), running)
    assert "used: cpu=800m" in said(account.charge(pod("x").cpu("800m").build()))
    account.release(running)
    assert account.charge(pod("x").cpu("800m").build()) is None
    account.release(running)
    account.release(running)
    assert account.charge(pod("y").cpu("1").build()) is None


def test_nothing_is_released_where_there_is_no_quota() -> None:
    account = usage()
    account.release(pod("a").build())
    assert account.charge(pod("a").build()) is None


def test_a_running_pod_is_charged_what_a_resize_has_granted() -> None:
    granted = ContainerStatus(name="main", resources=ResourceRequirements(requests={"cpu": "2"}))
    account = usage(quota({"cpu": "2500m"}), pod("a").cpu("500m").status(container_statuses=(granted,)))
    assert "used: cpu=2, limited: cpu=2500m" in said(account.charge(pod("x").cpu("1").build()))


def test_negative_usage() -> None:
    account = usage(quota({"pods": "1"}))
    assert said(account.charge(pod("x").cpu("-1").build())) == (
        "quota usage is negative for resource(s): cpu,requests.cpu"
    )


def test_claims_and_pods_are_counted_apart() -> None:
    account = usage(quota({"pods": "1", "persistentvolumeclaims": "1"}))
    claim = PersistentVolumeClaim(metadata=AnnotatedMeta(name="c", namespace="default"))
    assert account.charge(pod("x").build()) is None
    assert account.charge(claim) is None
    refused = account.charge(claim)
    assert refused is not None
    assert refused.message.startswith('persistentvolumeclaims "c" is forbidden: exceeded quota: quota')


def test_a_claim_with_part_of_a_byte_counts_as_a_whole_one() -> None:
    claim = PersistentVolumeClaim(metadata=AnnotatedMeta(name="c", namespace="default"))
    asked = replace(claim.spec, resources=replace(claim.spec.resources, requests={"storage": "1500m"}))
    account = usage(quota({"requests.storage": "1"}))
    assert "requested: requests.storage=2" in said(account.charge(replace(claim, spec=asked)))


def test_what_is_used_is_part_of_the_state() -> None:
    state = State(Cluster([quota({"pods": "2"}), pod("a").build()]))
    api_server = ApiServer.standing(state)
    ahead = api_server.fork()
    b, c = (Create(pod(name).image("app:1").spec(priority=None).build()) for name in "bc")
    assert ahead.write(b, "user", None) is None
    assert "used: pods=2" in said(ahead.write(c, "user", None))
    used = [each.state.cluster.all(ResourceQuota)["default/quota"].status for each in (ahead, api_server)]
    assert used == [ResourceQuotaStatus(hard={"pods": "2"}, used={"pods": number}) for number in ("2", "1")]
