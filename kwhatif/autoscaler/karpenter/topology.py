"""Spread, affinity and anti-affinity as Karpenter counts them (`scheduling/topology.go`, `topologygroup.go`).

A group counts pods by the values of one label, for all pods that have the same constraint. Where upstream takes any
domain of several that are as good, by the order of a map, here it is the first by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

from kwhatif.autoscaler.karpenter.pods import Wanted, selector_or_nothing, taints_objection
from kwhatif.autoscaler.karpenter.requirements import (
    HOSTNAME,
    IN,
    Refusal,
    Requirement,
    Requirements,
    label_requirements,
    selector_requirements,
)
from kwhatif.matching.labels import EVERYTHING, Selector
from kwhatif.model.affinity import PodAffinity, PodAffinityTerm, Toleration, TopologySpreadConstraint
from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import LabelSelector
from kwhatif.model.meta import Requirement as SelectorRequirement
from kwhatif.model.node import Taint
from kwhatif.model.pod import Pod, is_terminal, node_affinity_of
from kwhatif.model.workload import Namespace

_UNBOUNDED = 2**31 - 1
_SHOWN_DOMAINS = 25
_HONOR, _IGNORE = "Honor", "Ignore"
_DO_NOT_SCHEDULE = "DoNotSchedule"
SPREAD: Literal["topology spread"] = "topology spread"
AFFINITY: Literal["pod affinity"] = "pod affinity"
ANTI_AFFINITY: Literal["pod anti-affinity"] = "pod anti-affinity"

Kind = Literal["topology spread", "pod affinity", "pod anti-affinity"]
#: Domains of a label that new nodes could have -> the taints of the pools that have them.
Domains = Mapping[str, Sequence[tuple[Taint, ...]]]


class StandingNode(NamedTuple):
    """What counts here of a node that is there."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    requirements: Requirements


def pool_domains(pools: Iterable[tuple[Requirements, tuple[Taint, ...], Sequence[Requirements]]]) -> dict[str, Domains]:
    """The values that new nodes may have, by label (`buildDomainGroups`).

    Of each pool: its requirements with labels, its taints, the requirements of its instance types.
    """
    found: dict[str, dict[str, list[tuple[Taint, ...]]]] = {}
    for own, taints, types in pools:
        for requirements in (*(own.plus(type_) for type_ in types), own):
            for key, each in requirements.items():
                if requirements is own and each.operator != IN:
                    continue
                domains = found.setdefault(key, {})
                # QUIRK: of a requirement NotIn, the values that it excludes count as domains.
                for value in each.values:
                    _insert(domains, value, taints)
    return dict(found)


def _insert(domains: dict[str, list[tuple[Taint, ...]]], value: str, taints: tuple[Taint, ...]) -> None:
    known = domains.get(value)
    if known is None or not taints:
        domains[value] = [taints]
    elif known[0] and taints not in known:
        known.append(taints)


class NodeFilter(NamedTuple):
    """Which nodes a spread constraint counts (`topologynodefilter.go`)."""

    requirements: tuple[Requirements, ...] = ()
    taints: str = ""
    affinity: str = ""
    tolerations: tuple[Toleration, ...] = ()

    def matches(self, taints: Sequence[Taint], requirements: Requirements) -> bool:
        """Whether a node with these taints and requirements counts."""
        if (
            self.affinity == _HONOR
            and self.requirements
            and not any(requirements.objection(each) is None for each in self.requirements)
        ):
            return False
        return self.taints != _HONOR or taints_objection(taints, self.tolerations) is None


ANY_NODE = NodeFilter()


def _spread_filter(pod: Pod, constraint: TopologySpreadConstraint) -> NodeFilter:
    selector = label_requirements(pod.spec.node_selector or {})
    required = node_affinity_of(pod.spec).required
    found: tuple[Requirements, ...] = (selector,)
    if required is not None:
        terms = required.node_selector_terms
        found = tuple(selector.plus(selector_requirements(term.match_expressions)) for term in terms)
    return NodeFilter(
        found,
        constraint.node_taints_policy or _IGNORE,
        constraint.node_affinity_policy or _HONOR,
        pod.spec.tolerations,
    )


class GroupSpec(NamedTuple):
    """A constraint, compiled."""

    kind: Kind
    key: str
    namespaces: frozenset[str]
    #: None: the term has none. It selects nothing, but all pods of the namespaces are counted.
    raw: LabelSelector | None
    selector: Selector
    max_skew: int
    min_domains: int | None
    nodes: NodeFilter

    @property
    def identity(self) -> Hashable:
        """What groups are the same by (`TopologyGroup.Hash`).

        QUIRK: the values of node selectors and affinities do not count, only their keys, nor does minDomains; of equal
        entries in a list, two cancel each other out.
        """
        nodes = self.nodes
        keys = _odd(frozenset(each) for each in nodes.requirements)
        return (
            self.kind,
            self.key,
            self.namespaces,
            self.max_skew,
            (keys, nodes.taints, nodes.affinity, _odd(nodes.tolerations)),
            _selector_identity(self.raw),
        )


def _odd(entries: Iterable[Hashable]) -> frozenset[Hashable]:
    return frozenset(entry for entry, count in Counter(entries).items() if count % 2)


def _selector_identity(selector: LabelSelector | None) -> Hashable:
    if selector is None:
        return None
    expressions = frozenset((each.key, each.operator, _odd(each.values)) for each in selector.match_expressions)
    return frozenset(selector.match_labels.items()), expressions


class Group:
    """Pods counted by the domains of one label."""

    __slots__ = ("domains", "empty", "owners", "spec")

    def __init__(self, spec: GroupSpec, domains: dict[str, int]) -> None:
        self.spec = spec
        self.domains = domains
        #: Those without pods.
        self.empty = {domain for domain, count in domains.items() if not count}
        #: The pods that have this constraint.
        self.owners: set[str] = set()

    def register(self, domain: str) -> None:
        """There is this domain, too."""
        if domain not in self.domains:
            self.domains[domain] = 0
            self.empty.add(domain)

    def record(self, domains: Iterable[str]) -> None:
        """One more pod, in each of the domains."""
        for domain in domains:
            self.domains[domain] = self.domains.get(domain, 0) + 1
            self.empty.discard(domain)

    def selects(self, pod: Wanted) -> bool:
        """Whether the pod is one of those that are counted."""
        return pod.namespace in self.spec.namespaces and self.spec.selector.matches(pod.labels)

    def counts(self, pod: Wanted, taints: Sequence[Taint], requirements: Requirements) -> bool:
        """Whether it would be counted on a node with these taints and requirements."""
        return self.selects(pod) and self.spec.nodes.matches(taints, requirements)

    def next(self, pod: Wanted, allowed: Requirement, of_node: Requirement) -> Requirement:
        """The domains for the pod: among those that the node may have and the pod allows; none where it has none."""
        match self.spec.kind:
            case "topology spread":
                return self._spread(pod, allowed, of_node)
            case "pod affinity":
                return self._together(pod, allowed, of_node)
            case _:
                return self._apart(allowed, of_node)

    def _of_node(self, of_node: Requirement, domains: Mapping[str, int]) -> Iterator[str]:
        """The known domains that the node may have."""
        if of_node.operator == IN:
            return (domain for domain in sorted(of_node.values) if domain in domains)
        return (domain for domain in sorted(domains) if of_node.has(domain))

    def _spread(self, pod: Wanted, allowed: Requirement, of_node: Requirement) -> Requirement:
        """The domain with the fewest pods, if that does not skew them (`nextDomainTopologySpread`)."""
        key, skew, more = self.spec.key, self.spec.max_skew, int(self.selects(pod))
        if key == HOSTNAME and len(of_node.values) == 1:
            # A new node can always be made: the least number of pods on a node is 0.
            fits = self._on_host(of_node) + more <= skew
            return Requirement(key, of_node.values) if fits else Requirement(key)
        least = self._least(allowed)
        known = self.domains
        fitting = [domain for domain in self._of_node(of_node, known) if known[domain] + more - least <= skew]
        if not fitting:
            return Requirement(key)
        return Requirement(key, frozenset((min(fitting, key=lambda domain: (known[domain], domain)),)))

    def _on_host(self, of_node: Requirement) -> int:
        return self.domains.get(next(iter(of_node.values)), 0)

    def _least(self, allowed: Requirement) -> int:
        if self.spec.key == HOSTNAME:
            return 0
        counts = [count for domain, count in self.domains.items() if allowed.has(domain)]
        wanted = self.spec.min_domains
        if wanted is not None and len(counts) < wanted:
            return 0
        return min(counts, default=_UNBOUNDED)

    def _together(self, pod: Wanted, allowed: Requirement, of_node: Requirement) -> Requirement:
        """Domains that have such pods; for the first of all, any (`nextDomainAffinity`)."""
        key, known = self.spec.key, self.domains
        if key == HOSTNAME and len(of_node.values) == 1:
            host = next(iter(of_node.values))
            fits = allowed.has(host) and (known.get(host, 0) > 0 or self._is_first(pod, allowed))
            return Requirement(key, of_node.values if fits else frozenset())
        found = [domain for domain in self._of_node(of_node, known) if known[domain] > 0 and allowed.has(domain)]
        if not found and self._is_first(pod, allowed):
            both = allowed.intersection(of_node)
            found = [
                *[domain for domain in sorted(known) if both.has(domain)][:1],
                *[domain for domain in sorted(known) if allowed.has(domain)][:1],
            ]
        return Requirement(key, frozenset(found))

    def _is_first(self, pod: Wanted, allowed: Requirement) -> bool:
        if not self.selects(pod):
            return False
        return len(self.domains) == len(self.empty) or not any(
            count > 0 and allowed.has(domain) for domain, count in self.domains.items()
        )

    def _apart(self, allowed: Requirement, of_node: Requirement) -> Requirement:
        """All domains without such pods (`nextDomainAntiAffinity`)."""
        key = self.spec.key
        if key == HOSTNAME and len(of_node.values) == 1:
            fits = not self._on_host(of_node)
            return Requirement(key, of_node.values if fits else frozenset())
        if of_node.operator == IN and len(of_node.values) < len(self.empty):
            return Requirement(key, frozenset(d for d in of_node.values if d in self.empty and allowed.has(d)))
        return Requirement(key, frozenset(d for d in self.empty if of_node.has(d) and allowed.has(d)))

    def objection(self, allowed: Requirement, of_node: Requirement) -> Refusal:
        """Why there is no domain. QUIRK: the bracket is not closed."""
        spec, counts = self.spec, dict(self.domains)

        def say() -> str:
            shown = ", ".join(f"{domain}: {counts[domain]}" for domain in sorted(counts)[:_SHOWN_DOMAINS])
            if len(counts) > _SHOWN_DOMAINS:
                shown += f" and {len(counts) - _SHOWN_DOMAINS} other(s)"
            return (
                f"unsatisfiable topology constraint for {spec.kind}, key={spec.key}"
                f" (counts = {shown}, podDomains = {allowed}, nodeDomains = {of_node}"
            )

        return Refusal(say)


# --- what is counted of the pods that stand --------------------------------------------------------------------------


class _Counted(NamedTuple):
    """The pods of a constraint that stand on nodes: how many in each domain, and where each of them is."""

    totals: Mapping[str, int]
    domain_of: Mapping[str, str]


class Standing:
    """The nodes and pods that stand, and what groups count of them: shared by all questions about one cluster."""

    def __init__(self, cluster: Cluster, nodes: Mapping[str, StandingNode], pods: Mapping[str, Sequence[Pod]]) -> None:
        self.cluster = cluster
        #: All nodes of the API, by name.
        self.nodes = nodes
        #: Namespace -> the pods there that stand on a node and count, with their uids.
        self._pods: dict[str, list[tuple[str, Pod]]] = {}
        #: With required anti-affinity: uid, pod and node.
        self.anti: list[tuple[str, Pod, StandingNode]] = []
        for name, group in pods.items():
            if name in nodes:
                for pod in group:
                    self._add(pod, nodes[name])
        self._counted: dict[Hashable, _Counted] = {}

    def _add(self, pod: Pod, node: StandingNode) -> None:
        uid = uid_of(pod)
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
        """The namespaces of the pods that a term is about (`buildNamespaceList`)."""
        if term.namespace_selector is None:
            return frozenset(term.namespaces or (own,))
        selector = selector_or_nothing(term.namespace_selector)
        labels = self.cluster.namespace_labels
        selected = {name for name in self.cluster.all(Namespace) if selector.matches(labels(name))}
        return frozenset(selected.union(term.namespaces))


def uid_of(pod: Pod) -> str:
    """What tells pods apart; one that was never stored has its key."""
    return pod.metadata.uid or f"{pod.metadata.namespace}/{pod.metadata.name}"


# --- one round -------------------------------------------------------------------------------------------------------


class Topology:
    """The groups of one round (`scheduling.Topology`)."""

    def __init__(
        self,
        standing: Standing,
        nodes: Sequence[StandingNode],
        domains: Mapping[str, Domains],
        pods: Sequence[Wanted],
    ) -> None:
        self._standing = standing
        #: Those that are nodes of this round, and registered.
        self._nodes = nodes
        self._domains = domains
        #: Pods that are to be placed do not count where they are now.
        self._excluded = frozenset(pod.uid for pod in pods)
        self._groups: dict[Hashable, Group] = {}
        #: Anti-affinity seen from the other side: which pods those with such a term keep away.
        self._inverse: dict[Hashable, Group] = {}
        self._of: dict[str, list[Group]] = {}
        for uid, pod, node in standing.anti:
            if uid not in self._excluded:
                self._keep_away(uid, pod, node.labels)
        for each in pods:
            self.update(each)

    def update(self, pod: Wanted) -> None:
        """Take the constraints of the pod as they are now, in the place of those that it had (`Update`)."""
        for group in self._of.pop(pod.uid, ()):
            group.owners.discard(pod.uid)
        spec = pod.pod.spec
        if spec.affinity is not None and spec.affinity.pod_anti_affinity is not None:
            self._keep_away(pod.uid, pod.pod, {})
        if not spec.topology_spread_constraints and spec.affinity is None:
            return
        own = self._of[pod.uid] = []
        for each in self._specs(pod.pod):
            identity = each.identity
            if identity not in self._groups:
                self._groups[identity] = Group(each, self._counts(each, pod.tolerations))
            group = self._groups[identity]
            group.owners.add(pod.uid)
            if group not in own:
                own.append(group)

    def record(self, pod: Wanted, taints: Sequence[Taint], requirements: Requirements) -> None:
        """The pod will stand on a node of these requirements (`Record`)."""
        for group in self._groups.values():
            if group.counts(pod, taints, requirements):
                domains = requirements.want(group.spec.key)
                if group.spec.kind == ANTI_AFFINITY or (not domains.complement and len(domains.values) == 1):
                    group.record(domains.values)
        for group in self._inverse.values():
            if pod.uid in group.owners:
                group.record(requirements.want(group.spec.key).values)

    def register(self, key: str, domain: str) -> None:
        """There is one more domain of that label."""
        for groups in (self._groups, self._inverse):
            for group in groups.values():
                if group.spec.key == key:
                    group.register(domain)

    def register_all(self, key: str, domains: Iterable[str]) -> None:
        """There are all these domains of that label."""
        groups = [g for g in (*self._groups.values(), *self._inverse.values()) if g.spec.key == key]
        for domain in domains if groups else ():
            for group in groups:
                group.register(domain)

    def narrowed(self, pod: Wanted, taints: Sequence[Taint], requirements: Requirements) -> Requirements | Refusal:
        """What a node of these requirements has to be if the pod comes to it (`AddRequirements`)."""
        found = requirements
        for group in self._matching(pod, taints, requirements):
            key = group.spec.key
            allowed, of_node = pod.strict.want(key), requirements.want(key)
            domains = group.next(pod, allowed, of_node)
            if not domains.values:
                return group.objection(allowed, of_node)
            found = found.plus({key: domains})
        return found

    def _matching(self, pod: Wanted, taints: Sequence[Taint], requirements: Requirements) -> Iterator[Group]:
        yield from self._of.get(pod.uid, ())
        for group in self._inverse.values():
            if group.counts(pod, taints, requirements):
                yield group

    # --- groups ----------------------------------------------------------------------------------------------------

    def _keep_away(self, uid: str, pod: Pod, domains: Mapping[str, str]) -> None:
        """Track the required anti-affinity of the pod, which stands in the domains (`updateInverseAntiAffinity`)."""
        affinity = pod.spec.affinity
        terms = affinity.pod_anti_affinity.required if affinity and affinity.pod_anti_affinity else ()
        for term in terms:
            spec = self._term(ANTI_AFFINITY, pod, term)
            identity = spec.identity
            if identity not in self._inverse:
                self._inverse[identity] = Group(spec, self._new_domains(spec, pod.spec.tolerations))
            group = self._inverse[identity]
            if term.topology_key in domains:
                group.record((domains[term.topology_key],))
            group.owners.add(uid)

    def _specs(self, pod: Pod) -> Iterator[GroupSpec]:
        for constraint in pod.spec.topology_spread_constraints:
            raw = _with_label_keys(constraint, pod)
            yield GroupSpec(
                SPREAD,
                constraint.topology_key,
                frozenset((pod.metadata.namespace,)),
                raw,
                selector_or_nothing(raw),
                constraint.max_skew,
                constraint.min_domains,
                _spread_filter(pod, constraint),
            )
        affinity = pod.spec.affinity
        if affinity is not None:
            yield from self._terms(AFFINITY, pod, affinity.pod_affinity)
            yield from self._terms(ANTI_AFFINITY, pod, affinity.pod_anti_affinity)

    def _terms(self, kind: Kind, pod: Pod, side: PodAffinity | None) -> Iterator[GroupSpec]:
        """The required terms, and those that are preferred as if they were required."""
        if side is not None:
            for term in (*side.required, *(each.pod_affinity_term for each in side.preferred)):
                yield self._term(kind, pod, term)

    def _term(self, kind: Kind, pod: Pod, term: PodAffinityTerm) -> GroupSpec:
        namespaces = self._standing.namespaces(pod.metadata.namespace, term)
        selector = selector_or_nothing(term.label_selector)
        return GroupSpec(kind, term.topology_key, namespaces, term.label_selector, selector, _UNBOUNDED, None, ANY_NODE)

    def _new_domains(self, spec: GroupSpec, tolerations: Sequence[Toleration]) -> dict[str, int]:
        """Those that new nodes could have; where taints count, the pools' that the pod tolerates."""
        known = self._domains.get(spec.key, {})
        if spec.nodes.taints == _IGNORE:
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


def _with_label_keys(constraint: TopologySpreadConstraint, pod: Pod) -> LabelSelector | None:
    selector, labels = constraint.label_selector, pod.metadata.labels
    keys = [key for key in constraint.match_label_keys if key in labels]
    if not keys or selector is None:
        return selector
    more = (SelectorRequirement(key=key, operator=IN, values=(labels[key],)) for key in keys)
    return replace(selector, match_expressions=(*selector.match_expressions, *more))
