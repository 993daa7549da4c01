"""Edits that kwhatif proposes: their text means the same edit."""

import pytest

from kwhatif.edits import made
from kwhatif.edits.edit import Assignment, Edit
from kwhatif.kube.model.node import Node, Taint
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget, ResourceQuota
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.kube.model.workload import Deployment
from kwhatif.report.advise import PatchRow
from kwhatif.sources.manifests.edits import read_edits
from kwhatif.sources.text.files import standard_input
from tests.builders import pod

WEB, PODS = made.named("Deployment shop/web"), [made.object_of(Pod, "shop/a"), made.object_of(Pod, "ops/b")]
QUOTA, BUDGET = made.object_of(ResourceQuota, "shop/q"), made.object_of(PodDisruptionBudget, "shop/web")
MADE: dict[str, Edit] = {
    "uncordon a1 a2": made.uncordon(["a1", "a2"]),
    "taint a1 a2 gpu=yes:NoExecute": made.taint(["a1", "a2"], Taint(key="gpu", value="yes", effect="NoExecute")),
    "taint a1 gpu:NoSchedule-": made.untaint("a1", "gpu", "NoSchedule"),
    "label node/a1 disk=ssd": made.label_node("a1", {"disk": "ssd"}),
    "add 1 node like a1": made.add_nodes("a1", 1),
    "add 2 nodes like a1": made.add_nodes("a1", 2),
    "recover a1": made.recover(["a1"]),
    "restart deployment/shop/web": made.restart(WEB),
    "scale deployment/shop/web=3": made.scale(WEB, 3),
    "evict pod/shop/a pod/ops/b": made.evict(PODS),
    "delete pod/shop/a pod/ops/b": made.delete(PODS),
    "budget shop/web maxUnavailable=1": made.budget("shop/web", max_unavailable=1),
    "budget shop/web minAvailable=2": made.budget("shop/web", min_available=2),
    "set resourcequota/shop/q 'spec.hard[\"requests.cpu\"]=2'": made.set_fields(
        QUOTA, Assignment(("spec", "hard", "requests.cpu"), "2")
    ),
    'set poddisruptionbudget/shop/web \'spec.selector={"matchLabels":{"app":"web"}}\'': made.set_fields(
        BUDGET, Assignment(("spec", "selector"), {"matchLabels": {"app": "web"}})
    ),
    'patch persistentvolumeclaim/shop/data \'{"spec":{"volumeName":"v"}}\'': made.patch(
        made.object_of(PersistentVolumeClaim, "shop/data"), {"spec": {"volumeName": "v"}}
    ),
}


@pytest.mark.parametrize("text", MADE)
def test_its_text_means_the_same(text: str) -> None:
    assert MADE[text].text == text
    read = read_edits([text], namespace="default", stdin=standard_input())
    assert read.problems == ()
    assert [given.edit for given in read.edits] == [MADE[text]]


def test_an_object_without_a_namespace() -> None:
    assert made.object_of(Node, "a1") == made.named("Node a1")
    assert made.object_of(Node, "a1").namespace is None
    assert WEB.resource.type is Deployment


def test_a_patch_of_an_entry_sets_the_whole_list() -> None:
    gpu, disk = ({"key": key, "operator": "Exists"} for key in ("gpu", "disk"))
    obj = pod("a", "shop").toleration(**gpu).build()
    edit = made.set_as_patched(PODS[0], obj, [PatchRow("add", "/spec/tolerations/1", disk)])
    assert edit.values == (Assignment(("spec", "tolerations"), [gpu, disk]),)
