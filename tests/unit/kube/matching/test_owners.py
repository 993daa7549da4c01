"""Which workload a pod belongs to, also where the input lacks what is between them."""

from __future__ import annotations

import pytest

from kwhatif.kube.matching.owners import deployment_by_hash, root_of
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.meta import AnnotatedMeta, OwnerReference
from kwhatif.kube.model.pod import Pod, PodMeta
from kwhatif.kube.model.workload import CronJob, Job, ReplicaSet, ReplicaSetMeta

HASH = {"pod-template-hash": "5d8"}


def owned(owner: str) -> tuple[OwnerReference, ...]:
    kind, _, name = owner.partition(" ")
    return (OwnerReference(kind=kind, name=name, uid="", api_version="v1", controller=True),) if owner else ()


def pod(owner: str, labels: dict[str, str] | None = None) -> Pod:
    return Pod(metadata=PodMeta(name="p", namespace="shop", labels=labels or {}, owner_references=owned(owner)))


def replica_set(owner: str = "") -> ReplicaSet:
    return ReplicaSet(metadata=ReplicaSetMeta(name="web-5d8", namespace="shop", owner_references=owned(owner)))


def job(owner: str = "") -> Job:
    return Job(metadata=AnnotatedMeta(name="night-1", namespace="shop", owner_references=owned(owner)))


CRON = CronJob(metadata=AnnotatedMeta(name="night", namespace="shop"))


@pytest.mark.parametrize(
    ("owner", "labels", "there", "root", "through_jobs"),
    [
        ("", {}, [], "", ""),
        ("ReplicaSet web-5d8", {}, [replica_set("Deployment web")], "Deployment shop/web", None),
        ("ReplicaSet web-5d8", HASH, [replica_set("Rollout web")], "Rollout shop/web", None),
        ("ReplicaSet web-5d8", HASH, [replica_set()], "ReplicaSet shop/web-5d8", None),
        ("ReplicaSet web-5d8", HASH, [], "Deployment shop/web", None),
        ("ReplicaSet web-5d8", {}, [], "ReplicaSet shop/web-5d8", None),
        ("ReplicaSet other", HASH, [], "ReplicaSet shop/other", None),
        ("StatefulSet db", {}, [], "StatefulSet shop/db", None),
        ("Job night-1", {}, [job("CronJob night")], "Job shop/night-1", "CronJob shop/night"),
        ("Job night-1", {}, [job()], "Job shop/night-1", None),
        ("Job night-1", {}, [CRON], "Job shop/night-1", "CronJob shop/night"),
        ("Job night-1", {}, [], "Job shop/night-1", None),
    ],
)
def test_the_workload_is_found_through_what_is_there_and_by_name_where_it_is_not(
    owner: str, labels: dict[str, str], there: list[KubernetesObject], root: str, through_jobs: str | None
) -> None:
    cluster = Cluster(there)
    assert root_of(pod(owner, labels), cluster) == root
    assert root_of(pod(owner, labels), cluster, through_jobs=True) == (root if through_jobs is None else through_jobs)


def test_a_replica_set_that_is_gone_still_has_its_deployment() -> None:
    gone = {"shop/web-5d8": replica_set("Deployment web")}
    assert root_of(pod("ReplicaSet web-5d8"), Cluster(), gone) == "Deployment shop/web"


def test_the_deployment_is_known_by_the_hash_alone() -> None:
    assert deployment_by_hash(pod("ReplicaSet web-5d8", HASH)) == "Deployment shop/web"
    assert deployment_by_hash(pod("ReplicaSet web-5d8")) == ""
