"""Pod Security through the command line: who is refused, who is only warned of, and who was admitted long ago."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run

NODE = """apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", memory: 8Gi, pods: "10"}}
"""
PREFIX = "pod-security.kubernetes.io/"
ALLOWED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def space(**labels: str) -> str:
    named = {f"{PREFIX}{name.replace('_', '-')}": value for name, value in labels.items()}
    return json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": named}})


def spec(context: dict[str, Any] | None) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "c", **({"securityContext": context} if context else {})}]}


def pod(context: dict[str, Any] | None = None, **more: Any) -> str:
    meta = {"name": "p", "namespace": "shop", **more.pop("metadata", {})}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**spec(context), **more}})


def deployment(context: dict[str, Any] | None = None) -> str:
    template = {"metadata": {"labels": {"app": "d"}}, "spec": spec(context)}
    made = {"replicas": 2, "selector": {"matchLabels": {"app": "d"}}, "template": template}
    return json.dumps(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "shop"}, "spec": made}
    )


@pytest.fixture
def ask(tmp_path: Path) -> Any:
    def asked(command: str, *cluster: str, app: str = "") -> tuple[int, dict[str, Any]]:
        (tmp_path / "cluster.yaml").write_text("\n---\n".join((NODE, *cluster)))
        (tmp_path / "app.yaml").write_text(app)
        ran = run(f"kwhatif {command} -o json --from {tmp_path}/cluster.yaml".replace("APP", f"{tmp_path}/app.yaml"))
        return ran.code, json.loads(ran.stdout)

    return asked


def said(report: dict[str, Any], code: str) -> list[Any]:
    return [each for each in report["caveatDetails"] if each["code"] == code]


def test_a_pod_that_violates_the_standard_is_refused_in_the_api_servers_words(ask: Any) -> None:
    code, report = ask("schedule APP", space(enforce="restricted"), app=pod())
    assert code == 1
    (decision,) = report["decisions"]
    assert decision["outcome"] == "Denied"
    assert decision["message"] == (
        'pods "p" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container'
        ' "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must'
        ' set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set'
        ' securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set'
        ' securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
    )
    assert ask("schedule APP", space(enforce="restricted"), app=pod(ALLOWED))[0] == 0
    assert ask("schedule APP", space(enforce="baseline"), app=pod())[0] == 0
    assert ask("schedule APP --no-admission", space(enforce="restricted"), app=pod())[0] == 0


def test_a_version_decides_which_checks_count(ask: Any) -> None:
    outside = {"tcpSocket": {"port": 80, "host": "other"}}
    app = json.loads(pod())
    app["spec"]["containers"][0]["livenessProbe"] = outside
    assert ask("schedule APP --kubernetes-version 1.36", space(enforce="baseline"), app=json.dumps(app))[0] == 1
    assert ask("schedule APP --kubernetes-version 1.33", space(enforce="baseline"), app=json.dumps(app))[0] == 0
    older = space(enforce="baseline", enforce_version="v1.33")
    assert ask("schedule APP --kubernetes-version 1.36", older, app=json.dumps(app))[0] == 0


def test_a_workload_is_stored_and_its_pods_are_refused(ask: Any) -> None:
    code, report = ask("gate APP", space(enforce="restricted"), app=deployment())
    assert code == 1
    assert {decision["outcome"] for decision in report["decisions"]} == {"Denied"}
    assert said(report, "pod-security-warning") == []  # the refusal says it
    _, report = ask("simulate APP", space(enforce="restricted"), app=deployment())
    refused = [event for event in report["story"]["events"] if event["verb"] == "was refused"]
    assert refused
    assert all("violates PodSecurity" in event["detail"] for event in refused)


def test_a_warning_is_said_and_refuses_nothing(ask: Any) -> None:
    code, report = ask("gate APP", space(warn="restricted"), app=deployment({**ALLOWED, "runAsNonRoot": False}))
    assert code == 0
    (caveat,) = said(report, "pod-security-warning")
    assert caveat["objects"] == ["Deployment shop/d"]
    assert caveat["standard"] == "restricted:latest"
    assert caveat["violation"] == 'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)'


def test_a_pod_that_is_there_was_admitted(ask: Any) -> None:
    code, report = ask("schedule pod/shop/p", space(enforce="restricted"), pod())
    assert code == 0
    assert said(report, "pod-security") == []


def test_annotations_of_old_count(ask: Any) -> None:
    notes = {"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}
    code, report = ask("schedule APP", space(enforce="baseline"), app=pod(metadata={"annotations": notes}))
    assert code == 1
    assert "forbidden AppArmor profile (annotation must not set" in report["decisions"][0]["message"]


def test_a_snapshot_keeps_what_is_judged(ask: Any, tmp_path: Path) -> None:
    cluster = [
        space(enforce="restricted"),
        deployment({**ALLOWED, "runAsUser": 0}),
        deployment(ALLOWED).replace('"d"', '"e"'),
    ]
    for name, code in (("d", 1), ("e", 0)):
        assert ask(f"schedule deploy/{name} -n shop", *cluster)[0] == code
        for option in ("", "--anonymize"):
            saved = tmp_path / "saved.json"
            assert run(f"kwhatif snapshot save {saved} --from {tmp_path}/cluster.yaml {option} --force").code in (0, 2)
            saved.unlink(missing_ok=True)
            assert run(f"kwhatif snapshot save {saved} --from {tmp_path}/cluster.yaml {option}").code == 0
            if not option:
                assert run(f"kwhatif schedule deploy/{name} -n shop --from {saved}").code == code
