"""What plugins are registered for, and what becomes of plugins of one's own."""

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.errors import PluginFailed
from kwhatif.kube.model.cluster import Cluster
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from kwhatif.scheduler.framework.guard import GuardedPlugin
from kwhatif.scheduler.framework.hints import QUEUE, ClusterEventWithHint, Registration, registrations
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import SKIP
from tests.builders import node, pod

#: Plugin -> resource -> actions, as a dump of the real default profile has them (`spec.EventsToRegister`).
DEFAULT = {
    "SchedulingGates": {"Pod": [2048]},
    "NodeName": {"Node": [1, 16]},
    "NodeUnschedulable": {"Node": [17], "Pod": [1024]},
    "TaintToleration": {"Node": [17], "Pod": [1024]},
    "NodeAffinity": {"Node": [9, 16]},
    "NodePorts": {"Pod": [2], "Node": [1, 16]},
    "NodeResourcesFit": {"Pod": [514], "Node": [5, 16], "resource.k8s.io/DeviceClass": [8189]},
    "VolumeRestrictions": {"Pod": [2], "Node": [1, 16], "PersistentVolumeClaim": [1]},
    "NodeVolumeLimits": {
        "storage.k8s.io/CSINode": [1, 8188],
        "Pod": [2],
        "PersistentVolumeClaim": [1],
        "storage.k8s.io/VolumeAttachment": [2],
    },
    "VolumeBinding": {
        "storage.k8s.io/StorageClass": [8189],
        "PersistentVolumeClaim": [8189],
        "PersistentVolume": [8189],
        "Node": [9, 16],
        "storage.k8s.io/CSINode": [8189],
        "storage.k8s.io/CSIDriver": [8188],
        "storage.k8s.io/CSIStorageCapacity": [8189],
    },
    "VolumeZone": {
        "storage.k8s.io/StorageClass": [1],
        "Node": [9, 16],
        "PersistentVolumeClaim": [8189],
        "PersistentVolume": [8189],
    },
    "PodTopologySpread": {"Pod": [1283], "Node": [27]},
    "InterPodAffinity": {"Pod": [259], "Node": [9, 16]},
    "DynamicResources": {
        "Node": [13, 16],
        "resource.k8s.io/ResourceClaim": [8189],
        "Pod": [4096],
        "resource.k8s.io/DeviceClass": [8189],
        "resource.k8s.io/ResourceSlice": [8189],
    },
    "NodeDeclaredFeatures": {"Node": [129, 16], "Pod": [8188]},
    "DefaultPreemption": {"Pod": [2]},
}


def table(entries: Iterable[Registration]) -> dict[str, dict[str, list[int]]]:
    found: dict[str, dict[str, list[int]]] = {}
    for entry in entries:
        found.setdefault(entry.plugin, {}).setdefault(str(entry.event.resource), []).append(int(entry.event.action))
    return found


def test_the_default_profile_is_registered_as_upstream() -> None:
    assert table(registrations(default_profile())) == DEFAULT


def test_extenders_are_helped_by_every_event() -> None:
    profile = replace(default_profile(), extenders=(object(),))
    extender = table(registrations(profile))["Extender"]
    assert extender["Pod"] == extender["Node"] == [8191]
    assert "storage.k8s.io/VolumeAttachment" not in extender
    assert len(extender) == 10


class Silent:
    name = "Silent"

    def pre_filter(self, pod: Any, snapshot: Any) -> Any:
        return SKIP


class Picky(Silent):
    name = "Picky"

    def events_to_register(self) -> Any:
        return [ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD), self.hint)]

    def hint(self, pod: Any, old: Any, new: Any, cluster: Any) -> Any:
        return QUEUE


class Broken(Picky):
    name = "Broken"

    def hint(self, pod: Any, old: Any, new: Any, cluster: Any) -> Any:
        raise ValueError("no idea")


def of(plugin: Any) -> list[Any]:
    guarded: Any = GuardedPlugin(plugin)
    return registrations(Profile(pre_filter=(guarded,)))


def test_a_plugin_of_your_own_that_says_nothing_is_helped_by_every_event() -> None:
    entries = of(Silent())
    assert len(entries) == 10
    assert all(entry.hint is None and entry.event.action is ActionType.ALL for entry in entries)


def test_a_plugin_of_your_own_may_give_hints() -> None:
    hinted, taint = of(Picky())
    assert hinted.hint(pod().info(), None, node().build(), Cluster()) is QUEUE
    assert not hinted.same_for_replicas
    assert taint.event == ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)


def test_a_hint_that_fails_says_whose_it_is() -> None:
    with pytest.raises(
        PluginFailed, match="plugin Broken failed in QueueingHint for pod default/pod: ValueError: no idea"
    ):
        of(Broken())[0].hint(pod().info(), None, node().build(), Cluster())
