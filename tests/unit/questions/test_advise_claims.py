"""Advice about a claim that does not bind because of its class: proven, and true of the file that has it written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kwhatif

CLUSTER = """apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gp3, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
"""
VOLUME = """apiVersion: v1
kind: PersistentVolume
metadata: {name: model}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadOnlyMany], hostPath: {path: /models}}
status: {phase: Available}
"""
CLAIM = """apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: model, namespace: default}
spec: {accessModes: [ReadOnlyMany], resources: {requests: {storage: 1Gi}}, volumeName: model}
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: serve}
spec: {containers: [{name: c, image: c}], volumes: [{name: m, persistentVolumeClaim: {claimName: model}}]}
"""
UNBOUND = CLAIM.replace("{accessModes", "{storageClassName: gp3, accessModes").replace("default}", "default, uid: u1}")


def load(tmp_path: Path, *texts: str) -> kwhatif.Session:
    (tmp_path / "cluster.yaml").write_text("---\n".join(texts))
    return kwhatif.load(str(tmp_path / "cluster.yaml"))


def written(tmp_path: Path, *texts: str) -> str:
    (tmp_path / "app.yaml").write_text("---\n".join(texts))
    return str(tmp_path / "app.yaml")


def advice(session: kwhatif.Session, file: str) -> dict[str, Any]:
    (row,) = kwhatif.advise(session, file).to_dict()["advise"]["workloads"]
    first: dict[str, Any] = row["advice"][0]
    return first


@pytest.mark.parametrize("given", ["manifest", "cluster"])
def test_a_claim_of_the_manifests_is_written_with_the_class_of_its_volume(tmp_path: Path, given: str) -> None:
    session = load(tmp_path, CLUSTER, *([VOLUME] if given == "cluster" else []))
    files = (*([VOLUME] if given == "manifest" else []), CLAIM, POD)
    first = advice(session, written(tmp_path, *files))
    (change,) = first["changes"]
    assert (change["kind"], change["by"], change["before"], change["after"]) == ("claim-class", "manifest", "gp3", '""')
    assert (first["fit"], first["of"], first["node"]) == (1, 1, "n1")
    right = CLAIM.replace("{accessModes", '{storageClassName: "", accessModes')
    report = kwhatif.schedule(session, written(tmp_path, *(right if each == CLAIM else each for each in files)))
    assert [decision.node for decision in report.decisions] == ["n1"]


def test_a_claim_that_is_there_is_deleted_and_made_again(tmp_path: Path) -> None:
    session = load(tmp_path, CLUSTER, VOLUME, UNBOUND)
    (change,) = advice(session, written(tmp_path, POD))["changes"]
    assert (change["kind"], change["by"]) == ("claim-class", "cluster")
    assert [call["args"] for call in change["kubectl"]] == [
        ["delete", "persistentvolumeclaim", "-n", "default", "model"],
        ["apply", "-f", "-"],
    ]
    assert [each["metadata"]["name"] for each in change["kubectl"][1]["manifests"]] == ["model"]
    assert change["edits"][0] == {"delete": ["persistentvolumeclaim/default/model"]}
    assert change["edits"][1]["apply"][0]["spec"]["storageClassName"] == ""


def test_another_class_is_not_advised_where_more_is_wrong(tmp_path: Path) -> None:
    session = load(tmp_path, CLUSTER, VOLUME.replace("1Gi", "500Mi"))
    (row,) = kwhatif.advise(session, written(tmp_path, CLAIM, POD)).to_dict()["advise"]["workloads"]
    assert "claim-class" not in {change["kind"] for each in row["advice"] for change in each["changes"]}
