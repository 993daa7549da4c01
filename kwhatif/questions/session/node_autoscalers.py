"""Signs that an autoscaler adds nodes to the cluster, and whether it may do so for pods without a node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from kwhatif.autoscaler.contract import NodeAutoscaler
from kwhatif.controllers.contract import Controller, View
from kwhatif.kube.matching.nodes import first_untolerated
from kwhatif.kube.matching.requests import Resources, pod_resources, resource_nanos
from kwhatif.kube.model.bystanders import ConfigMap, NodeClaim, NodePool
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import CloudCapacityUnknown, NodeStartupAssumed
from kwhatif.kube.model.caveat.workloads import NodesNotAdded, PoolObjection
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import Requirement
from kwhatif.kube.model.node import HOSTNAME, Node
from kwhatif.kube.model.pod import Pod, is_terminal, node_affinity_of
from kwhatif.kube.model.pod_spec import NodeSelectorTerm
from kwhatif.kube.model.workload import Deployment
from kwhatif.report.deciders import AutoscaleRow
from kwhatif.scheduler.framework.evidence import taint_text
from kwhatif.scheduler.framework.profile import Profile

#: Labels that a new node gets from its instance type or its cloud, though no pool names them: how they begin.
_WELL_KNOWN = (
    "beta.kubernetes.io/",
    "eks.amazonaws.com/",
    "failure-domain.beta.kubernetes.io/",
    "karpenter.",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/windows-build",
    "topology.",
)


def objection(pool: NodePool, pod: Pod, requests: Resources) -> str:
    """Why the NodePool would not add a node for the pod, in a few words; "" if it may.

    Only requirements, labels, taints and limits are looked at (`pkg/controllers/provisioning/scheduling`): a dump does
    not show which instance types there are, and how large they are.
    """
    template = pool.spec.template
    if pool.metadata.deletion_timestamp is not None:
        return "is being deleted"
    if pool.spec.replicas is not None:
        return "has a fixed number of nodes"
    taint = first_untolerated(template.spec.taints, pod.spec.tolerations)
    if taint is not None:
        return f"taint {taint_text(taint)}"
    return _unmet(pool, pod) or _exhausted(pool, requests)


# --- limits ------------------------------------------------------------------------------------------------------


def _exhausted(pool: NodePool, requests: Resources) -> str:
    used = resource_nanos(pool.status.resources)
    for name, limit in resource_nanos(pool.spec.limits).items():
        more = 1 if name == "nodes" else requests.of(name)
        unit = 1_000_000 if name == "cpu" else 1_000_000_000
        if used.get(name, 0) + more * unit > limit:
            return f"limits.{name} {pool.spec.limits[name]}, of which {pool.status.resources.get(name, 0)} are used"
    return ""


# --- requirements ------------------------------------------------------------------------------------------------


def _unmet(pool: NodePool, pod: Pod) -> str:
    """What the pod asks of a node and the pool cannot give; of several terms, what the first asks."""
    selector = [Requirement(key=key, operator="In", values=(value,)) for key, value in _selector(pod)]
    required = node_affinity_of(pod.spec).required
    terms: Sequence[NodeSelectorTerm] = (NodeSelectorTerm(),) if required is None else required.node_selector_terms
    first = ""
    for term in terms:
        if term.match_fields:
            found = "the pod names its node"
        else:
            found = next(_conflicts(pool, (*selector, *term.match_expressions)), "")
        if not found:
            return ""
        first = first or found
    return first


def _selector(pod: Pod) -> Iterable[tuple[str, str]]:
    return (pod.spec.node_selector or {}).items()


def _conflicts(pool: NodePool, asked: Sequence[Requirement]) -> Iterator[str]:
    from kwhatif.autoscaler.karpenter.claims import own_requirements  # most answers need none
    from kwhatif.autoscaler.karpenter.requirements import NODE_POOL, selector_requirements

    offered = own_requirements(pool, {NODE_POOL: pool.metadata.name})
    for key in dict.fromkeys(each.key for each in asked):
        own = [each for each in asked if each.key == key]
        wanted = selector_requirements(own)
        known = frozenset(name for name in wanted if name.startswith(_WELL_KNOWN) and name != HOSTNAME)
        if offered.objection(wanted, known) is not None:
            is_lacking = not (wanted.keys() <= offered.keys() or known)
            yield f"the pod wants {_text(own[0])}{', which no new node has' if is_lacking else ''}"


def _text(requirement: Requirement) -> str:
    """`zone=a`, `zone in (a, b)`, `gpu exists`."""
    key, values = requirement.key, requirement.values
    match requirement.operator:
        case "In":
            return f"{key}={values[0]}" if len(values) == 1 else f"{key} in ({', '.join(values)})"
        case "NotIn":
            return f"{key} not in ({', '.join(values)})"
        case "Exists":
            return f"{key}"
        case "DoesNotExist":
            return f"no {key}"
    return f"{key} {requirement.operator} {', '.join(values)}"


#: Labels, taints and annotations that cluster-autoscaler and Karpenter put on nodes, or how these begin.
_AUTOSCALED = (
    "cluster-autoscaler.kubernetes.io/",
    "karpenter.sh/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
)
_AUTOSCALERS = ("cluster-autoscaler", "karpenter")
_APP_LABELS = ("app.kubernetes.io/name", "k8s-app", "app")


def nodes_not_added(cluster: Cluster, pods: Iterable[Pod]) -> Iterator[NodesNotAdded]:
    """That an autoscaler may add nodes for these pods, which find no room: one caveat for those it may do the same for.

    Pools are tried in Karpenter's order: by weight, then by name, the last first.
    """
    waiting = list(pods)
    sign = cluster.derived(_sign, *_READ) if waiting else ""
    if not sign:
        return
    pools = sorted(
        cluster.all(NodePool).values(), key=lambda pool: (pool.spec.weight or 1, pool.metadata.name), reverse=True
    )
    for pod in waiting:
        requests = pod_resources(pod, cluster.facts.resizes).requested
        objections = [(pool.metadata.name, objection(pool, pod, requests)) for pool in pools]
        willing = tuple(name for name, why in objections if not why)
        refusing = () if willing else tuple(PoolObjection(pool=name, why=why) for name, why in objections)
        yield NodesNotAdded(sign=sign, pools=willing, objections=refusing, pods=(key_of(pod),))


_READ = (ConfigMap, Deployment, Node, NodeClaim, NodePool, Pod)


def _sign(cluster: Cluster) -> str:
    """The first object that shows that an autoscaler runs, such as `NodePool general`; "" for none."""
    return next(_signs(cluster), "")


def _signs(cluster: Cluster) -> Iterator[str]:
    for kind in (NodePool, NodeClaim, ConfigMap):
        objects: Iterable[str] = cluster.all(kind)
        yield from (f"{kind.__name__} {key}" for key in objects)
    for key, deployment in cluster.all(Deployment).items():
        if _is_autoscaler(deployment.metadata.labels) or deployment.metadata.name.endswith(_AUTOSCALERS):
            yield f"Deployment {key}"
    for name, node in cluster.all(Node).items():
        keys = (*node.metadata.labels, *node.metadata.annotations, *(taint.key for taint in node.spec.taints))
        if any(key.startswith(_AUTOSCALED) for key in keys):
            yield f"Node {name}"
    if not cluster.all(Deployment):  # a dump of nodes and pods
        for key, pod in cluster.all(Pod).items():
            if not is_terminal(pod) and _is_autoscaler(pod.metadata.labels):
                yield f"Pod {key}"


def _is_autoscaler(labels: dict[str, str]) -> bool:
    return any(labels.get(name, "").endswith(_AUTOSCALERS) for name in _APP_LABELS)


class Scaling(msgspec.Struct, frozen=True, kw_only=True):
    """The autoscaler that adds nodes for pods that find no room, and its delays."""

    autoscaler: NodeAutoscaler
    #: The moment, RFC 3339.
    at: str
    #: How many seconds a node takes from being asked for until it is ready.
    startup: float = 90.0
    caveats: Sequence[Caveat] = ()

    def controllers(self, profiles: Mapping[str, Profile]) -> tuple[Controller, ...]:
        """The autoscaler as an actor of a simulation with time."""
        from kwhatif.autoscaler.actor import NodeAutoscaling

        return (NodeAutoscaling(self.autoscaler, profiles, self.at, self.startup),)

    def played(self, view: View) -> tuple[AutoscaleRow, tuple[Caveat, ...]]:
        """The nodes that it has added in a simulation, and caveats about them."""
        from kwhatif.autoscaler.actor import NodeAutoscaling, rounds_of

        known = NodeAutoscaling(self.autoscaler, {}, self.at, self.startup).of(view)
        row = AutoscaleRow(autoscaler=self.autoscaler.name, at=self.at, rounds=rounds_of(known, view.state))
        caveats = (*self.caveats, *known.loop.caveats)
        return row, (*caveats, *self.of_new_nodes) if any(found.added for found in row.rounds) else caveats

    @property
    def of_new_nodes(self) -> tuple[Caveat, ...]:
        """Caveats if nodes are added."""
        return CloudCapacityUnknown(), NodeStartupAssumed(seconds=self.startup)
