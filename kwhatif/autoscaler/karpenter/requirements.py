"""The algebra of requirements on labels (`pkg/scheduling/requirement.go`, `requirements.go`, `pkg/apis/v1/labels.go`).

A requirement is a set of values that a label may have: a finite one, or all but some (a complement), perhaps within
bounds. Nodes, NodePools, instance types, offerings, pods and volumes all express in this way what they require and
offer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kwhatif.kube.matching.labels import parse_int64
from kwhatif.kube.model.meta import Requirement as SelectorRequirement
from kwhatif.kube.model.node import HOSTNAME, REGION, ZONE
from kwhatif.kube.model.pod import Pod, node_affinity_of
from kwhatif.kube.model.pod_spec import NodeSelectorTerm
from kwhatif.kube.model.quantity import MAX_INT64

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ARCH = "kubernetes.io/arch"
OS = "kubernetes.io/os"
NODE_POOL = "karpenter.sh/nodepool"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
INITIALIZED = "karpenter.sh/initialized"
REGISTERED = "karpenter.sh/registered"
#: The reservation of a reserved offering; each cloud has its own label for this.
RESERVATION = "karpenter.sh/capacity-reservation-id"
SPOT, ON_DEMAND, RESERVED = "spot", "on-demand", "reserved"

IN, NOT_IN, EXISTS, DOES_NOT_EXIST = "In", "NotIn", "Exists", "DoesNotExist"
OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, "Gt", "Lt", "Gte", "Lte")

#: Labels that a pod may require although the NodePool does not define them; the labels of instance types are added.
WELL_KNOWN = frozenset(
    {NODE_POOL, ZONE, REGION, INSTANCE_TYPE, ARCH, OS, CAPACITY_TYPE, "node.kubernetes.io/windows-build"}
)
#: Old label -> current label. Cloud providers add the zone labels of their storage drivers.
NORMALIZED = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    "beta.kubernetes.io/arch": ARCH,
    "beta.kubernetes.io/os": OS,
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
    "topology.ebs.csi.aws.com/zone": ZONE,
    "topology.disk.csi.azure.com/zone": ZONE,
    "topology.gke.io/zone": ZONE,
}
_NOTHING: frozenset[str] = frozenset()
_SHOWN_VALUES = 5


class Refusal:
    """Why something is not possible: the text is built only when needed."""

    __slots__ = ("_say", "reserved")

    def __init__(self, say: Callable[[], str], *, reserved: bool = False) -> None:
        self._say = say
        #: Only reserved capacity is missing: the pod is tried again in a later round, without giving up preferences.
        self.reserved = reserved

    @property
    def text(self) -> str:
        """Karpenter's message."""
        return self._say()


class Requirement(NamedTuple):
    """The values that a label may have."""

    key: str
    values: frozenset[str] = _NOTHING
    #: Whether all values except `values` are allowed, within the bounds; the label must exist.
    complement: bool = False
    gte: int | None = None
    lte: int | None = None
    #: The minimum number of values that the remaining instance types must have.
    min_values: int | None = None

    @property
    def operator(self) -> str:
        """The equivalent operator, without the bounds."""
        if self.complement:
            return NOT_IN if self.values else EXISTS
        return IN if self.values else DOES_NOT_EXIST

    @property
    def is_lenient(self) -> bool:
        """Whether a node without the label meets it."""
        return bool(self.values) if self.complement else not self.values

    def has(self, value: str) -> bool:
        """Whether the value is allowed."""
        return ((value in self.values) is not self.complement) and _within(value, self.gte, self.lte)

    def intersects(self, other: Requirement) -> bool:
        """Whether any value is allowed by both (`HasIntersection`)."""
        gte, lte = self.gte, self.lte
        if gte is None and lte is None and other.gte is None and other.lte is None:
            if self.complement:
                return other.complement or not other.values <= self.values
            if other.complement:
                return not self.values <= other.values
            return not self.values.isdisjoint(other.values)
        gte, lte = _largest(gte, other.gte), _smallest(lte, other.lte)
        if gte is not None and lte is not None and gte > lte:
            return False
        if self.complement and other.complement:
            return True
        return any(_within(value, gte, lte) for value in _common(self, other))

    def intersection(self, other: Requirement) -> Requirement:
        """The requirement that allows the values that both allow."""
        gte, lte = _largest(self.gte, other.gte), _smallest(self.lte, other.lte)
        min_values = _largest(self.min_values, other.min_values)
        if gte is not None and lte is not None and gte > lte:
            return Requirement(self.key, min_values=min_values)
        if self.complement and other.complement:
            # QUIRK: values that the bounds exclude anyhow are no longer named.
            values = frozenset(value for value in self.values | other.values if _within(value, gte, lte))
            return Requirement(self.key, values, complement=True, gte=gte, lte=lte, min_values=min_values)
        values = _common(self, other)
        if gte is not None or lte is not None:
            values = frozenset(value for value in values if _within(value, gte, lte))
        return Requirement(self.key, values, min_values=min_values)

    def __str__(self) -> str:
        """The text in Karpenter's messages: `zone In [a b]`; of more than five values only the first five."""
        shown = f"{self.key} {self.operator}"
        if self.values:
            values = sorted(self.values)
            if len(values) > _SHOWN_VALUES:
                values = [*values[:_SHOWN_VALUES], f"and {len(values) - _SHOWN_VALUES} others"]
            shown += f" [{' '.join(values)}]"
        shown += "" if self.gte is None else f" >={self.gte}"
        shown += "" if self.lte is None else f" <={self.lte}"
        return shown if self.min_values is None else f"{shown} minValues {self.min_values}"

    @property
    def selector(self) -> str:
        """The text of a NodeClaim's requirement: `key operator [values]` (`NodeSelectorRequirement`).

        QUIRK: of two bounds only the lower one is shown.
        """
        operator, values = self.operator, sorted(self.values)
        if self.gte is not None:
            operator, values = "Gte", [str(self.gte)]
        elif self.lte is not None:
            operator, values = "Lte", [str(self.lte)]
        minimum = "" if self.min_values is None else f" minValues={self.min_values}"
        return f"{self.key} {operator} [{' '.join(values)}]{minimum}"


def _common(one: Requirement, other: Requirement) -> frozenset[str]:
    """The values that both allow, without bounds; at least one of the two must not be a complement."""
    if one.complement:
        return other.values - one.values
    return one.values - other.values if other.complement else one.values & other.values


def _largest(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)


def _smallest(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def _within(value: str, gte: int | None, lte: int | None) -> bool:
    if gte is None and lte is None:
        return True
    number = parse_int64(value)
    if number is None:
        return False
    return (gte is None or number >= gte) and (lte is None or number <= lte)


def requirement(key: str, operator: str, values: Iterable[str] = (), min_values: int | None = None) -> Requirement:
    """`NewRequirementWithFlexibility`: a node selector requirement; an old label counts as its successor."""
    key = NORMALIZED.get(key, key)
    values = tuple(values)
    match operator:
        case "In":
            return Requirement(key, frozenset(values), min_values=min_values)
        case "NotIn":
            return Requirement(key, frozenset(values), complement=True, min_values=min_values)
        case "DoesNotExist":
            return Requirement(key, min_values=min_values)
        case "Gt" | "Lt" | "Gte" | "Lte":
            # An invalid number counts as 0: the API server does not accept one.
            bound = (parse_int64(values[0]) if values else None) or 0
            if operator == "Gt" and bound == MAX_INT64:
                return Requirement(key)
            if operator in ("Gt", "Gte"):
                return Requirement(key, complement=True, gte=bound + (operator == "Gt"), min_values=min_values)
            return Requirement(key, complement=True, lte=bound - (operator == "Lt"), min_values=min_values)
    return Requirement(key, complement=True, min_values=min_values)


def one_of(key: str, *values: str) -> Requirement:
    """The label has one of the values."""
    return Requirement(key, frozenset(values))


class Requirements(dict[str, Requirement]):
    """Requirements by key; requirements of one key are intersected. Must not be changed once they are shared."""

    @classmethod
    def of(cls, requirements: Iterable[Requirement]) -> Requirements:
        """The intersection of all these requirements."""
        self = cls()
        self.add(requirements)
        return self

    def add(self, requirements: Iterable[Requirement]) -> None:
        """Add these requirements."""
        for each in requirements:
            existing = self.get(each.key)
            self[each.key] = each if existing is None or existing == each else each.intersection(existing)

    def plus(self, others: Mapping[str, Requirement]) -> Requirements:
        """A copy with the other requirements added."""
        both = Requirements(self)
        for key, each in others.items():
            existing = both.get(key)
            both[key] = each if existing is None or existing is each else each.intersection(existing)
        return both

    def want(self, key: str) -> Requirement:
        """The requirement for the label; without one, any value is allowed (`Get`)."""
        found = self.get(key)
        return Requirement(key, complement=True) if found is None else found

    def objection(self, incoming: Mapping[str, Requirement], undefined: frozenset[str] = _NOTHING) -> Refusal | None:
        """Why these cannot be met together with the asked requirements (`Compatible`); None if they can.

        A label that is required there and not defined here is refused, unless it may be undefined.
        """
        for key, each in incoming.items():
            if key not in self and key not in undefined and not each.is_lenient:
                return Refusal(lambda: self._undefined(incoming, undefined))
        return self.conflict(incoming)

    def conflict(self, incoming: Mapping[str, Requirement]) -> Refusal | None:
        """The labels for which the two have no value in common (`Intersects`); None if there are none."""
        smaller, larger = (self, incoming) if len(self) <= len(incoming) else (incoming, self)
        for key in smaller:
            if key in larger and _conflict(self[key], incoming[key]):
                return Refusal(lambda: self._conflicts(incoming))
        return None

    def _undefined(self, incoming: Mapping[str, Requirement], undefined: frozenset[str]) -> str:
        # If there are several, upstream names a random one.
        key = min(k for k, each in incoming.items() if k not in self and k not in undefined and not each.is_lenient)
        return f'label "{key}" does not have known values{_hint(key, undefined, self)}'

    def _conflicts(self, incoming: Mapping[str, Requirement]) -> str:
        keys = sorted(key for key in self.keys() & incoming.keys() if _conflict(self[key], incoming[key]))
        return "; ".join(f"key {key}, {incoming[key]} not in {self[key]}" for key in keys)

    @property
    def has_min_values(self) -> bool:
        """Whether any requirement has `minValues`."""
        return any(each.min_values is not None for each in self.values())

    def __str__(self) -> str:
        """The text in Karpenter's messages, without the host name."""
        return ", ".join(sorted(str(each) for key, each in self.items() if key != HOSTNAME))


def _conflict(existing: Requirement, incoming: Requirement) -> bool:
    if existing.intersects(incoming):
        return False
    return not (incoming.is_lenient and existing.is_lenient)


def _hint(key: str, undefined: frozenset[str], known: Mapping[str, Requirement]) -> str:
    """A similar label as a hint; upstream takes any, here it is the first by name."""
    suffix = key.partition("/")[2] if "/" in key else key
    for names in (undefined, known):
        for name in sorted(names):
            if key in name or name.endswith(suffix):
                return f' (typo of "{name}"?)'
    return ""


# --- requirements of objects ---------------------------------------------------------------------------------------


def label_requirements(labels: Mapping[str, str]) -> Requirements:
    """The labels as requirements, each with one value (`NewLabelRequirements`)."""
    return Requirements.of(one_of(NORMALIZED.get(key, key), value) for key, value in labels.items())


def selector_requirements(expressions: Iterable[SelectorRequirement]) -> Requirements:
    """Expressions of a node selector term, all of which must hold (`NewNodeSelectorRequirements`)."""
    return Requirements.of(requirement(each.key, each.operator, each.values) for each in expressions)


def pod_requirements(pod: Pod, *, strict: bool = False) -> Requirements:
    """The requirements of a pod (`NewPodRequirements`); of several required terms, the first one.

    Unless `strict`, the preference with the largest weight counts as required: preferences are sorted
    (`sorted_preferences`).
    """
    found = label_requirements(pod.spec.node_selector or {})
    affinity = node_affinity_of(pod.spec)
    if affinity.preferred and not strict:
        found.add(selector_requirements(affinity.preferred[0].preference.match_expressions).values())
    for term in _first(affinity.required.node_selector_terms if affinity.required is not None else ()):
        found.add(selector_requirements(term.match_expressions).values())
    return found


def _first(terms: tuple[NodeSelectorTerm, ...]) -> tuple[NodeSelectorTerm, ...]:
    return terms[:1]
