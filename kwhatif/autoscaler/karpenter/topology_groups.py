"""Pods counted by the domains of a label (`scheduling/topologygroup.go`, `topologynodefilter.go`).

Of equally good domains upstream takes any, in the order of a map; here it is the first by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from kwhatif.autoscaler.karpenter.pods import PodData, taints_objection
from kwhatif.autoscaler.karpenter.requirements import (
    IN,
    Refusal,
    Requirement,
    Requirements,
    label_requirements,
    selector_requirements,
)
from kwhatif.kube.matching.labels import Selector
from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.node import HOSTNAME, Taint
from kwhatif.kube.model.pod import Pod, node_affinity_of
from kwhatif.kube.model.pod_spec import Toleration, TopologySpreadConstraint

UNBOUNDED = 2**31 - 1
_SHOWN_DOMAINS = 25
HONOR, IGNORE = "Honor", "Ignore"
DO_NOT_SCHEDULE = "DoNotSchedule"
SPREAD: Literal["topology spread"] = "topology spread"
AFFINITY: Literal["pod affinity"] = "pod affinity"
ANTI_AFFINITY: Literal["pod anti-affinity"] = "pod anti-affinity"

Kind = Literal["topology spread", "pod affinity", "pod anti-affinity"]
#: Domains of a label that new nodes could have -> the taints of the pools that have them.
Domains = Mapping[str, Sequence[tuple[Taint, ...]]]


class StandingNode(NamedTuple):
    """The parts of an existing node that count here."""

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
                # QUIRK: the values that a NotIn requirement excludes count as domains.
                for value in each.values:
                    _insert(domains, value, taints)
    return dict(found)


def _insert(domains: dict[str, list[tuple[Taint, ...]]], value: str, taints: tuple[Taint, ...]) -> None:
    known = domains.get(value)
    if known is None or not taints:
        domains[value] = [taints]
    elif known[0] and taints not in known:
        known.append(taints)


class TopologyNodeFilter(NamedTuple):
    """Which nodes a spread constraint counts (`topologynodefilter.go`)."""

    requirements: tuple[Requirements, ...] = ()
    taints: str = ""
    affinity: str = ""
    tolerations: tuple[Toleration, ...] = ()

    def matches(self, taints: Sequence[Taint], requirements: Requirements) -> bool:
        """Whether a node with these taints and requirements counts."""
        if (
            self.affinity == HONOR
            and self.requirements
            and not any(requirements.objection(each) is None for each in self.requirements)
        ):
            return False
        return self.taints != HONOR or taints_objection(taints, self.tolerations) is None


ANY_NODE = TopologyNodeFilter()


def spread_filter(pod: Pod, constraint: TopologySpreadConstraint) -> TopologyNodeFilter:
    """The nodes that the constraint of the pod counts (`MakeTopologyNodeFilter`)."""
    selector = label_requirements(pod.spec.node_selector or {})
    required = node_affinity_of(pod.spec).required
    found: tuple[Requirements, ...] = (selector,)
    if required is not None:
        terms = required.node_selector_terms
        found = tuple(selector.plus(selector_requirements(term.match_expressions)) for term in terms)
    return TopologyNodeFilter(
        found, constraint.node_taints_policy or IGNORE, constraint.node_affinity_policy or HONOR, pod.spec.tolerations
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
    nodes: TopologyNodeFilter

    @property
    def identity(self) -> Hashable:
        """Equal for equal groups (`TopologyGroup.Hash`).

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


class Choice:
    """The choices among equally good domains, where upstream takes any: for each decision, the index of the domain."""

    def __init__(self, picks: Sequence[int] = ()) -> None:
        self._picks = picks
        self._sizes: list[int] = []

    def of(self, equal: Sequence[str]) -> str:
        """The domain that is chosen."""
        index = len(self._sizes)
        self._sizes.append(len(equal))
        return equal[self._picks[index] if index < len(self._picks) else 0]

    def another(self) -> Choice | None:
        """The next combination of choices; None if there are no more."""
        picks = [*self._picks, *(0 for _ in self._sizes)][: len(self._sizes)]
        for index in reversed(range(len(picks))):
            if picks[index] + 1 < self._sizes[index]:
                return Choice((*picks[:index], picks[index] + 1))
        return None


class TopologyGroup:
    """Pods counted by the domains of one label."""

    __slots__ = ("domains", "empty", "owners", "spec")

    def __init__(self, spec: GroupSpec, domains: dict[str, int]) -> None:
        self.spec = spec
        self.domains = domains
        #: The domains without pods.
        self.empty = {domain for domain, count in domains.items() if not count}
        #: The pods that have this constraint.
        self.owners: set[str] = set()

    def register(self, domain: str) -> None:
        """Add a domain."""
        if domain not in self.domains:
            self.domains[domain] = 0
            self.empty.add(domain)

    def record(self, domains: Iterable[str]) -> None:
        """Count one more pod in each of the domains."""
        for domain in domains:
            self.domains[domain] = self.domains.get(domain, 0) + 1
            self.empty.discard(domain)

    def selects(self, pod: PodData) -> bool:
        """Whether the group counts the pod."""
        return pod.namespace in self.spec.namespaces and self.spec.selector.matches(pod.labels)

    def counts(self, pod: PodData, taints: Sequence[Taint], requirements: Requirements) -> bool:
        """Whether the group would count the pod on a node with these taints and requirements."""
        return self.selects(pod) and self.spec.nodes.matches(taints, requirements)

    def next(
        self, pod: PodData, allowed: Requirement, of_node: Requirement, best: Requirement, choice: Choice
    ) -> Requirement:
        """The domains for the pod, of those that the node may have and the pod allows; possibly none.

        Of equally good domains, those that the pod's other groups allow (`best`) come first: a random choice would find
        them.
        """
        match self.spec.kind:
            case "topology spread":
                return self._spread(pod, allowed, of_node, best, choice)
            case "pod affinity":
                return self._together(pod, allowed, of_node, best, choice)
            case _:
                return self._apart(allowed, of_node)

    def _of_node(self, of_node: Requirement, domains: Mapping[str, int]) -> Iterator[str]:
        """The known domains that the node may have."""
        if of_node.operator == IN:
            return (domain for domain in sorted(of_node.values) if domain in domains)
        return (domain for domain in sorted(domains) if of_node.has(domain))

    def _spread(
        self, pod: PodData, allowed: Requirement, of_node: Requirement, best: Requirement, choice: Choice
    ) -> Requirement:
        """The domain with the fewest pods, if `maxSkew` allows it (`nextDomainTopologySpread`)."""
        key, skew, more = self.spec.key, self.spec.max_skew, int(self.selects(pod))
        if key == HOSTNAME and len(of_node.values) == 1:
            # A new node can always be created: the minimum number of pods on a node is 0.
            fits = self._on_host(of_node) + more <= skew
            return Requirement(key, of_node.values) if fits else Requirement(key)
        least = self._least(allowed)
        known = self.domains
        fitting = [domain for domain in self._of_node(of_node, known) if known[domain] + more - least <= skew]
        if not fitting:
            return Requirement(key)
        fewest = min(known[domain] for domain in fitting)
        equal = [domain for domain in fitting if known[domain] == fewest]
        return Requirement(key, frozenset((choice.of(_first(equal, best)),)))

    def _on_host(self, of_node: Requirement) -> int:
        return self.domains.get(next(iter(of_node.values)), 0)

    def _least(self, allowed: Requirement) -> int:
        if self.spec.key == HOSTNAME:
            return 0
        counts = [count for domain, count in self.domains.items() if allowed.has(domain)]
        wanted = self.spec.min_domains
        if wanted is not None and len(counts) < wanted:
            return 0
        return min(counts, default=UNBOUNDED)

    def _together(
        self, pod: PodData, allowed: Requirement, of_node: Requirement, best: Requirement, choice: Choice
    ) -> Requirement:
        """Domains that have matching pods; for the first pod, any domain (`nextDomainAffinity`)."""
        key, known = self.spec.key, self.domains
        if key == HOSTNAME and len(of_node.values) == 1:
            host = next(iter(of_node.values))
            fits = allowed.has(host) and (known.get(host, 0) > 0 or self._is_first(pod, allowed))
            return Requirement(key, of_node.values if fits else frozenset())
        found = [domain for domain in self._of_node(of_node, known) if known[domain] > 0 and allowed.has(domain)]
        if not found and self._is_first(pod, allowed):
            ordered = _first(known, best)
            for wanted in (allowed.intersection(of_node), allowed):
                equal = [domain for domain in ordered if wanted.has(domain)]
                found += [choice.of(equal)] if equal else []
        return Requirement(key, frozenset(found))

    def _is_first(self, pod: PodData, allowed: Requirement) -> bool:
        if not self.selects(pod):
            return False
        return len(self.domains) == len(self.empty) or not any(
            count > 0 and allowed.has(domain) for domain, count in self.domains.items()
        )

    def _apart(self, allowed: Requirement, of_node: Requirement) -> Requirement:
        """All domains without matching pods (`nextDomainAntiAffinity`)."""
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


def _first(domains: Iterable[str], best: Requirement) -> list[str]:
    """The domains by name; those that other groups allow come first."""
    return sorted(domains, key=lambda domain: (not best.has(domain), domain))
