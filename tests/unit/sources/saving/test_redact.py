"""What a saved snapshot leaves out, and what it must keep for the answers to stay the same."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

import kwhatif
from kwhatif.kube.model.caveat.reading import NoImages
from kwhatif.kube.model.workload import Deployment
from kwhatif.render.caveats import sentence
from tests import FIXTURES, dumps

SHARED = FIXTURES
POD = """
apiVersion: v1
kind: Pod
metadata:
  name: web-1
  namespace: shop
  annotations: {SECRET-note: SECRET-text, kubectl.kubernetes.io/last-applied-configuration: SECRET-manifest}
  managedFields: [{manager: SECRET-manager, fieldsV1: {SECRET-field: {}}}]
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u, controller: true}]
  finalizers: [SECRET.example.com/finalizer]
spec:
  serviceAccountName: SECRET-account
  imagePullSecrets: [{name: SECRET-pull}]
  hostAliases: [{ip: 10.0.0.9, hostnames: [SECRET-host]}]
  nodeName: n1
  containers:
  - name: web
    image: IMAGE-web:1
    command: [SECRET-command]
    args: [--password=SECRET-argument]
    env: [{name: SECRET_NAME, value: SECRET-value}]
    envFrom: [{secretRef: {name: SECRET-reference}}]
    livenessProbe: {exec: {command: [SECRET-probe]}}
    lifecycle: {preStop: {exec: {command: [SECRET-hook]}}}
    volumeMounts: [{name: SECRET-volume, mountPath: /SECRET-path}]
  initContainers: [{name: init, image: IMAGE-init, command: [SECRET-command]}]
  volumes:
  - {name: SECRET-volume, secret: {secretName: SECRET-secret}}
  - {name: SECRET-config, configMap: {name: SECRET-map}}
  - {name: data, persistentVolumeClaim: {claimName: data}}
  - {name: oci, image: {reference: IMAGE-volume}}
status:
  phase: Running
  message: SECRET-message
  podIP: 10.11.12.13
  conditions: [{type: Ready, status: "True", message: SECRET-condition}]
  containerStatuses: [{name: web, image: IMAGE-web:1, imageID: IMAGE-id, state: {waiting: {message: SECRET-state}}}]
---
apiVersion: v1
kind: Node
metadata: {name: n1, annotations: {SECRET-note: SECRET-text}}
spec: {providerID: SECRET-provider}
status:
  addresses: [{type: InternalIP, address: 10.99.0.1}]
  nodeInfo: {machineID: SECRET-machine, kernelVersion: SECRET-kernel}
  images: [{names: [IMAGE-web:1], sizeBytes: 5}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, annotations: {SECRET-note: SECRET-text}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {SECRET-note: SECRET-text}}
    spec:
      containers: [{name: web, image: IMAGE-web:1, env: [{name: A, value: SECRET-value}]}]
      volumes: [{name: config, configMap: {name: SECRET-map}}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
  namespace: shop
  annotations: {SECRET-note: SECRET-text, volume.kubernetes.io/selected-node: n1}
spec: {accessModes: [ReadWriteOnce]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.96.0.7, selector: {app: web}, externalName: SECRET-external}
---
apiVersion: v1
kind: Secret
metadata: {name: SECRET-secret, namespace: shop}
stringData: {password: SECRET-password}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: SECRET-map, namespace: shop}
data: {key: SECRET-value}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(POD)
    return path


@pytest.mark.parametrize("options", [{}, {"images": True}, {"anonymize": True}, {"images": True, "anonymize": True}])
def test_what_scheduling_does_not_read_is_not_saved(source: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    kwhatif.save_snapshot(tmp_path / "saved.json", source, **options)
    text = (tmp_path / "saved.json").read_text()
    assert "SECRET" not in text
    assert not any(address in text for address in ("10.11.12.13", "10.99.0.1", "10.96.0.7", "10.0.0.9"))
    assert ("IMAGE" in text) is (options == {"images": True})


def test_what_is_read_is_saved(source: Path, tmp_path: Path) -> None:
    kwhatif.save_snapshot(tmp_path / "saved.yaml", source)
    about, *objects = yaml.safe_load_all((tmp_path / "saved.yaml").read_text())
    assert about["kind"] == "SavedSnapshot"
    by_kind = {obj["kind"]: obj for obj in objects}
    pod = by_kind["Pod"]
    assert pod["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    assert pod["spec"]["nodeName"] == "n1"
    assert by_kind["PersistentVolumeClaim"]["metadata"]["annotations"] == {"volume.kubernetes.io/selected-node": "n1"}
    assert by_kind["Deployment"]["spec"]["template"]["spec"]["volumes"] == [{"name": "config"}]


def test_images_that_are_left_out_are_a_caveat(source: Path, tmp_path: Path) -> None:
    kwhatif.save_snapshot(tmp_path / "without.json", source)
    kwhatif.save_snapshot(tmp_path / "with.json", source, images=True)
    said = [kwhatif.describe(tmp_path / f"{name}.json").caveats for name in ("without", "with")]
    assert said == [
        (sentence(NoImages()),),
        (),
    ]


def test_an_anonymized_snapshot_names_nothing_of_the_cluster(tmp_path: Path) -> None:
    kwhatif.save_snapshot(tmp_path / "saved.json", dumps.DEMO, images=True, anonymize=True)
    kept = {"default", "kube-node-lease", "kube-public", "kube-system", "system-cluster-critical", "linux", "amd64"}
    secret = {
        text
        for obj in dumps.demo()
        for meta in [obj["metadata"]]
        for text in (meta["name"], meta.get("namespace"), meta.get("uid"), *meta.get("labels", {}).values())
        if text and text not in kept | {"system-node-critical", "true"} and not text.endswith("large")
    }
    secret |= {
        name for obj in dumps.demo() for image in obj.get("status", {}).get("images", []) for name in image["names"]
    }
    assert len(secret) > 150
    saved = set(strings(json.loads((tmp_path / "saved.json").read_text())))
    assert {text for text in saved & secret if not text.isdigit()} == set()


def strings(value: object) -> list[str]:
    """Every text in a JSON value, but not the names of its fields."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


MANIFESTS = SHARED / "gate" / "manifests"


@pytest.mark.parametrize("options", [{}, {"images": True}])
def test_the_gate_judges_a_snapshot_as_its_cluster(tmp_path: Path, options: dict[str, Any]) -> None:
    kwhatif.save_snapshot(tmp_path / "saved.json", dumps.DEMO, **options)
    reports = []
    for path in (dumps.DEMO, tmp_path / "saved.json"):
        report = json.loads(kwhatif.gate(kwhatif.load(path), MANIFESTS).to_json())
        reports.append((report["workloads"], [decision["outcome"] for decision in report["decisions"]]))
    assert reports[0] == reports[1]


QUESTIONS: dict[str, Callable[[kwhatif.Session], kwhatif.Report]] = {
    "schedule": lambda session: kwhatif.schedule(session, "deploy/shop/web"),
    "capacity": lambda session: kwhatif.capacity(session, "deploy/shop/web"),
    "advise": lambda session: kwhatif.advise(session, "deploy/shop/web"),
    "gate": lambda session: kwhatif.gate(session, "deploy/shop/web"),
    "drain": lambda session: kwhatif.drain(session, "general-a1", ignore_daemonsets=True),
    "outage": lambda session: kwhatif.outage(session, "general-a1"),
    "scale": lambda session: kwhatif.simulate(session, then=["scale deploy/shop/web=9"]),
    "scale a set": lambda session: kwhatif.simulate(session, then=["scale sts/data/postgres=4"]),
    "set": lambda session: kwhatif.simulate(session, then=["set deploy/shop/web spec.minReadySeconds=3"]),
    "label a pod": lambda session: kwhatif.simulate(session, then=["label pod/data/postgres-0 a=b"]),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_pods_that_are_made_of_a_snapshot_without_images_are_admitted(question: str, tmp_path: Path) -> None:
    kwhatif.save_snapshot(tmp_path / "saved.json", dumps.DEMO)
    now = datetime.now(UTC)  # findings of the gate say how old the cluster is
    whole, saved = (
        json.loads(QUESTIONS[question](kwhatif.load(path, now=now)).to_json())
        for path in (dumps.DEMO, tmp_path / "saved.json")
    )
    for report in (whole, saved):
        for part in ("caveats", "caveatDetails", "snapshot"):
            del report[part]
    assert saved == whole


@pytest.mark.parametrize("images", [True, False])
def test_what_is_applied_again_is_no_change(source: Path, tmp_path: Path, images: bool) -> None:
    """Though what volumes are is not in the snapshot; nor what is in images, perhaps."""
    kwhatif.save_snapshot(tmp_path / "saved.json", source, images=images)
    deployment = next(doc for doc in yaml.safe_load_all(POD) if doc["kind"] == "Deployment")
    spec = deployment["spec"]["template"]["spec"]

    def update() -> str:
        (tmp_path / "web.json").write_text(json.dumps(deployment))
        report = json.loads(kwhatif.gate(kwhatif.load(tmp_path / "saved.json"), tmp_path / "web.json").to_json())
        return report["workloads"][0]["update"]

    assert update() == "unchanged"
    spec["containers"][0]["image"] = "IMAGE-web:2"
    assert update() == "changed"
    spec["containers"][0] |= {"image": "IMAGE-web:1", "env": [{"name": "A", "value": "1"}]}
    assert update() == "changed"
    spec["containers"][0] |= {"image": "IMAGE-web:1", "resources": {"requests": {"cpu": "1"}}}
    assert update() == "changed"


def test_the_default_class_of_claims_stays_the_default(tmp_path: Path) -> None:
    annotation = {"storageclass.kubernetes.io/is-default-class": "true"}
    meta = {"name": "gold", "annotations": annotation | {"SECRET": "SECRET"}}
    made = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": meta, "provisioner": "x"}
    (tmp_path / "class.json").write_text(json.dumps(made))
    kwhatif.save_snapshot(tmp_path / "saved.json", tmp_path / "class.json", dumps.DEMO, anonymize=True)
    text = (tmp_path / "saved.json").read_text()
    assert json.dumps(annotation, separators=(",", ":"))[1:-1] in text
    assert "SECRET" not in text


FAMILY = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: d}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template: &new
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web:1, env: [{name: MODE, value: fast}]}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-old
  namespace: shop
  uid: r1
  creationTimestamp: "2026-01-01T00:00:00Z"
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]
spec:
  replicas: 0
  selector: {matchLabels: {app: web, pod-template-hash: old}}
  template:
    metadata: {labels: {app: web, pod-template-hash: old}}
    spec: {containers: [{name: web, image: web:1, env: [{name: MODE, value: slow}]}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-new
  namespace: shop
  uid: r2
  creationTimestamp: "2026-01-02T00:00:00Z"
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]
spec:
  replicas: 1
  selector: {matchLabels: {app: web, pod-template-hash: new}}
  template:
    metadata: {labels: {app: web, pod-template-hash: new}}
    spec: {containers: [{name: web, image: web:1, env: [{name: MODE, value: fast}]}]}
---
apiVersion: v1
kind: Pod
metadata:
  name: web-new-a
  namespace: shop
  uid: p
  labels: {app: web, pod-template-hash: new}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-new, uid: r2, controller: true}]
spec: {nodeName: n1, containers: [{name: web, image: web:1}]}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
"""


@pytest.mark.parametrize("options", [{}, {"images": True}, {"anonymize": True}, {"images": True, "anonymize": True}])
def test_replica_sets_that_differ_in_what_is_not_saved_stay_different(tmp_path: Path, options: dict[str, Any]) -> None:
    """Else the older one would pass for that of the Deployment's template, and a rollout to it would start."""
    (tmp_path / "cluster.yaml").write_text(FAMILY)
    kwhatif.save_snapshot(tmp_path / "saved.json", tmp_path / "cluster.yaml", **options)
    assert "slow" not in (tmp_path / "saved.json").read_text()
    for path in ("cluster.yaml", "saved.json"):
        story = json.loads(kwhatif.simulate(kwhatif.load(tmp_path / path)).to_json())["story"]
        assert (story["settled"], story["gone"], story["events"]) == ("settled", [], [])


def test_what_was_rolled_out_before_is_known_to_a_snapshot(tmp_path: Path) -> None:
    """Going back to the old template takes the old ReplicaSet, as the cluster would."""
    (tmp_path / "cluster.yaml").write_text(FAMILY)
    kwhatif.save_snapshot(tmp_path / "saved.json", tmp_path / "cluster.yaml", images=True)
    deployment = next(doc for doc in yaml.safe_load_all(FAMILY) if doc["kind"] == "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] = "slow"
    (tmp_path / "back.json").write_text(json.dumps(deployment))
    owners = []
    for path in ("cluster.yaml", "saved.json"):
        report = json.loads(kwhatif.gate(kwhatif.load(tmp_path / path), tmp_path / "back.json").to_json())
        owners.append([decision["pod"] for decision in report["decisions"]])
    assert owners[0] == owners[1]
    assert all(pod.startswith("shop/web-old-") for pod in owners[0])


@pytest.mark.parametrize("options", [{"images": True}, {"images": True, "anonymize": True}])
def test_an_edit_of_something_else_leaves_the_template_known(tmp_path: Path, options: dict[str, Any]) -> None:
    (tmp_path / "cluster.yaml").write_text(FAMILY)
    kwhatif.save_snapshot(tmp_path / "saved.json", tmp_path / "cluster.yaml", **options)
    said = []
    for path in ("cluster.yaml", "saved.json"):
        session = kwhatif.load(tmp_path / path)
        name = next(iter(session.cluster.all(Deployment)))
        report = json.loads(kwhatif.simulate(kwhatif.edited(session, f"scale deploy/{name}=3")).to_json())
        said.append([caveat["code"] for caveat in report["caveatDetails"]])
    assert said[0] == said[1]
