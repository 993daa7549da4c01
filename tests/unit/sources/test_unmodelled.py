"""`in_cluster`."""

from __future__ import annotations

import pytest

from kwhatif.model.bystanders import CrossVersionObjectReference, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec
from kwhatif.model.caveat import Caveat
from kwhatif.model.caveat.workloads import AutoscalerNotModelled, AutoscalersNotRead
from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import ObjectMeta
from kwhatif.model.workload import Deployment
from kwhatif.report.inputs import SourceRow
from kwhatif.sources.manifests.unmodelled import in_cluster
from kwhatif.whatif.applying.applied import Applied

META = ObjectMeta(name="web", namespace="shop")
WEB = Deployment(metadata=META)
AUTOSCALER = HorizontalPodAutoscaler(
    metadata=META,
    spec=HorizontalPodAutoscalerSpec(scale_target_ref=CrossVersionObjectReference(kind="Deployment", name="web")),
)


@pytest.mark.parametrize(
    ("objects", "is_whole", "expected"),
    [
        ((), True, []),
        ((WEB,), False, []),
        # Live clusters and saved snapshots never hold autoscalers.
        ((WEB,), True, [AutoscalersNotRead(targets=("Deployment shop/web",))]),
        (
            (WEB, AUTOSCALER),
            False,
            [AutoscalerNotModelled(name="shop/web", target="Deployment shop/web", replicas=1, missing=True)],
        ),
    ],
)
def test_what_the_cluster_knows_of_autoscalers(
    objects: tuple[Deployment, ...], expected: list[Caveat], *, is_whole: bool
) -> None:
    cluster = Cluster(objects)
    cluster.is_whole = is_whole
    applied = Applied(WEB, SourceRow(object="Deployment shop/web", file="web.yaml", line=1))
    assert list(in_cluster((), [applied], cluster)) == expected
