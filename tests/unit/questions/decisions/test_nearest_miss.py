"""The nearest miss as data, and in words."""

import pytest

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.meta import AnnotatedMeta
from kwhatif.kube.model.storage import PersistentVolumeClaim, PersistentVolumeClaimSpec, StorageClass
from kwhatif.questions.decisions.decide import decide
from kwhatif.render.verdict import why
from kwhatif.report.decision import Decision
from kwhatif.scheduler.catalog import default_profile
from tests.builders import NodeBuilder, PodBuilder, affinity_term, node, pod, requirement, selector, snapshot, term

GPU = "nvidia.com/gpu"


def decision(candidate: PodBuilder, *objects: KubernetesObject | NodeBuilder | PodBuilder) -> Decision:
    return decide(default_profile(), candidate.info(), snapshot(*objects))[0]


def gpu_node(name: str, count: int = 4) -> NodeBuilder:
    return node(name).allocatable({GPU: str(count)}).labels(accelerator="a10g")


def claim(name: str, storage_class: str = "") -> PersistentVolumeClaim:
    meta = AnnotatedMeta(name=name, namespace="default")
    return PersistentVolumeClaim(metadata=meta, spec=PersistentVolumeClaimSpec(storage_class_name=storage_class))


CLAIM = claim("pg-data")
GPUS = [gpu_node(f"g{number}").taint(GPU, "present") for number in range(1, 5)]
TRAINER = pod("trainer").requests({GPU: "4"}).on("g1").priority(-500)

CASES = {
    "a label key that no node has": (
        pod().node_selector(acelerator="a10g"),
        [*GPUS, node("n1")],
        "no node has label acelerator=a10g (did you mean accelerator? 4 nodes)",
    ),
    "a label value that no node has": (
        pod().node_affinity(term(requirement("accelerator", "In", "A10G", "x"))),
        [gpu_node("g1"), node("n1")],
        "no node has label accelerator in (A10G,x) (did you mean a10g? 1 node)",
    ),
    "one of two terms that can be met is not unknown": (
        pod().cpu("9").node_affinity(term(requirement("no", "Exists")), term(requirement("accelerator", "Exists"))),
        [gpu_node("g1"), node("n1").allocatable(cpu="10")],
        "1 node fails by one thing only: node affinity no or accelerator",
    ),
    "a resource that no node has": (
        pod().requests({"nvidia.com/gpus": "1"}),
        [gpu_node("g1"), node("n1")],
        "no node has resource nvidia.com/gpus (did you mean nvidia.com/gpu? 1 node)",
    ),
    "more than the largest node has": (
        pod().cpu("64"),
        [node("n1"), node("n2").allocatable(cpu="47920m").taint("x")],
        "asks for 64 cpu, the largest node has 47.92",
    ),
    "a taint alone": (
        pod().requests({GPU: "1"}),
        [*GPUS, node("n1")],
        "4 nodes fail by one thing only: taint nvidia.com/gpu=present:NoSchedule",
    ),
    "a toleration that is misspelled": (
        pod().requests({GPU: "1"}).toleration("nvidia.com/gpus", "Exists"),
        GPUS,
        "4 nodes fail by one thing only: taint nvidia.com/gpu=present:NoSchedule; toleration nvidia.com/gpus matches"
        " no taint (did you mean nvidia.com/gpu=present:NoSchedule? 4 nodes)",
    ),
    "a taint, apart from room that eviction would make": (
        pod().requests({GPU: "1"}),
        [GPUS[0], TRAINER, node("n1")],
        "1 node fails by one thing only: taint nvidia.com/gpu=present:NoSchedule (evicting pods would free"
        " nvidia.com/gpu there)",
    ),
    "pods in every zone are one thing": (
        pod().pod_anti_affinity(affinity_term("zone", selector(app="db"))),
        [
            *(node(f"n{zone}").labels(zone=zone) for zone in "abc"),
            *(pod(f"db-{zone}").labels(app="db").on(f"n{zone}") for zone in "abc"),
        ],
        "3 nodes fail by one thing only: pods matching app=db in the same zone; evicting pods does not help",
    ),
    "pods in every zone refuse it": (
        pod().labels(app="web"),
        [
            *(node(f"n{zone}").labels(zone=zone) for zone in "ab"),
            *(
                pod(f"db-{zone}").pod_anti_affinity(affinity_term("zone", selector(app="web"))).on(f"n{zone}")
                for zone in "ab"
            ),
        ],
        "2 nodes fail by one thing only: pods in the same zone, by their own anti-affinity; evicting pods does not help",
    ),
    "nobody to be beside in any zone": (
        pod().pod_affinity(affinity_term("zone", selector(app="db"))),
        [
            *(node(f"n{zone}").labels(zone=zone) for zone in "ab"),
            node("n1").cordoned(),
            pod("db").labels(app="db").on("n1"),
        ],
        "2 nodes fail by one thing only: no pod matches app=db in the same zone",
    ),
    "too many pods in two of three zones": (
        pod().labels(app="web").spread("zone", selector(app="web")),
        [
            *(node(f"n{zone}").labels(zone=zone) for zone in "ab"),
            node("nc").labels(zone="c").taint("x"),
            *(pod(f"web-{zone}").labels(app="web").on(f"n{zone}") for zone in "ab"),
        ],
        "2 nodes fail by one thing only: too many pods in the same zone already (maxSkew 1); 1 by taint x:NoSchedule;"
        " evicting pods does not help",
    ),
    "pods in one zone": (
        pod().pod_anti_affinity(affinity_term("zone", selector(app="db"))),
        [*(node(f"n{number}").labels(zone="a") for number in (1, 2)), pod("db").labels(app="db").on("n1")],
        "2 nodes fail by one thing only: 1 pod matching app=db in zone=a; evicting pods does not help",
    ),
    "two taints are two things": (
        pod(),
        [node("n1").taint("a").taint("b"), node("n2").taint("a").taint("b")],
        "the nearest 2 nodes fail by 2 things: taint a:NoSchedule and taint b:NoSchedule",
    ),
    "a cordoned node with its taint is one thing": (
        pod(),
        [node("n1").cordoned().taint("node.kubernetes.io/unschedulable")],
        "1 node fails by one thing only: cordoned (spec.unschedulable)",
    ),
    "full nodes are nearer than those of another kind": (
        pod().cpu("2").spec(preemption_policy="Never"),
        [node("n1"), node("n2").taint("a"), node("n3").taint("a"), pod("p").cpu("3").on("n1")],
        "1 node fails by one thing only: cpu (needs 2, 1 free on n1); 2 by taint a:NoSchedule; it may not evict pods"
        " (preemptionPolicy: Never)",
    ),
    "two things at least": (
        pod().cpu("2").node_selector(disk="ssd"),
        [node("n1").labels(disk="hdd").taint("a"), node("n2").labels(disk="ssd").taint("a").allocatable(cpu="1")],
        "the nearest node fails by 2 things: taint a:NoSchedule and no label disk=ssd",
    ),
    "a claim that does not exist": (
        pod().claim("pg-dta"),
        [node("n1"), CLAIM],
        "PersistentVolumeClaim pg-dta does not exist (did you mean pg-data?)",
    ),
    "a storage class that does not exist": (
        pod().claim("pg-data"),
        [node("n1"), claim("pg-data", "gp4"), StorageClass(metadata=AnnotatedMeta(name="gp3"))],
        "StorageClass gp4 does not exist (did you mean gp3?)",
    ),
}


@pytest.mark.parametrize(("candidate", "objects", "expected"), CASES.values(), ids=CASES)
def test_why(candidate: PodBuilder, objects: list[NodeBuilder | PodBuilder], expected: str) -> None:
    made = decision(candidate, *objects)
    assert made.outcome == "Unschedulable"
    assert why(made) == expected


def test_the_scheduler_stays_as_it_is() -> None:
    made = decision(pod().requests({GPU: "1"}), *GPUS, node("n1"))
    assert made.message.startswith("0/5 nodes are available: 1 Insufficient nvidia.com/gpu, 4 node(s) had untolerated")
    first = made.rejected[0]
    assert (first.plugin, first.reasons) == ("TaintToleration", ("node(s) had untolerated taint(s)",))
    assert (first.plugin, first.code, first.reasons, first.evidence) == (
        first.objections[0].plugin,
        first.objections[0].code,
        first.objections[0].reasons,
        first.objections[0].evidence,
    )


def test_only_stuck_pods_have_a_nearest_miss() -> None:
    assert decision(pod(), node("n1"), node("n2").taint("a")).near is None
    assert decision(pod().cpu("2").priority(1), node("n1"), pod("low").cpu("3").on("n1")).near is None
