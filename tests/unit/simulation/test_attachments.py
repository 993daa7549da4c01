"""Volumes that one node may have: who waits for them, and until when."""

from typing import Any

import pytest
import yaml

import kwhatif
from kwhatif.report.story import Story
from tests import FIXTURES

FILE = FIXTURES / "audit" / "restart-attached.yaml"
NAME = "Deployment shop/ledger"


def story(*then: Any, **changes: dict[str, Any]) -> Story:
    """What becomes of it; `changes`: fields of the specs of objects, by kind."""
    data = yaml.safe_load(FILE.read_text())
    for each in data["items"]:
        each.get("spec", {}).update(changes.get(each["kind"], {}))
    found = kwhatif.simulate(kwhatif.load(kwhatif.text(yaml.safe_dump(data))), then=then).story
    assert found is not None
    return found


def ready_at(said: Story) -> list[float]:
    """When pods on the other node got ready."""
    return [event.at for event in said.events if event.verb == "ready" and event.actor == "kubelet a2"]


def waits(said: Story) -> list[str]:
    """What is said of volumes."""
    return [event.detail for event in said.events if event.verb == "could not attach"]


RESTART = "restart deployment/shop/ledger"
SAID = 'Multi-Attach error for volume "v1": it is attached to node a1'


def test_a_pod_on_another_node_waits_for_its_volume() -> None:
    said = story(RESTART)
    assert (waits(said), ready_at(said)) == ([SAID], [])
    assert said.settled == "rollout-stuck"


def test_it_starts_once_the_other_pod_has_ended() -> None:
    said = story("cordon a1", RESTART, "delete pod/shop/ledger-5d9c-0")
    gone = next(each.at for each in said.events if "ledger-5d9c-0" in each.object and each.verb == "removed")
    assert waits(said)[0] == SAID
    assert ready_at(said)[0] == gone + 5


@pytest.mark.parametrize(
    "changes",
    [
        {"PersistentVolume": {"accessModes": ["ReadWriteOnce", "ReadWriteMany"]}},
        {"PersistentVolume": {"accessModes": ["ReadOnlyMany"]}},
        {"PersistentVolume": {"csi": None, "nfs": {"server": "nfs", "path": "/"}}},
        {"PersistentVolume": {"csi": None, "azureFile": {"secretName": "s", "shareName": "s"}}},
        {"CSIDriver": {"attachRequired": False}},
        {"Deployment": {"strategy": {"type": "Recreate"}}},
    ],
)
def test_others_do_not_wait(changes: dict[str, Any]) -> None:
    said = story(RESTART, **changes)
    assert waits(said) == []
    assert any(each.verb == "ready" for each in said.events)


def test_of_a_silent_node_it_is_detached_after_six_minutes() -> None:
    said = story("fail a1", "delete pod/shop/ledger-5d9c-0 --force")
    gone = next(each.at for each in said.events if "ledger-5d9c-0" in each.object and each.verb == "deleted")
    assert ready_at(said) == [gone + 360 + 5]


@pytest.mark.parametrize("what", ["taint a1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute", "recover a1"])
def test_but_at_once_if_the_node_is_out_of_service_or_back(what: str) -> None:
    said = story("fail a1", what)
    gone = next(each.at for each in said.events if "ledger-5d9c-0" in each.object and each.verb == "removed")
    assert ready_at(said) == [gone + 5]


def test_while_the_pod_of_a_silent_node_is_terminating_it_is_kept() -> None:
    assert ready_at(story("fail a1")) == []
