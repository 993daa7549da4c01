"""Finds the objects that an edit names, by name, glob or label selector, and suggests similar names.

Flags of `kubectl drain` select pods, too (`k8s.io/kubectl/pkg/cmd/drain/drain.go`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.edits.edit import Drain, Reference, Wrong
from kwhatif.edits.words import switch
from kwhatif.kube.matching.field_errors import did_you_mean, is_like, nearest
from kwhatif.kube.matching.labels import Selector, SelectorError, parse_selector
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.kinds import BY_WORD, RESOURCES, Resource
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import WORKLOADS

#: A set-based requirement within a text, from its operator on, because searching for a key would be slow.
_HAS_IN = re.compile(r"(?<=\s)(?:in|notin)\s+\([^()]*\)")
#: The most names that are suggested or listed, so that they fit in one line.
_MOST = 3
#: If no name is similar, all names are listed if there are at most this many.
_FEW = 6


class Lookup:
    """Finds objects, and collects problems, so that one run reports all of them."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        #: The namespace for objects that name none.
        self.namespace = namespace
        self.mistakes: list[Wrong] = []

    def nodes(self, words: Sequence[str]) -> list[Node]:
        """The nodes for these words, without duplicates, in order; those of a glob or selector by name."""
        nodes = self.cluster.all(Node)
        found: dict[str, Node] = {}
        for word in words:
            try:
                some = {name: nodes[name] for name in _nodes_of(word, nodes)}
            except Wrong as wrong:
                self.mistakes.append(wrong)
                continue
            if not some:
                self.mistakes.append(self._no_node(word, nodes))
            found |= some
        return list(found.values())

    def node(self, word: str) -> Node | None:
        """The node with that name."""
        nodes = self.cluster.all(Node)
        node = nodes.get(full_name(word, nodes))
        if node is None:
            self.mistakes.append(self._no_node(word, nodes))
        return node

    def _no_node(self, word: str, nodes: Mapping[str, Node]) -> Wrong:
        if _is_selector(word):
            return Wrong(f"no node has the labels {word}", _near_labels(word, nodes))
        if _is_glob(word):
            return Wrong(f"no node has a name like {word}", _near(word.replace("*", ""), nodes))
        if several := _of_short_name(word, nodes):
            return Wrong(f"{word} is ambiguous: {some(several)}", "name one of them")
        return Wrong(f'nodes "{word}" not found', self._unread("Node", "nodes") or _near(_bare(word), nodes))

    def objects(self, references: Sequence[Reference]) -> list[Any]:
        """The objects for these references, without duplicates, in order; those of a glob by name."""
        found: dict[tuple[type, str], Any] = {}
        for reference in references:
            some = dict(self._objects_of(reference))
            if not some:
                self.mistakes.append(self._no_object(reference))
            found |= {(reference.resource.type, key): obj for key, obj in some.items()}
        return list(found.values())

    def object(self, reference: Reference) -> Any | None:
        """The only object for this reference."""
        found = dict(self._objects_of(reference))
        if not found:
            self.mistakes.append(self._no_object(reference))
        if len(found) > 1:
            self.mistakes.append(Wrong(f"{reference.text} is ambiguous: {some(list(found))}", "name one of them"))
        return next(iter(found.values())) if len(found) == 1 else None

    def _objects_of(self, reference: Reference) -> Iterator[tuple[str, Any]]:
        resource, name = reference.resource, reference.name
        objects: Mapping[str, Any] = self.cluster.all(resource.type)
        prefix = f"{self._namespace_of(reference)}/" if resource.namespaced else ""
        if resource.type is Node and not _is_glob(name):
            name = full_name(name, objects)
        if not _is_glob(prefix + name):
            if prefix + name in objects:
                yield prefix + name, objects[prefix + name]
            return
        yield from ((key, objects[key]) for key in sorted(objects) if _is_like(key, prefix + name))

    def _namespace_of(self, reference: Reference) -> str:
        return self.namespace if reference.namespace is None else reference.namespace

    def _no_object(self, reference: Reference) -> Wrong:
        resource = reference.resource
        where = f" in namespace {self._namespace_of(reference)}" if resource.namespaced else ""
        message = f'{resource.plural} "{reference.name}" not found{where}'
        unread = self._unread(resource.kind, resource.plural)
        return Wrong(
            message, unread or did_you_mean(self.near(resource, self._namespace_of(reference), reference.name))
        )

    def near(self, resource: Resource, namespace: str, name: str) -> list[str]:
        """Suggestions, see `near_objects`."""
        return near_objects(resource, namespace, name, self.cluster)

    def _unread(self, kind: str, plural: str) -> str:
        """Why there are no objects of the kind, if they could not be read."""
        reason = self.cluster.facts.unread.get(kind)
        return f"{reason} {plural}" if reason else ""


def near_objects(resource: Resource, namespace: str, name: str, cluster: Cluster, word: str = "") -> list[str]:
    """Existing objects that the user may mean instead of an unknown one, the likeliest first: `pod/shop/web-0`.

    Objects with that name in other namespaces; else, of a pod, the workload of that name and its pods; else similar
    names. `word`: how the kind was written.
    """
    objects: Mapping[str, Any] = cluster.all(resource.type)
    word = word or resource.kind.lower()
    prefix = f"{namespace}/" if resource.namespaced else ""
    same = [key for key, obj in objects.items() if obj.metadata.name == name]
    beside = [obj.metadata.name for obj in objects.values() if obj.metadata.namespace == namespace]
    of_it = sorted(found for found in beside if found.startswith(f"{name}-"))
    close = [f"{prefix}{found}" for found in of_it or nearest(name, beside)] or nearest(f"{prefix}{name}", objects)
    makers = [kind for kind in WORKLOADS if cluster.get(kind, prefix + name)] if resource.type is Pod else []
    found = [
        *(f"{kind.__name__.lower()}/{prefix}{name}" for kind in makers),
        *(f"{word}/{key}" for key in same or close),
    ]
    return found[:_MOST]


def some(keys: Sequence[str]) -> str:
    """The first few of these names, and the number of the others."""
    more = f" and {len(keys) - _MOST} more" if len(keys) > _MOST else ""
    return ", ".join(keys[:_MOST]) + more


def _near(word: str, known: Collection[str]) -> str:
    """A hint with similar names, or with all names if there are only a few."""
    near = nearest(word, known)
    if near or len(known) > _FEW:
        return did_you_mean(near)
    return f"there {'is' if len(known) == 1 else 'are'} {', '.join(sorted(known)) or 'none'}"


def _is_glob(word: str) -> bool:
    return any(character in word for character in "*?[")


def _is_like(key: str, pattern: str) -> bool:
    """Whether the key matches the pattern; globs do not match the slash between namespace and name."""
    parts, patterns = key.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(is_like, parts, patterns))


def _is_selector(word: str) -> bool:
    return "=" in word or word.startswith("!") or _HAS_IN.search(word) is not None


def full_name(word: str, nodes: Mapping[str, Node]) -> str:
    """The full name of the node, or the word without `node/` if there is none or more than one.

    It may be written as in kubectl, `node/NAME`, or as reports print it, without the domain that other nodes share:
    `ip-10-0-1-2` for `ip-10-0-1-2.eu-west-1.compute.internal`.
    """
    name = _bare(word)
    if name in nodes:
        return name
    found = _of_short_name(name, nodes)
    return found[0] if len(found) == 1 else name


def _of_short_name(word: str, nodes: Mapping[str, Node]) -> list[str]:
    start = f"{_bare(word)}."
    return sorted(name for name in nodes if name.startswith(start))


def _bare(word: str) -> str:
    """The word without the kind before the name: node names have no slash."""
    kind, slash, name = word.partition("/")
    return name if slash and name and BY_WORD.get(kind.lower()) is RESOURCES[Node] else word


def _nodes_of(word: str, nodes: Mapping[str, Node]) -> Iterator[str]:
    if not _is_selector(word):
        name = full_name(word, nodes)
        yield from ([name] if name in nodes else (each for each in sorted(nodes) if is_like(each, name)))
        return
    selector = selector_of(word)
    yield from (name for name in sorted(nodes) if selector.matches(nodes[name].metadata.labels))


def selector_of(text: str) -> Selector:
    """Parse a label selector in kubectl's notation: `zone=b,disk!=ssd,!gpu,tier in (a,b)`.

    Raises:
        Wrong: it is not valid.
    """
    try:
        return parse_selector(text)
    except SelectorError as wrong:
        raise Wrong(f"{text!r} is not a label selector: {wrong}") from wrong


def _near_labels(word: str, nodes: Mapping[str, Node]) -> str:
    """A hint with existing labels of nodes, for a selector of a single label."""
    key, _, value = word.partition("=")
    known: dict[str, set[str]] = {}
    for node in nodes.values():
        for name, content in node.metadata.labels.items():
            known.setdefault(name, set()).add(content)
    if key in known:
        values = nearest(value, known[key]) or sorted(known[key])[:_MOST]
        return did_you_mean([f"{key}={found}" for found in values])
    return did_you_mean(nearest(key, known))


#: Flag -> option; flags that an edit expresses in another way are left out.
_FLAGS = {
    f"--{field.name.replace('_', '-')}": field
    for field in msgspec.structs.fields(DrainOptions)
    if field.name not in ("timeout", "parallel")
}


def drain_options(edit: Drain) -> DrainOptions:
    """Parse the edit's flags.

    Raises:
        Wrong: an unknown flag or an invalid value.
    """
    options: dict[str, Any] = {"timeout": edit.timeout or 0.0}
    for flag in edit.args:
        name, _, value = flag.partition("=")
        if name not in _FLAGS:
            raise Wrong(f"unknown flag: {name}", did_you_mean(nearest(name, _FLAGS)))
        try:
            options[_FLAGS[name].name] = _READERS[_FLAGS[name].type](value)
        except Wrong:
            raise
        except ValueError as wrong:
            raise Wrong(f'invalid argument "{value}" for "{name}" flag: {wrong}') from wrong
    return DrainOptions(**options)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def _pods(text: str) -> str:
    try:
        selector_of(text)
    except Wrong as wrong:
        raise Wrong("--pod-selector=<pod_selector> must be a valid label selector", wrong.message) from wrong
    return text


_READERS = {bool: switch, int: _whole, str: _pods}
