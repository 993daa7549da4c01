"""What is called an endless loop, and what comes to an end after some rounds that look alike."""

from typing import Any

import pytest

import kwhatif
from kwhatif.report.story import Story
from kwhatif.simulation.loops import Loops
from tests.objects import manifest
from tests.property.test_simulation import CLASSES, deployment, node

Json = dict[str, Any]

TAINT: Json = {"key": "going", "effect": "NoExecute"}
#: Lets a pod stay on the tainted node for a while, so the scheduler puts the next one there, too.
FOR_A_WHILE: Json = {"key": "going", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}


def tainted() -> Json:
    made = node("a", 4)
    return made | {"spec": {"taints": [TAINT]}}


def job(retries: int, parallelism: int = 1, grace: int = 30) -> Json:
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "1"}}}
    spec = {
        "restartPolicy": "Never",
        "containers": [container],
        "tolerations": [FOR_A_WHILE],
        "terminationGracePeriodSeconds": grace,
    }
    return manifest(
        "Job",
        {"name": "batch", "namespace": "default", "uid": "u"},
        spec={"template": {"spec": spec}, "backoffLimit": retries, "parallelism": parallelism, "completions": 9},
    )


def serving() -> Json:
    made = deployment("web", 1, 1, "low", 3)
    made["spec"]["template"]["spec"]["tolerations"] = [FOR_A_WHILE]
    return made


def with_volumes(count: int) -> list[Json]:
    """A Deployment each of whose pods claims a volume of its own, and so many volumes that are there."""
    made = serving()
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}
    made["spec"]["template"]["spec"]["volumes"] = [volume]
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"}}
    storage |= {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
    volumes = [
        manifest(
            "PersistentVolume",
            {"name": f"pv-{number}"},
            spec={
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "local",
                "persistentVolumeReclaimPolicy": "Retain",
                "hostPath": {"path": "/x"},
            },
            status={"phase": "Available"},
        )
        for number in range(count)
    ]
    return [storage, *volumes, made]


def played(*manifests: Json, then: tuple[str, ...] = ()) -> Story:
    report = kwhatif.simulate(kwhatif.load([*CLASSES, tainted()]), *manifests, then=then)
    assert report.story is not None
    return report.story


@pytest.mark.parametrize("retries", [1, 2, 6])
@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("grace", [0, 30])
def test_a_job_that_fails_in_the_end_is_not_a_loop(retries: int, parallelism: int, grace: int) -> None:
    """A failed pod is counted a moment later: until then all looks as it did a round before."""
    story = played(job(retries, parallelism, grace))
    assert story.cycle is None
    assert story.settled != "cycling"
    assert [row.workload for row in story.failed] == ["Job default/batch"]


def test_what_is_evicted_and_comes_back_for_ever_is_a_loop() -> None:
    story = played(serving())
    assert story.settled == "cycling"
    assert story.cycle is not None
    assert (story.cycle.participants, story.cycle.suspected) == (("Deployment default/web",), False)


def test_a_loop_beside_a_job_that_comes_to_its_end_is_still_a_loop() -> None:
    story = played(serving(), job(2))
    assert story.settled == "cycling"
    assert story.cycle is not None
    assert story.cycle.participants == ("Deployment default/web",)


def test_a_loop_is_proven_by_what_goes_on_when_nobody_looks_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    said = played(serving()).settled, played(job(6)).settled
    monkeypatch.setattr(Loops, "look", lambda *_: None)
    played_on = played(serving()).settled, played(job(6)).settled
    assert (said, played_on) == (("cycling", played_on[1]), ("horizon", said[1]))


def test_rounds_that_use_up_volumes_are_not_a_loop() -> None:
    story = played(*with_volumes(4))
    assert (story.settled, story.cycle) == ("pending", None)
    assert len(story.pending) == 1
