"""Fluent builders of the objects that tests need: `pod("web").cpu("500m").on("n1").build()`.

Every `build()` gives a fresh object as the API server would store it (namespace `default`, priority 0, TCP ports).
A field without a method of its own is set with `.spec(field=…)` or `.status(field=…)`, in the model's names.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Self

from kwhatif.kube.model.cluster import NAMESPACE_LABEL, Cluster, KubernetesObject
from kwhatif.kube.model.meta import AnnotatedMeta, LabelSelector, ObjectMeta, OwnerReference, Requirement
from kwhatif.kube.model.node import ContainerImage, Node, NodeSpec, NodeStatus, Taint
from kwhatif.kube.model.pod import Pod, PodCondition, PodMeta, PodSchedulingGate, PodSpec, PodStatus
from kwhatif.kube.model.pod_spec import (
    Affinity,
    Container,
    ContainerPort,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    ResourceRequirements,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from kwhatif.kube.model.policy import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from kwhatif.kube.model.storage import ClaimVolumeSource, Volume
from kwhatif.kube.model.workload import Namespace, NamespaceMeta, Service, ServiceSpec
from kwhatif.scheduler.framework.plugin import NodeFilter
from kwhatif.state.change import Upsert
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def requirement(key: str, operator: str, *values: str) -> Requirement:
    """One expression: `requirement("disk", "In", "ssd")`."""
    return Requirement(key=key, operator=operator, values=values)


def term(*expressions: Requirement, fields: tuple[Requirement, ...] = ()) -> NodeSelectorTerm:
    """A node selector term."""
    return NodeSelectorTerm(match_expressions=expressions, match_fields=fields)


def on_name(*names: str) -> NodeSelectorTerm:
    """The term by which a DaemonSet pins its pods: `metadata.name in (…)`."""
    return term(fields=(requirement("metadata.name", "In", *names),))


def selector(*expressions: Requirement, **labels: str) -> LabelSelector:
    """A label selector: `selector(app="web")`."""
    return LabelSelector(match_labels=labels, match_expressions=expressions)


def affinity_term(topology_key: str, selector: LabelSelector | None = None, **fields: Any) -> PodAffinityTerm:
    """A term about other pods."""
    return PodAffinityTerm(topology_key=topology_key, label_selector=selector, **fields)


class _Builder:
    def __init__(self, name: str, namespace: str) -> None:
        self._meta: dict[str, Any] = {"name": name, "namespace": namespace}
        self._spec: dict[str, Any] = {}
        self._status: dict[str, Any] = {}

    def meta(self, **fields: Any) -> Self:
        """Set any metadata."""
        self._meta.update(fields)
        return self

    def spec(self, **fields: Any) -> Self:
        """Set any fields of the spec."""
        self._spec.update(fields)
        return self

    def status(self, **fields: Any) -> Self:
        """Set any fields of the status."""
        self._status.update(fields)
        return self

    def labels(self, labels: dict[str, str] | None = None, /, **more: str) -> Self:
        """Add labels; the dictionary is for keys that are no Python names."""
        return self.meta(labels={**self._meta.get("labels", {}), **(labels or {}), **more})

    def _append(self, field: str, *items: object) -> Self:
        return self.spec(**{field: (*self._spec.get(field, ()), *items)})


class PodBuilder(_Builder):
    """See `pod`."""

    def __init__(self, name: str, namespace: str) -> None:
        super().__init__(name, namespace)
        self.spec(scheduler_name="default-scheduler", preemption_policy="PreemptLowerPriority", priority=0)
        self._containers: list[dict[str, Any]] = [{"name": "main"}]
        self._init_containers: list[dict[str, Any]] = []
        self._affinity: dict[str, dict[str, Any]] = {}

    def named(self, name: str) -> Self:
        """A copy under another name."""
        return deepcopy(self).meta(name=name)

    # --- containers: methods without a container's name speak of the last one that was added -----------

    def container(self, name: str, **fields: Any) -> Self:
        """Add another container."""
        self._containers.append({"name": name, **fields})
        return self

    def init_container(self, name: str = "init", **fields: Any) -> Self:
        """Add an init container; `restart_policy="Always"` makes it a sidecar."""
        self._init_containers.append({"name": name, **fields})
        return self

    def image(self, image: str) -> Self:
        """Image of the container."""
        self._containers[-1]["image"] = image
        return self

    def requests(self, requests: dict[str, Any] | None = None, /, **more: Any) -> Self:
        """Add resource requests of the container."""
        container = self._containers[-1]
        resources: ResourceRequirements = container.get("resources", ResourceRequirements())
        container["resources"] = ResourceRequirements(
            requests={**resources.requests, **(requests or {}), **more},
            limits=resources.limits,
            claims=resources.claims,
        )
        return self

    def cpu(self, cpu: str) -> Self:
        """Request cpu."""
        return self.requests(cpu=cpu)

    def memory(self, memory: str) -> Self:
        """Request memory."""
        return self.requests(memory=memory)

    def host_port(self, port: int, protocol: str = "TCP", ip: str = "") -> Self:
        """Give the container a host port."""
        container = self._containers[-1]
        added = ContainerPort(container_port=port, host_port=port, protocol=protocol, host_ip=ip)
        container["ports"] = (*container.get("ports", ()), added)
        return self

    # --- where it is -----------------------------------------------------------------------------------

    def on(self, node: str) -> Self:
        """Bound to the node."""
        return self.spec(node_name=node)

    def nominated(self, node: str) -> Self:
        """Pending, and nominated to the node."""
        return self.status(nominated_node_name=node)

    def tried(self) -> Self:
        """`PodScheduled` says that the scheduler found no node for it."""
        return self.status(conditions=(PodCondition(type="PodScheduled", status="False", reason="Unschedulable"),))

    def started(self, time: str) -> Self:
        """`status.startTime`."""
        return self.status(start_time=time)

    def terminating(self, time: str = "2026-01-01T00:00:00Z") -> Self:
        """Being deleted."""
        return self.meta(deletion_timestamp=time)

    # --- what it asks ----------------------------------------------------------------------------------

    def priority(self, priority: int) -> Self:
        """The resolved priority."""
        return self.spec(priority=priority)

    def owner(self, kind: str, name: str, api_version: str = "apps/v1") -> Self:
        """Controlled by that object."""
        owner = OwnerReference(kind=kind, name=name, uid=f"uid-{name}", api_version=api_version, controller=True)
        return self.meta(owner_references=(owner,))

    def gates(self, *names: str) -> Self:
        """Scheduling gates."""
        return self._append("scheduling_gates", *(PodSchedulingGate(name=name) for name in names))

    def toleration(self, key: str = "", operator: str = "", value: str = "", effect: str = "") -> Self:
        """Add a toleration."""
        return self._append("tolerations", Toleration(key=key, operator=operator, value=value, effect=effect))

    def node_selector(self, labels: dict[str, str] | None = None, /, **more: str) -> Self:
        """`nodeSelector`; without arguments an empty one."""
        return self.spec(node_selector={**(labels or {}), **more})

    def node_affinity(self, *terms: NodeSelectorTerm) -> Self:
        """Required node affinity with these terms (possibly none)."""
        return self._affine("node_affinity", required=NodeSelector(node_selector_terms=terms))

    def prefer_nodes(self, weight: int, preference: NodeSelectorTerm) -> Self:
        """Add a preferred node affinity term."""
        preferred = self._affinity.get("node_affinity", {}).get("preferred", ())
        added = PreferredSchedulingTerm(weight=weight, preference=preference)
        return self._affine("node_affinity", preferred=(*preferred, added))

    def pod_affinity(self, *terms: PodAffinityTerm) -> Self:
        """Required inter-pod affinity."""
        return self._affine("pod_affinity", required=terms)

    def pod_anti_affinity(self, *terms: PodAffinityTerm) -> Self:
        """Required inter-pod anti-affinity."""
        return self._affine("pod_anti_affinity", required=terms)

    def prefer_pods(self, weight: int, term: PodAffinityTerm) -> Self:
        """Add a preferred inter-pod affinity term."""
        return self._prefer("pod_affinity", weight, term)

    def prefer_not_pods(self, weight: int, term: PodAffinityTerm) -> Self:
        """Add a preferred inter-pod anti-affinity term."""
        return self._prefer("pod_anti_affinity", weight, term)

    def spread(
        self, topology_key: str, selector: LabelSelector | None, max_skew: int = 1, *, soft: bool = False, **fields: Any
    ) -> Self:
        """Add a topology spread constraint."""
        when = "ScheduleAnyway" if soft else "DoNotSchedule"
        constraint = TopologySpreadConstraint(
            topology_key=topology_key, label_selector=selector, max_skew=max_skew, when_unsatisfiable=when, **fields
        )
        return self._append("topology_spread_constraints", constraint)

    def volume(self, name: str, **source: Any) -> Self:
        """Add a volume: `volume("data", image=ImageVolume(reference="x"))`."""
        return self._append("volumes", Volume(name=name, **source))

    def claim(self, name: str, *, read_only: bool = False) -> Self:
        """Add a volume of a PersistentVolumeClaim."""
        return self.volume(name, persistent_volume_claim=ClaimVolumeSource(claim_name=name, read_only=read_only))

    def _affine(self, part: str, **fields: Any) -> Self:
        self._affinity.setdefault(part, {}).update(fields)
        return self

    def _prefer(self, part: str, weight: int, term: PodAffinityTerm) -> Self:
        preferred = self._affinity.get(part, {}).get("preferred", ())
        added = WeightedPodAffinityTerm(weight=weight, pod_affinity_term=term)
        return self._affine(part, preferred=(*preferred, added))

    def build(self) -> Pod:
        """The pod."""
        kinds = {"node_affinity": NodeAffinity, "pod_affinity": PodAffinity, "pod_anti_affinity": PodAffinity}
        spec = dict(self._spec)
        if self._affinity:
            spec["affinity"] = Affinity(**{part: kinds[part](**fields) for part, fields in self._affinity.items()})
        spec.setdefault("containers", tuple(Container(**fields) for fields in self._containers))
        spec.setdefault("init_containers", tuple(Container(**fields) for fields in self._init_containers))
        return Pod(metadata=PodMeta(**self._meta), spec=PodSpec(**spec), status=PodStatus(**self._status))

    def info(self) -> PodInfo:
        """The pod as plugins see it."""
        return PodInfo(self.build())


class NodeBuilder(_Builder):
    """See `node`."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "")
        self.labels({HOSTNAME: name})
        self.status(allocatable={"cpu": "4", "memory": "16Gi", "pods": "110"})

    def zone(self, zone: str) -> Self:
        """The zone label."""
        return self.labels({ZONE: zone})

    def without_label(self, *keys: str) -> Self:
        """Take labels away."""
        labels = self._meta.get("labels", {})
        return self.meta(labels={key: value for key, value in labels.items() if key not in keys})

    def allocatable(self, amounts: dict[str, Any] | None = None, /, **more: Any) -> Self:
        """Add to, or change, what pods may use; 4 cpu, 16Gi and 110 pods if nothing is said."""
        return self.status(allocatable={**self._status["allocatable"], **(amounts or {}), **more})

    def taint(self, key: str, value: str = "", effect: str = "NoSchedule") -> Self:
        """Add a taint."""
        return self._append("taints", Taint(key=key, value=value, effect=effect))

    def cordoned(self) -> Self:
        """`spec.unschedulable`, without the taint that the node controller would add."""
        return self.spec(unschedulable=True)

    def image(self, size: int, *names: str) -> Self:
        """Add an image that the node has."""
        images = self._status.get("images", ())
        return self.status(images=(*images, ContainerImage(names=names, size_bytes=size)))

    def features(self, *names: str) -> Self:
        """`status.declaredFeatures`."""
        return self.status(declared_features=names)

    def build(self) -> Node:
        """The node."""
        return Node(
            metadata=AnnotatedMeta(**self._meta), spec=NodeSpec(**self._spec), status=NodeStatus(**self._status)
        )

    def info(self) -> NodeInfo:
        """The node alone, without pods, image states or a shape; most tests want `snapshot`."""
        return NodeInfo(self.build())


def pod(name: str = "pod", namespace: str = "default") -> PodBuilder:
    """A pod with one container named `main` that asks for nothing."""
    return PodBuilder(name, namespace)


def node(name: str = "node") -> NodeBuilder:
    """A node with its hostname label, room for 110 pods, 4 cpu and 16Gi of memory."""
    return NodeBuilder(name)


def namespace(name: str, **labels: str) -> Namespace:
    """A namespace with the label that the API server gives it, and these."""
    return Namespace(metadata=NamespaceMeta(name=name, labels={NAMESPACE_LABEL: name, **labels}))


def service(name: str, selector: dict[str, str] | None, namespace: str = "default") -> Service:
    """A service that selects pods by these labels."""
    return Service(metadata=ObjectMeta(name=name, namespace=namespace), spec=ServiceSpec(selector=selector))


def budget(
    name: str, allowed: int, selector: LabelSelector | None, namespace: str = "default", disrupted: Sequence[str] = ()
) -> PodDisruptionBudget:
    """A PodDisruptionBudget that allows so many disruptions; `disrupted` names pods that are counted already."""
    return PodDisruptionBudget(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=PodDisruptionBudgetSpec(selector=selector),
        status=PodDisruptionBudgetStatus(
            disruptions_allowed=allowed, disrupted_pods=dict.fromkeys(disrupted, "2026-01-01T00:00:00Z")
        ),
    )


def cluster(*objects: KubernetesObject | PodBuilder | NodeBuilder) -> Cluster:
    """A cluster of these objects, in the API server's order; builders are built."""
    made = Cluster(obj.build() if isinstance(obj, PodBuilder | NodeBuilder) else obj for obj in objects)
    made.sort()
    return made


def reserve(compiled: NodeFilter, state: State, name: str = "n1") -> None:
    """The pod goes to the node of that name: the state is as later cycles see it."""
    state.apply(*map(Upsert, compiled.reserve(state.by_name[name], state)))


def snapshot(*objects: KubernetesObject | PodBuilder | NodeBuilder) -> State:
    """The snapshot of `cluster(*objects)`."""
    return State(cluster(*objects))
