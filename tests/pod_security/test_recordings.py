"""Pod Security as `k8s.io/pod-security-admission` itself decides it: the same words, or nothing."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif.admission.pod_security import standards_of, violations
from kwhatif.kube.model.pod import Pod
from kwhatif.sources.manifests.read import read_manifest_set

CASES = [json.loads(line) for line in (Path("fixtures/admission/pod-security.jsonl")).read_text().splitlines()]


def read(data: dict[str, Any]) -> Pod:
    found = read_manifest_set(["-"], stdin=io.BytesIO(json.dumps(data).encode()), default_namespace="default")
    assert not found.problems
    (manifest,) = found.manifests
    assert isinstance(manifest.object, Pod)
    return manifest.object


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_pod_is_judged_as_upstream_judges_it(number: int) -> None:
    case = CASES[number]
    pod, standards, answer = read(case["pod"]), standards_of(case["labels"]), case["answer"]
    for mode, standard in (("enforce", standards.enforce), ("warn", standards.warn)):
        assert standard.text == answer[mode]["policy"]
        assert violations(pod, standard, case["minor"]) == answer[mode]["forbidden"]


def test_the_recordings_show_all_that_can_be_forbidden() -> None:
    said = " ".join(case["answer"][mode]["forbidden"] for case in CASES for mode in ("enforce", "warn"))
    for words in (
        "allowPrivilegeEscalation != false",
        "forbidden AppArmor profile ",
        "forbidden AppArmor profiles",
        "non-default capabilities",
        "unrestricted capabilities",
        "host namespaces",
        "hostPath volumes",
        "hostPort ",
        "hostPorts",
        "probe or lifecycle host",
        "privileged",
        "procMount",
        "restricted volume types",
        "runAsNonRoot != true",
        "runAsUser=0",
        "seLinuxOptions",
        "seccompProfile",
        "forbidden annotation ",
        "forbidden sysctls",
        "hostProcess",
    ):
        assert words in said
    allowed = [case for case in CASES if case["answer"]["enforce"] == {"policy": "restricted:latest", "forbidden": ""}]
    assert allowed
