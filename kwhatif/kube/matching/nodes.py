"""A pod's conditions for a node: node selector and node affinity, tolerations, host ports.

Follows `component-helpers/scheduling/corev1/nodeaffinity` and `staging/src/k8s.io/api/core/v1/toleration.go`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from kwhatif.kube.matching.field_errors import quoted
from kwhatif.kube.matching.labels import SelectorError, Test, compile_requirement, describe, parse_int64
from kwhatif.kube.model.meta import Requirement
from kwhatif.kube.model.node import Node, Taint
from kwhatif.kube.model.pod import PodSpec, node_affinity_of
from kwhatif.kube.model.pod_spec import NodeSelectorTerm, PreferredSchedulingTerm, Toleration, is_sidecar

NAME_FIELD = "metadata.name"

NameTest = Callable[[str], bool]
T = TypeVar("T")


class SelectedNode(Protocol):
    """The part of a node that a node selector reads."""

    @property
    def name(self) -> str:
        """The node's name."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The node's labels."""


class _Named(NamedTuple):
    name: str
    labels: Mapping[str, str]


def named(node: Node) -> SelectedNode:
    """Wrap a node object for selectors."""
    return _Named(node.metadata.name, node.metadata.labels)


class TermError(SelectorError):
    """A term does not parse; upstream treats a required term as not matching, and a preferred term as an error."""


class Mismatch(NamedTuple):
    """Why a node is not selected: the requirements that the node does not meet, and its values of their keys."""

    terms: tuple[str, ...]
    labels: dict[str, str | None]


def _require_operator(requirement: Requirement, supported: Sequence[str], path: str) -> None:
    if requirement.operator not in supported:
        names = ", ".join(quoted(operator) for operator in supported)
        problem = f"{path}operator: Unsupported value: {quoted(requirement.operator)}: supported values: {names}"
        raise SelectorError([problem])


def _expression(requirement: Requirement, path: str) -> Test:
    _require_operator(requirement, ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"), path)
    return compile_requirement(requirement, path)


def _field(requirement: Requirement, path: str) -> NameTest:
    _require_operator(requirement, ("In", "NotIn"), path)
    if len(requirement.values) != 1:
        raise SelectorError([f"{path}values: Invalid value: {quoted(requirement.values)}: must have one element"])
    # `metadata.name` is the only field of nodes; every other field is the empty string, as in upstream's field set.
    is_name = requirement.key == NAME_FIELD
    wanted = requirement.values[0]
    if requirement.operator == "In":
        return lambda name: (name if is_name else "") == wanted
    return lambda name: (name if is_name else "") != wanted


class Term:
    """One compiled term: all expressions and fields must match; an empty term matches nothing."""

    __slots__ = ("_expressions", "_fields", "keys", "reads_name")

    def __init__(self, expressions: Sequence[Requirement], fields: Sequence[Requirement], path: str = "") -> None:
        """Compile; `path` prefixes the fields in messages.

        Raises:
            TermError: an expression or a field is not valid.
        """
        problems: list[str] = []
        self._expressions = _compile_all(expressions, _expression, f"{path}matchExpressions", problems)
        self._fields = _compile_all(fields, _field, f"{path}matchFields", problems)
        if problems:
            raise TermError(problems)
        #: The label keys that the result can depend on.
        self.keys = frozenset(requirement.key for requirement in expressions)
        self.reads_name = bool(fields)

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether the term selects a node with that name and these labels."""
        for _, holds in self._expressions:
            if not holds(labels):
                return False
        for _, holds_for in self._fields:
            if not holds_for(name):
                return False
        return bool(self._expressions or self._fields)

    def matches_labels(self, labels: Mapping[str, str]) -> bool:
        """Whether the expressions match; fields are ignored, because volumes are checked without node names."""
        for _, holds in self._expressions:
            if not holds(labels):
                return False
        return bool(self._expressions or self._fields)

    def failing(self, name: str, labels: Mapping[str, str]) -> list[Requirement]:
        """The requirements that a node with that name and these labels does not meet."""
        expressions = [requirement for requirement, holds in self._expressions if not holds(labels)]
        return expressions + [requirement for requirement, holds in self._fields if not holds(name)]


def _compile_all(
    requirements: Sequence[Requirement],
    compile_one: Callable[[Requirement, str], T],
    path: str,
    problems: list[str],
) -> tuple[tuple[Requirement, T], ...]:
    compiled = []
    for index, requirement in enumerate(requirements):
        try:
            compiled.append((requirement, compile_one(requirement, f"{path}[{index}].")))
        except SelectorError as error:
            problems.extend(error.problems)
    return tuple(compiled)


def compile_terms(terms: Sequence[NodeSelectorTerm]) -> tuple[Term, ...]:
    """The terms that parse; a term that does not parse matches nothing and is left out (upstream ignores the error)."""
    compiled = []
    for term in terms:
        try:
            compiled.append(Term(term.match_expressions, term.match_fields))
        except TermError:
            continue
    return tuple(compiled)


def named_nodes(terms: Sequence[NodeSelectorTerm]) -> frozenset[str] | None:
    """The node names in `metadata.name In` of the terms; None if a term has no node name.

    Terms that do not parse also count, although they select nothing.
    """
    names: set[str] = set()
    for term in terms:
        named = [set(field.values) for field in term.match_fields if field.key == NAME_FIELD and field.operator == "In"]
        if not named:
            return None
        names.update(set.intersection(*named))
    return frozenset(names)


def any_matches(terms: Iterable[Term], node: SelectedNode) -> bool:
    """Whether one of the terms selects the node."""
    name, labels = node.name, node.labels
    return any(term.matches(name, labels) for term in terms)


def mismatch(pairs: Sequence[tuple[str, str]], terms: Iterable[Term] | None, node: SelectedNode) -> Mismatch:
    """Why the node is not selected by all `key = value` pairs and, unless `terms` is None, by one of the terms."""
    name, labels = node.name, node.labels
    wrong_pairs = [(key, value) for key, value in pairs if labels.get(key) != value]
    failed = [f"{key}={value}" for key, value in wrong_pairs]
    said: dict[str, str | None] = {key: labels.get(key) for key, _ in wrong_pairs}
    if terms is not None and not any_matches(terms, node):
        failing = [term.failing(name, labels) for term in terms]
        failed.append(" or ".join(" and ".join(map(describe, term)) for term in failing if term) or "no valid term")
        for requirement in (requirement for term in failing for requirement in term):
            said[requirement.key] = name if requirement.key == NAME_FIELD else labels.get(requirement.key)
    return Mismatch(tuple(failed), said)


class RequiredNodeAffinity:
    """`nodeSelector` and required node affinity of a pod (`GetRequiredNodeAffinity`)."""

    __slots__ = ("_selector", "is_broken", "keys", "reads_name", "terms")

    def __init__(self, spec: PodSpec) -> None:
        self._selector = tuple((spec.node_selector or {}).items())
        required = node_affinity_of(spec).required
        #: None: no required affinity; an empty tuple matches nothing.
        self.terms = None if required is None else compile_terms(required.node_selector_terms)
        terms = self.terms or ()
        #: Whether a term does not parse.
        self.is_broken = required is not None and len(terms) < len(required.node_selector_terms)
        #: The label keys that the result can depend on.
        self.keys = frozenset(key for key, _ in self._selector).union(*(term.keys for term in terms))
        self.reads_name = any(term.reads_name for term in terms)

    def matches(self, node: SelectedNode) -> bool:
        """Whether the node matches the pod's selector and required affinity."""
        labels = node.labels
        for key, value in self._selector:
            if labels.get(key) != value:
                return False
        return self.terms is None or any_matches(self.terms, node)

    def fails_on(self, node: SelectedNode) -> bool:
        """Whether `matches` is false, and upstream reports a term that does not parse."""
        return self.is_broken and all(node.labels.get(key) == value for key, value in self._selector)

    def mismatch(self, node: SelectedNode) -> Mismatch:
        """Why `matches` is false."""
        return mismatch(self._selector, self.terms, node)


class PreferredTerms:
    """Weighted terms (`PreferredSchedulingTerms`); a weight of 0 or an empty preference does not count."""

    __slots__ = ("_terms", "keys", "reads_name")

    def __init__(self, terms: Sequence[PreferredSchedulingTerm]) -> None:
        """Compile.

        Raises:
            TermError: a term does not parse; upstream's PreScore fails on it.
        """
        compiled: list[tuple[int, Term]] = []
        problems: list[str] = []
        for index, term in enumerate(terms):
            preference = term.preference
            if not term.weight or not (preference.match_expressions or preference.match_fields):
                continue
            try:
                parsed = Term(preference.match_expressions, preference.match_fields, f"[{index}].")
                compiled.append((term.weight, parsed))
            except TermError as error:
                problems.extend(error.problems)
        if problems:
            raise TermError(problems)
        self._terms = tuple(compiled)
        self.keys = frozenset[str]().union(*(term.keys for _, term in self._terms))
        self.reads_name = any(term.reads_name for _, term in self._terms)

    def score(self, node: SelectedNode) -> int:
        """The sum of the weights of all matching terms."""
        name, labels = node.name, node.labels
        return sum([weight for weight, term in self._terms if term.matches(name, labels)])


NO_SCHEDULE = "NoSchedule"
NO_EXECUTE = "NoExecute"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
_DECIMAL = re.compile(r"-?[1-9][0-9]*|0")
UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


def tolerates(toleration: Toleration, taint: Taint, *, compares: bool = False) -> bool:
    """Whether the toleration tolerates the taint.

    The operators `Lt` and `Gt` work only with `compares` (gate TaintTolerationComparisonOperators, off in 1.36).
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt" if compares:
            return _compares(toleration, taint)
        case _:
            return False


def _compares(toleration: Toleration, taint: Taint) -> bool:
    """Whether the taint's number is less (`Lt`) or greater (`Gt`) than the toleration's (`compareNumericValues`)."""
    bound, number = _integer(toleration.value), _integer(taint.value)
    if bound is None or number is None:
        return False
    return number < bound if toleration.operator == "Lt" else number > bound


def _integer(text: str) -> int | None:
    return parse_int64(text) if _DECIMAL.fullmatch(text) else None


def tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    """Whether any of the tolerations tolerates the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def first_untolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """The first NoSchedule or NoExecute taint that is not tolerated."""
    for taint in taints:
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not tolerated(taint, tolerations):
            return taint
    return None


def no_execute_taints(node: Node) -> tuple[Taint, ...]:
    """The taints of the node that evict pods."""
    return tuple([taint for taint in node.spec.taints if taint.effect == NO_EXECUTE])


ANY_IP = "0.0.0.0"  # noqa: S104 - the address means "all", nothing is bound here


class HostPort(NamedTuple):
    """A host port that a pod occupies."""

    ip: str
    protocol: str
    port: int


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Host ports of containers and sidecars; other init containers do not count.

    With `hostNetwork`, the host port defaults to the container port, as in API defaulting.
    """
    containers = spec.containers
    if spec.init_containers:
        containers += tuple(c for c in spec.init_containers if is_sidecar(c))
    found = []
    for container in containers:
        for port in container.ports:
            number = port.host_port or (port.container_port if spec.host_network else 0)
            if number > 0:
                found.append(HostPort(port.host_ip or ANY_IP, port.protocol or "TCP", number))
    return tuple(found)


def conflicts(wanted: HostPort, used: Iterable[HostPort]) -> bool:
    """Whether the port is in use: same protocol and number, and overlapping addresses."""
    return any(
        other.port == wanted.port
        and other.protocol == wanted.protocol
        and (ANY_IP in (other.ip, wanted.ip) or other.ip == wanted.ip)
        for other in used
    )
