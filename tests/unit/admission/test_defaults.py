"""API defaulting: what is filled in, and that nothing else is touched."""

import importlib
import pkgutil
from typing import Any

import pytest
from msgspec.structs import replace

import kwhatif.kube.model
from kwhatif.admission.defaults import default_object, says_everything
from kwhatif.kube.model.bystanders import NodeMetrics, PodMetrics
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import ApiObject, ObjectMeta
from kwhatif.kube.model.node import Node, NodeStatus
from kwhatif.kube.model.pod import PodMeta, PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Container, ContainerPort, ResourceRequirements
from kwhatif.kube.model.policy import LimitRange, LimitRangeItem, LimitRangeSpec
from kwhatif.kube.model.resource import (
    DeviceClaim,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from kwhatif.kube.model.saved import SavedSnapshot
from kwhatif.kube.model.storage import (
    RBD,
    ClaimTemplate,
    EphemeralVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    StorageClass,
)
from kwhatif.kube.model.workload import (
    Deployment,
    DeploymentSpec,
    Namespace,
    NamespaceMeta,
    ReplicaSet,
    ReplicaSetMeta,
    ReplicationController,
    ReplicationControllerSpec,
    StatefulSet,
)
from kwhatif.sources.decoding.bystanders import BYSTANDERS
from tests.builders import NodeBuilder, PodBuilder, node, pod


def complete(name: str = "pod") -> PodBuilder:
    return pod(name).spec(restart_policy="Always")


def spec_of(builder: PodBuilder) -> PodSpec:
    return default_object(builder.build()).spec


# --- pods ---------------------------------------------------------------------------------------------


def container(requests: dict[str, Any], limits: dict[str, Any]) -> Container:
    return Container(name="main", resources=ResourceRequirements(requests=requests, limits=limits))


REQUESTS = {
    "limits become requests": ({}, {"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}),
    "only where no request is given": ({"cpu": "0"}, {"cpu": "1", "a.io/b": "2"}, {"cpu": "0", "a.io/b": "2"}),
    "requests without limits stay": ({"cpu": "1"}, {}, {"cpu": "1"}),
}


@pytest.mark.parametrize(("requests", "limits", "expected"), REQUESTS.values(), ids=REQUESTS.keys())
@pytest.mark.parametrize("field", ["containers", "init_containers"])
def test_container_requests(
    field: str, requests: dict[str, Any], limits: dict[str, Any], expected: dict[str, Any]
) -> None:
    spec = spec_of(complete().spec(**{field: (Container(name="first"), container(requests, limits))}))
    first, second = getattr(spec, field)
    assert first == Container(name="first")
    assert second.resources == ResourceRequirements(requests=expected, limits=limits)


def level(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None) -> ResourceRequirements:
    return ResourceRequirements(requests=requests or {}, limits=limits or {})


POD_LEVEL = {
    "a limit becomes the request": (complete(), level(limits={"cpu": "2"}), {"cpu": "2"}, {"cpu": "2"}),
    "but what the containers ask comes first": (
        complete().cpu("250m").container("b").cpu("1").memory("1Gi"),
        level(limits={"cpu": "2"}),
        {"cpu": "1250m", "memory": "1Gi"},
        {"cpu": "2"},
    ),
    "and what the pod asks comes before that": (
        complete().cpu("1"),
        level({"cpu": "3"}, {"cpu": "4", "memory": "1"}),
        {"cpu": "3", "memory": "1"},
        {"cpu": "4", "memory": "1"},
    ),
    "requests alone stay alone": (complete().cpu("1").memory("1Gi"), level({"cpu": "3"}), {"cpu": "3"}, {}),
    "hugepages limits of containers go up to the pod": (
        complete().spec(containers=(container({}, {"hugepages-2Mi": "4Mi", "cpu": "1"}),)),
        level({"memory": "1Gi"}),
        {"memory": "1Gi", "cpu": "1", "hugepages-2Mi": "4Mi"},
        {"hugepages-2Mi": "4Mi"},
    ),
    "unless the pod requests them": (
        complete().spec(containers=(container({}, {"hugepages-2Mi": "4Mi"}),)),
        level({"hugepages-2Mi": "8Mi"}),
        {"hugepages-2Mi": "8Mi"},
        {},
    ),
    "resources that a pod cannot ask stay with the containers": (
        complete().requests({"ephemeral-storage": "1Gi"}),
        level(limits={"ephemeral-storage": "2Gi"}),
        {},
        {"ephemeral-storage": "2Gi"},
    ),
    "nothing said": (complete().cpu("1"), level(), {}, {}),
}


@pytest.mark.parametrize(("builder", "given", "requests", "limits"), POD_LEVEL.values(), ids=POD_LEVEL.keys())
def test_pod_level_resources(
    builder: PodBuilder, given: ResourceRequirements, requests: dict[str, Any], limits: dict[str, Any]
) -> None:
    assert spec_of(builder.spec(resources=given)).resources == level(requests, limits)


def test_the_protocol_of_a_port_is_tcp() -> None:
    ports = (ContainerPort(container_port=80), ContainerPort(container_port=53, protocol="UDP"))
    made = spec_of(complete().container("b", ports=ports))
    assert [port.protocol for port in made.containers[1].ports] == ["TCP", "UDP"]


def test_in_the_nodes_network_container_ports_are_host_ports() -> None:
    ports = (ContainerPort(container_port=80), ContainerPort(container_port=81, host_port=9))
    builder = complete().container("b", ports=ports).init_container("i", ports=ports)
    inside, outside = spec_of(builder), spec_of(builder.spec(host_network=True))
    assert [port.host_port for port in inside.containers[1].ports] == [0, 9]
    assert [port.host_port for port in outside.containers[1].ports] == [80, 9]
    assert [port.host_port for port in outside.init_containers[0].ports] == [80, 9]
    assert [port.protocol for port in outside.containers[1].ports] == ["TCP", "TCP"]


def test_the_rest_of_a_pod() -> None:
    made = default_object(pod().spec(scheduler_name="", termination_grace_period_seconds=-5).meta(namespace="").build())
    assert made.spec.termination_grace_period_seconds == 1
    assert (made.metadata.namespace, made.spec.scheduler_name) == ("default", "default-scheduler")
    assert made.spec.restart_policy == "Always"


def test_volumes_of_a_pod() -> None:
    template = EphemeralVolumeSource(volume_claim_template=ClaimTemplate())
    made = spec_of(complete().volume("a").volume("b", rbd=RBD(image="x")).volume("c", ephemeral=template))
    plain, rbd, ephemeral = made.volumes
    assert plain == complete().volume("a").build().spec.volumes[0]
    assert rbd.rbd == RBD(image="x", pool="rbd")
    assert ephemeral.ephemeral is not None
    assert ephemeral.ephemeral.volume_claim_template == ClaimTemplate(
        spec=PersistentVolumeClaimSpec(volume_mode="Filesystem")
    )


# --- other kinds ----------------------------------------------------------------------------------------

META = ObjectMeta(name="x", namespace="shop")
RC = ReplicationController(
    metadata=META,
    spec=ReplicationControllerSpec(template=PodTemplateSpec(metadata=PodMeta(labels={"app": "x"}))),
)

OTHERS: dict[str, tuple[ApiObject, str, Any]] = {
    "a namespace is labelled with its name": (
        Namespace(metadata=NamespaceMeta(name="x", labels={"a": "b"})),
        "metadata.labels",
        {"a": "b", "kubernetes.io/metadata.name": "x"},
    ),
    "a node offers all it has": (Node(status=NodeStatus(capacity={"cpu": "1"})), "status.allocatable", {"cpu": "1"}),
    "a claim is for a file system": (PersistentVolumeClaim(), "spec.volume_mode", "Filesystem"),
    "a claim waits": (PersistentVolumeClaim(), "status.phase", "Pending"),
    "a volume is a file system": (PersistentVolume(), "spec.volume_mode", "Filesystem"),
    "a volume waits": (PersistentVolume(), "status.phase", "Pending"),
    "a Ceph volume has a pool": (PersistentVolume(spec=PersistentVolumeSpec(rbd=RBD())), "spec.rbd.pool", "rbd"),
    "a storage class binds at once": (StorageClass(), "volume_binding_mode", "Immediate"),
    "a Deployment has one replica": (Deployment(metadata=META), "spec.replicas", 1),
    "a ReplicaSet has one replica": (
        ReplicaSet(metadata=ReplicaSetMeta(name="x", namespace="shop")),
        "spec.replicas",
        1,
    ),
    "a StatefulSet has one replica": (StatefulSet(metadata=META), "spec.replicas", 1),
    "a ReplicationController has one replica": (RC, "spec.replicas", 1),
    "a ReplicationController selects what it makes": (RC, "spec.selector", {"app": "x"}),
    "zero replicas are zero": (Deployment(metadata=META, spec=DeploymentSpec(replicas=0)), "spec.replicas", 0),
    "an object without a namespace": (Deployment(), "metadata.namespace", "default"),
    "an object with a namespace": (Deployment(metadata=META), "metadata.namespace", "shop"),
    "an object that can have no namespace": (StorageClass(metadata=META), "metadata.namespace", ""),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("obj", "field", "expected"), OTHERS.values(), ids=OTHERS.keys())
def test_other_kinds(obj: ApiObject, field: str, expected: Any) -> None:
    found: Any = default_object(obj)
    for name in field.split("."):
        found = getattr(found, name)
    assert found == expected


def claimed(*requests: DeviceRequest) -> ResourceClaimSpec:
    return ResourceClaimSpec(devices=DeviceClaim(requests=requests))


def exactly(mode: str = "", count: int = 0) -> DeviceRequest:
    return DeviceRequest(name="r", exactly=ExactDeviceRequest(allocation_mode=mode, count=count))


def first(*alternatives: DeviceSubRequest) -> DeviceRequest:
    return DeviceRequest(name="r", first_available=alternatives)


DEVICES = {
    "one device is asked": (exactly(), exactly("ExactCount", 1)),
    "several": (exactly(count=3), exactly("ExactCount", 3)),
    "all": (exactly("All"), exactly("All")),
    "alternatives": (
        first(DeviceSubRequest(name="a"), DeviceSubRequest(name="b", allocation_mode="All")),
        first(
            DeviceSubRequest(name="a", allocation_mode="ExactCount", count=1),
            DeviceSubRequest(name="b", allocation_mode="All"),
        ),
    ),
}


@pytest.mark.parametrize(("request_", "expected"), DEVICES.values(), ids=DEVICES.keys())
def test_device_requests(request_: DeviceRequest, expected: DeviceRequest) -> None:
    claim = default_object(ResourceClaim(spec=claimed(request_)))
    template = default_object(ResourceClaimTemplate(spec=ResourceClaimTemplateSpec(spec=claimed(request_))))
    assert claim.spec == template.spec.spec == claimed(expected)
    assert default_object(claim) is claim
    assert default_object(template) is template


ITEMS = {
    "a maximum is the default": (
        LimitRangeItem(type="Container", max={"cpu": "2"}),
        LimitRangeItem(type="Container", max={"cpu": "2"}, default={"cpu": "2"}, default_request={"cpu": "2"}),
    ),
    "the default limit comes before the minimum": (
        LimitRangeItem(type="Container", default={"cpu": "2"}, min={"cpu": "1", "memory": "1"}),
        LimitRangeItem(
            type="Container",
            default={"cpu": "2"},
            min={"cpu": "1", "memory": "1"},
            default_request={"cpu": "2", "memory": "1"},
        ),
    ),
    "what is given stays": (
        LimitRangeItem(type="Container", max={"cpu": "3"}, default={"cpu": "2"}, default_request={"cpu": "1"}),
        LimitRangeItem(type="Container", max={"cpu": "3"}, default={"cpu": "2"}, default_request={"cpu": "1"}),
    ),
    "for pods there are no defaults": (
        LimitRangeItem(type="Pod", max={"cpu": "2"}),
        LimitRangeItem(type="Pod", max={"cpu": "2"}),
    ),
}


@pytest.mark.parametrize(("item", "expected"), ITEMS.values(), ids=ITEMS.keys())
def test_limit_ranges(item: LimitRangeItem, expected: LimitRangeItem) -> None:
    made = default_object(LimitRange(metadata=META, spec=LimitRangeSpec(limits=(item,))))
    assert made.spec.limits == (expected,)


# --- nothing to do --------------------------------------------------------------------------------------

COMPLETE: dict[str, PodBuilder | NodeBuilder] = {
    "a plain pod": complete(),
    "a pod in the node's network": complete().host_port(80).spec(host_network=True),
    "requests and limits": complete().spec(containers=(container({"cpu": "1"}, {"cpu": "2"}),)),
    "pod-level resources": complete().spec(resources=level({"cpu": "1"}, {"cpu": "2"})),
    "volumes": complete().claim("data").volume("x", rbd=RBD(pool="p")),
    "a node": node(),
}


@pytest.mark.parametrize("builder", COMPLETE.values(), ids=COMPLETE.keys())
def test_a_complete_object_stays_the_same_object(builder: PodBuilder | NodeBuilder) -> None:
    made = builder.build()
    assert default_object(made) is made


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_defaulting_twice_changes_nothing(name: str) -> None:
    once = default_object(OTHERS[name][0])
    assert default_object(once) is once


def test_every_kind_is_known_to_live_in_a_namespace_or_in_none() -> None:
    for info in pkgutil.iter_modules(kwhatif.kube.model.__path__):
        importlib.import_module(f"kwhatif.kube.model.{info.name}")
    kinds = set(ApiObject.__subclasses__())
    assert kinds == {*RESOURCES, *BYSTANDERS, SavedSnapshot, NodeMetrics, PodMetrics}


def test_objects_are_copied_not_changed() -> None:
    before = pod().spec(scheduler_name="").build()
    kept = replace(before)
    default_object(before)
    assert before == kept


def stored_pod() -> PodBuilder:
    """As the API server has it."""
    return pod().cpu("1").spec(scheduler_name="default-scheduler", restart_policy="Always")


QUICK = {
    "all there": (stored_pod(), True),
    "a port with its protocol": (stored_pod().host_port(80), True),
    "no scheduler": (stored_pod().spec(scheduler_name=""), False),
    "no restart policy": (stored_pod().spec(restart_policy=""), False),
    "less than no time to end": (stored_pod().spec(termination_grace_period_seconds=-1), False),
    "no namespace": (stored_pod().meta(namespace=""), False),
    "a port without protocol": (stored_pod().host_port(80, protocol=""), False),
    "a limit without request": (
        stored_pod().container("other", resources=ResourceRequirements(limits={"memory": "1Gi"})),
        False,
    ),
    "the node's network": (stored_pod().spec(host_network=True), False),
    "resources of its own": (stored_pod().spec(resources=ResourceRequirements(limits={"cpu": "1"})), False),
    "an init container": (stored_pod().spec(init_containers=(Container(name="init"),)), False),
    "a volume that may lack something": (stored_pod().volume("disk", rbd=RBD(image="a")), False),
}


@pytest.mark.parametrize(("built", "expected"), QUICK.values(), ids=QUICK)
def test_a_quick_look_tells_pods_that_lack_nothing(built: PodBuilder, expected: bool) -> None:
    found = built.build()
    assert says_everything(found) is expected
    assert not expected or default_object(found) is found
