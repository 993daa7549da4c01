"""The caveat about webhooks: only where one would be asked, and about what."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run

CLUSTER = """apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: mesh, labels: {istio-injection: enabled}}
---
apiVersion: v1
kind: Namespace
metadata: {name: plain}
---
apiVersion: v1
kind: Pod
metadata: {name: waits, namespace: mesh}
spec: {containers: [{name: c, image: c}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: injector}
webhooks:
- name: inject.example.com
  namespaceSelector: {matchLabels: {istio-injection: enabled}}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: certificates}
webhooks:
- name: check.example.com
  rules: [{operations: ["*"], apiGroups: [cert-manager.io], apiVersions: ["*"], resources: ["*/*"]}]
"""
APP = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: c}]}
"""


@pytest.fixture
def said(tmp_path: Path) -> Any:
    def asked(command: str, namespace: str = "mesh", source: str = "cluster.yaml") -> list[dict[str, Any]]:
        (tmp_path / "cluster.yaml").write_text(CLUSTER)
        (tmp_path / "app.yaml").write_text(APP.replace("NAMESPACE", namespace))
        command = command.replace("APP", f"{tmp_path}/app.yaml")
        ran = run(f"kwhatif {command} -o json --from {tmp_path}/{source}")
        return [each for each in json.loads(ran.stdout)["caveatDetails"] if each["code"] == "admission-webhooks"]

    return asked


@pytest.mark.parametrize("command", ["schedule APP", "gate APP", "capacity APP", "simulate APP"])
def test_a_webhook_is_named_with_what_it_is_asked_about(said: Any, command: str) -> None:
    (caveat,) = said(command)
    assert caveat["asked"] == ["MutatingWebhookConfiguration injector (inject.example.com)"]
    assert len(caveat["objects"]) == 1
    assert "mesh/web" in caveat["objects"][0]
    assert said(command, "plain") == []


def test_a_pod_that_is_there_was_admitted(said: Any) -> None:
    assert said("schedule pod/mesh/waits") == []
    assert said("queue") == []


def test_a_snapshot_keeps_who_is_asked(said: Any, tmp_path: Path) -> None:
    before = said("schedule APP")
    assert run(f"kwhatif snapshot save {tmp_path}/saved.json --from {tmp_path}/cluster.yaml").code == 0
    assert said("schedule APP", source="saved.json") == before
    assert said("schedule APP", "plain", source="saved.json") == []
