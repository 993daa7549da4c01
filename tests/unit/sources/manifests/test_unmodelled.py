"""`in_cluster`."""

import pytest

from kwhatif.kube.model.bystanders import (
    CrossVersionObjectReference,
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerSpec,
)
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.workloads import AutoscalerNotModelled, AutoscalersNotRead
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.workload import Deployment
from kwhatif.questions.manifests.applied import Applied
from kwhatif.report.inputs import SourceRow
from kwhatif.sources.manifests.unmodelled import in_cluster

META = ObjectMeta(name="web", namespace="shop")
WEB = Deployment(metadata=META)
AUTOSCALER = HorizontalPodAutoscaler(
    metadata=META,
    spec=HorizontalPodAutoscalerSpec(scale_target_ref=CrossVersionObjectReference(kind="Deployment", name="web")),
)


@pytest.mark.parametrize(
    ("objects", "is_whole", "unread", "expected"),
    [
        ((), True, ("HorizontalPodAutoscaler",), []),
        ((WEB,), False, (), []),
        ((WEB,), True, (), []),  # there is none
        ((WEB,), True, ("HorizontalPodAutoscaler",), [AutoscalersNotRead(targets=("Deployment shop/web",))]),
        (
            (WEB, AUTOSCALER),
            False,
            (),
            [AutoscalerNotModelled(name="shop/web", target="Deployment shop/web", replicas=1, missing=True)],
        ),
    ],
)
def test_what_the_cluster_knows_of_autoscalers(
    objects: tuple[Deployment, ...], unread: tuple[str, ...], expected: list[Caveat], *, is_whole: bool
) -> None:
    cluster = Cluster(objects)
    cluster.update_facts(is_whole=is_whole, unread=dict.fromkeys(unread, "forbidden"))
    applied = Applied(WEB, SourceRow(object="Deployment shop/web", file="web.yaml", line=1))
    assert list(in_cluster((), [applied], cluster)) == expected
