"""The pods that kwhatif makes of workloads are those that the real controllers made."""

import json
import re
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kwhatif.admission.new_pod import admit_pod
from kwhatif.admission.outcome import Denied
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import AnnotatedMeta
from kwhatif.kube.model.node import Node, NodeSpec
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.pod_spec import PodSecurityContext
from kwhatif.kube.model.workload import PodSource
from kwhatif.workloads.expand import expand
from tests import FIXTURES

FOLDER = FIXTURES / "workloads"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json") if path.stem != "nodes")
NODES = json.loads((FOLDER / "nodes.json").read_text())

#: What a cluster makes up: ends of names, hashes, UIDs, the minute of a CronJob's run.
MADE_UP = {
    re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"): "<uid>",
    re.compile(r"(?<=^cron-)\d{8}"): "<minute>",
    re.compile(r"(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}$"): "<end>",
    re.compile(r"(?<![a-z0-9])[bcdf456789]{8,10}(?![a-z0-9])"): "<hash>",
}


def cluster() -> Cluster:
    return Cluster(
        Node(
            metadata=AnnotatedMeta(name=raw["name"], labels=raw["labels"]), spec=msgspec.convert(raw["spec"], NodeSpec)
        )
        for raw in NODES
    )


def masked(value: Any) -> Any:
    """The value with stand-ins for whatever is made up."""
    if isinstance(value, str):
        for pattern, name in MADE_UP.items():
            value = pattern.sub(name, value)
        return value
    if isinstance(value, dict):
        return {key: masked(each) for key, each in value.items()}
    return [masked(each) for each in value] if isinstance(value, list) else value


def comparable(pod: Pod) -> Any:
    """Metadata and spec; where the pod ran, and its namespace, are recorded in another way."""
    meta, spec = replace(pod.metadata, namespace=""), replace(pod.spec, node_name="")
    if spec.security_context == PodSecurityContext():  # the API server stores an empty one
        spec = replace(spec, security_context=PodSpec().security_context)
    return masked([json.loads(msgspec.json.encode(part)) for part in (meta, spec)])


def by_text(pods: list[Any]) -> list[Any]:
    return sorted(pods, key=lambda pod: json.dumps(pod, sort_keys=True))


@pytest.mark.parametrize("name", NAMES)
def test_recording(name: str) -> None:
    recording = json.loads((FOLDER / f"{name}.json").read_text())
    around = cluster()
    workload = msgspec.convert(recording["workload"], PodSource)
    workload = replace(workload, metadata=replace(workload.metadata, namespace="default"))
    made = []
    for group in expand(workload, around).groups:
        for name_of_pod in group.names:
            admitted = admit_pod(group.pod, around, name_of_pod)
            assert not isinstance(admitted, Denied)
            made.append(comparable(admitted.object))
    expected = [comparable(msgspec.convert({"kind": "Pod", **raw}, Pod)) for raw in recording["pods"]]
    assert by_text(made) == by_text(expected)


def test_there_are_11() -> None:
    assert len(NAMES) == 11
