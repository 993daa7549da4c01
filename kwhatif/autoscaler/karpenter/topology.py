"""Topology spread and pod affinity in one round (`scheduling/topology.go`): a pod's groups, and where it counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.autoscaler.karpenter.pods import PodData, selector_or_nothing, taints_objection
from kwhatif.autoscaler.karpenter.requirements import IN, Refusal, Requirements
from kwhatif.autoscaler.karpenter.topology_groups import (
    AFFINITY,
    ANTI_AFFINITY,
    ANY_NODE,
    DO_NOT_SCHEDULE,
    IGNORE,
    SPREAD,
    UNBOUNDED,
    Choice,
    Domains,
    GroupSpec,
    Kind,
    StandingNode,
    TopologyGroup,
    spread_filter,
)
from kwhatif.kube.matching.labels import EVERYTHING
from kwhatif.kube.model.cluster import Cluster, identity
from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.meta import Requirement as SelectorRequirement
from kwhatif.kube.model.node import HOSTNAME, Taint
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.pod_spec import PodAffinity, PodAffinityTerm, Toleration, TopologySpreadConstraint
from kwhatif.kube.model.workload import Namespace

# --- existing pods --------------------------------------------------------------------------


class _Counted(NamedTuple):
    """The pods on nodes that a constraint counts: their number by domain, and the domain of each."""

    totals: Mapping[str, int]
    domain_of: Mapping[str, str]


class Standing:
    """Existing nodes and pods, and their counts by constraint: shared by all simulations of a cluster."""

    def __init__(self, cluster: Cluster, nodes: Mapping[str, StandingNode], pods: Mapping[str, Sequence[Pod]]) -> None:
        self.cluster = cluster
        #: All nodes of the API, by name.
        self.nodes = nodes
        #: Namespace -> the UIDs and pods of its pods that are on a node and count.
        self._pods: dict[str, list[tuple[str, Pod]]] = {}
        #: Pods with required anti-affinity: UID, pod and node.
        self.anti: list[tuple[str, Pod, StandingNode]] = []
        for name, group in pods.items():
            if name in nodes:
                for pod in group:
                    self._add(pod, nodes[name])
        self._counted: dict[Hashable, _Counted] = {}

    def _add(self, pod: Pod, node: StandingNode) -> None:
        uid = identity(pod)
        if not is_terminal(pod):
            affinity = pod.spec.affinity
            anti = affinity.pod_anti_affinity if affinity else None
            if anti is not None and anti.required:
                self.anti.append((uid, pod, node))
            if pod.metadata.deletion_timestamp is None:
                self._pods.setdefault(pod.metadata.namespace, []).append((uid, pod))

    def counted(self, spec: GroupSpec) -> _Counted:
        """The pods of the constraint (`countDomains`)."""
        key = (spec.identity, tuple(frozenset(each.values()) for each in spec.nodes.requirements))
        found = self._counted.get(key)
        if found is None:
            found = self._counted[key] = self._count(spec)
        return found

    def _count(self, spec: GroupSpec) -> _Counted:
        selector = EVERYTHING if spec.raw is None else spec.selector
        domain_of: dict[str, str] = {}
        passes: dict[str, bool] = {}
        for namespace in spec.namespaces:
            for uid, pod in self._pods.get(namespace, ()):
                if not selector.matches(pod.metadata.labels):
                    continue
                node = self.nodes[pod.spec.node_name]
                domain = node.labels.get(spec.key, node.name if spec.key == HOSTNAME else None)
                if domain is None:
                    continue
                if node.name not in passes:
                    passes[node.name] = spec.nodes.matches(node.taints, node.requirements)
                if passes[node.name]:
                    domain_of[uid] = domain
        return _Counted(Counter(domain_of.values()), domain_of)

    def namespaces(self, own: str, term: PodAffinityTerm) -> frozenset[str]:
        """The namespaces that a term selects (`buildNamespaceList`)."""
        if term.namespace_selector is None:
            return frozenset(term.namespaces or (own,))
        selector = selector_or_nothing(term.namespace_selector)
        labels = self.cluster.namespace_labels
        selected = {name for name in self.cluster.all(Namespace) if selector.matches(labels(name))}
        return frozenset(selected.union(term.namespaces))


# --- one round -------------------------------------------------------------------------------------------------------


class Topology:
    """The groups of one round (`scheduling.Topology`)."""

    def __init__(
        self, standing: Standing, nodes: Sequence[StandingNode], domains: Mapping[str, Domains], pods: Sequence[PodData]
    ) -> None:
        self._standing = standing
        #: The nodes of this round that are registered.
        self._nodes = nodes
        self._domains = domains
        #: Pods that will be placed do not count on their present nodes.
        self._excluded = frozenset(pod.uid for pod in pods)
        self._groups: dict[Hashable, TopologyGroup] = {}
        #: Inverse anti-affinity: the pods that existing pods with such a term keep away.
        self._inverse: dict[Hashable, TopologyGroup] = {}
        self._of: dict[str, list[TopologyGroup]] = {}
        for uid, pod, node in standing.anti:
            if uid not in self._excluded:
                self._keep_away(uid, pod, node.labels)
        for each in pods:
            self.update(each)

    def update(self, pod: PodData) -> None:
        """Replace the registered constraints of the pod with its present ones (`Update`)."""
        for group in self._of.pop(pod.uid, ()):
            group.owners.discard(pod.uid)
        spec = pod.pod.spec
        if spec.affinity is not None and spec.affinity.pod_anti_affinity is not None:
            self._keep_away(pod.uid, pod.pod, {})
        if not spec.topology_spread_constraints and spec.affinity is None:
            return
        own = self._of[pod.uid] = []
        for each in self._specs(pod.pod, ignores_preferences=pod.ignores_preferences):
            identity = each.identity
            if identity not in self._groups:
                self._groups[identity] = TopologyGroup(each, self._counts(each, pod.tolerations))
            group = self._groups[identity]
            group.owners.add(pod.uid)
            if group not in own:
                own.append(group)

    def record(self, pod: PodData, taints: Sequence[Taint], requirements: Requirements) -> None:
        """The pod will run on a node with these requirements (`Record`)."""
        for group in self._groups.values():
            if group.counts(pod, taints, requirements):
                domains = requirements.want(group.spec.key)
                if group.spec.kind == ANTI_AFFINITY or (not domains.complement and len(domains.values) == 1):
                    group.record(domains.values)
        for group in self._inverse.values():
            if pod.uid in group.owners:
                group.record(requirements.want(group.spec.key).values)

    def register(self, key: str, domain: str) -> None:
        """Add a domain of this label."""
        for groups in (self._groups, self._inverse):
            for group in groups.values():
                if group.spec.key == key:
                    group.register(domain)

    def register_all(self, key: str, domains: Iterable[str]) -> None:
        """Add these domains of this label."""
        groups = [g for g in (*self._groups.values(), *self._inverse.values()) if g.spec.key == key]
        for domain in domains if groups else ():
            for group in groups:
                group.register(domain)

    def narrowed(
        self, pod: PodData, taints: Sequence[Taint], requirements: Requirements, choice: Choice
    ) -> Requirements | Refusal:
        """The requirements of a node with these, if the pod is added to it (`AddRequirements`)."""
        groups = list(self._matching(pod, taints, requirements))
        found = self._narrowed_by(groups, pod, requirements, choice)
        if len(groups) > 1 and isinstance(found, Requirements):
            keys = {group.spec.key for group in groups}
            if not all(found[key].values for key in keys):
                # A choice for a later group may leave no domain for an earlier one.
                return self._narrowed_by(groups[::-1], pod, requirements, choice)
        return found

    def _narrowed_by(
        self, groups: Sequence[TopologyGroup], pod: PodData, requirements: Requirements, choice: Choice
    ) -> Requirements | Refusal:
        found = requirements
        for group in groups:
            key = group.spec.key
            allowed, of_node = pod.strict.want(key), requirements.want(key)
            domains = group.next(pod, allowed, of_node, found.want(key), choice)
            if not domains.values:
                return group.objection(allowed, of_node)
            found = found.plus({key: domains})
        return found

    def _matching(self, pod: PodData, taints: Sequence[Taint], requirements: Requirements) -> Iterator[TopologyGroup]:
        yield from self._of.get(pod.uid, ())
        for group in self._inverse.values():
            if group.counts(pod, taints, requirements):
                yield group

    # --- groups ----------------------------------------------------------------------------------------------------

    def _keep_away(self, uid: str, pod: Pod, domains: Mapping[str, str]) -> None:
        """Track the required anti-affinity of the pod, which is in these domains (`updateInverseAntiAffinity`)."""
        affinity = pod.spec.affinity
        terms = affinity.pod_anti_affinity.required if affinity and affinity.pod_anti_affinity else ()
        for term in terms:
            spec = self._term(ANTI_AFFINITY, pod, term)
            identity = spec.identity
            if identity not in self._inverse:
                self._inverse[identity] = TopologyGroup(spec, self._new_domains(spec, pod.spec.tolerations))
            group = self._inverse[identity]
            if term.topology_key in domains:
                group.record((domains[term.topology_key],))
            group.owners.add(uid)

    def _specs(self, pod: Pod, *, ignores_preferences: bool) -> Iterator[GroupSpec]:
        for constraint in pod.spec.topology_spread_constraints:
            if ignores_preferences and constraint.when_unsatisfiable != DO_NOT_SCHEDULE:
                continue
            raw = _with_label_keys(constraint, pod)
            yield GroupSpec(
                SPREAD,
                constraint.topology_key,
                frozenset((pod.metadata.namespace,)),
                raw,
                selector_or_nothing(raw),
                constraint.max_skew,
                constraint.min_domains,
                spread_filter(pod, constraint),
            )
        affinity = pod.spec.affinity
        if affinity is not None:
            for kind, side in ((AFFINITY, affinity.pod_affinity), (ANTI_AFFINITY, affinity.pod_anti_affinity)):
                for term in _terms(side, ignores_preferences=ignores_preferences):
                    yield self._term(kind, pod, term)

    def _term(self, kind: Kind, pod: Pod, term: PodAffinityTerm) -> GroupSpec:
        namespaces = self._standing.namespaces(pod.metadata.namespace, term)
        selector = selector_or_nothing(term.label_selector)
        return GroupSpec(kind, term.topology_key, namespaces, term.label_selector, selector, UNBOUNDED, None, ANY_NODE)

    def _new_domains(self, spec: GroupSpec, tolerations: Sequence[Toleration]) -> dict[str, int]:
        """The domains that new nodes could have; if taints count, only those of pools that the pod tolerates."""
        known = self._domains.get(spec.key, {})
        if spec.nodes.taints == IGNORE:
            return dict.fromkeys(known, 0)
        return {
            domain: 0
            for domain, groups in known.items()
            if any(taints_objection(taints, tolerations) is None for taints in groups)
        }

    def _counts(self, spec: GroupSpec, tolerations: Sequence[Toleration]) -> dict[str, int]:
        domains = self._new_domains(spec, tolerations)
        for node in self._nodes:
            domain = node.labels.get(spec.key)
            if domain is not None and domain not in domains and spec.nodes.matches(node.taints, node.requirements):
                domains[domain] = 0
        counted = self._standing.counted(spec)
        totals = dict(counted.totals)
        for uid in self._excluded:
            domain = counted.domain_of.get(uid)
            if domain is not None:
                totals[domain] -= 1
        for domain, count in totals.items():
            if count:
                domains[domain] = domains.get(domain, 0) + count
        return domains


def _terms(side: PodAffinity | None, *, ignores_preferences: bool) -> Sequence[PodAffinityTerm]:
    """The required terms, and the preferred ones as if they were required, unless preferences are ignored."""
    if side is None:
        return ()
    preferred = () if ignores_preferences else side.preferred
    return (*side.required, *(each.pod_affinity_term for each in preferred))


def _with_label_keys(constraint: TopologySpreadConstraint, pod: Pod) -> LabelSelector | None:
    selector, labels = constraint.label_selector, pod.metadata.labels
    keys = [key for key in constraint.match_label_keys if key in labels]
    if not keys or selector is None:
        return selector
    more = (SelectorRequirement(key=key, operator=IN, values=(labels[key],)) for key in keys)
    return replace(selector, match_expressions=(*selector.match_expressions, *more))
