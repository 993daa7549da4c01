"""What kwhatif makes of new pods and claims is what a real API server made of them, or refused in these words.

27 cases are recordings. The others were decided by the API server's own packages, without a server around them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.denied import Denied
from kwhatif.admission.new_claim import admit_claim
from kwhatif.admission.new_pod import admit_pod
from kwhatif.admission.quota.state import QuotaUsage
from kwhatif.model.amount import amounts
from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import ObjectMeta
from kwhatif.model.pod import Pod, PodSpec, ResourceRequirements
from kwhatif.model.policy import LimitRange, PriorityClass, ResourceQuota, RuntimeClass
from kwhatif.model.storage import PersistentVolumeClaim, PersistentVolumeClaimSpec, StorageClass
from kwhatif.model.workload import Namespace

FOLDER = Path(__file__).parents[3] / "fixtures" / "admission"
RECORDED = [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]
JUDGED = json.loads((FOLDER / "judged" / "cases.json").read_text())
CASES = [*RECORDED, *JUDGED]

Created = Pod | PersistentVolumeClaim
Setup = Created | LimitRange | PriorityClass | ResourceQuota | RuntimeClass | StorageClass
OF_CLUSTER = ("PriorityClass", "RuntimeClass", "StorageClass")


def read(raw: dict[str, Any], namespace: str, kind: Any) -> Any:
    inside = "" if raw["kind"] in OF_CLUSTER else namespace
    return msgspec.convert({**raw, "metadata": {**raw["metadata"], "namespace": inside}}, kind)


def cluster_of(case: dict[str, Any]) -> Cluster:
    name = case["namespace"]
    objects = [default_object(read(raw, name, Setup)) for raw in case["setup"]]
    return Cluster([Namespace(metadata=ObjectMeta(name=name)), *objects])


def plain(resources: ResourceRequirements) -> ResourceRequirements:
    """Quantities in one notation: the API server rewrites what it computes, and what it stores."""
    lists = (resources.requests, resources.limits)
    requests, limits = ({name: str(amount) for name, amount in amounts(each).items()} for each in lists)
    return replace(resources, requests=requests, limits=limits)


def comparable(spec: PodSpec) -> PodSpec:
    def of(containers: Any) -> Any:
        return tuple(replace(container, resources=plain(container.resources)) for container in containers)

    return replace(
        spec,
        containers=of(spec.containers),
        init_containers=of(spec.init_containers),
        resources=plain(spec.resources) if spec.resources else None,
        node_selector=spec.node_selector or None,
        overhead={name: str(amount) for name, amount in amounts(spec.overhead).items()} or None,
    )


@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    cluster = cluster_of(case)
    usage = QuotaUsage(cluster)
    for raw, expected in zip(case["pods"], case["results"], strict=True):
        created = read(raw, case["namespace"], Created)
        result = (admit_pod if isinstance(created, Pod) else admit_claim)(created, cluster, usage)
        if "message" in expected:
            assert result == Denied(expected["message"])
            continue
        assert not isinstance(result, Denied), result.message
        if isinstance(created, Pod):
            assert comparable(result.object.spec) == comparable(msgspec.convert(expected["spec"], PodSpec))
            assert result.object.metadata.labels == created.metadata.labels
        else:
            assert result.object.spec == msgspec.convert(expected["spec"], PersistentVolumeClaimSpec)


def test_there_are_27_recordings() -> None:
    assert len(RECORDED) == 27
