"""The verbs of edits: a parser for the words after each of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from kwhatif.edits import edit as edits
from kwhatif.edits.edit import Edit, Wrong
from kwhatif.edits.words import (
    Word,
    add_words,
    assignment,
    bound_of,
    budget_words,
    delete_words,
    drain_words,
    entries,
    integer,
    label_words,
    labels_of,
    lists_of,
    lone,
    namespaced_name,
    object_references,
    patch_words,
    reference,
    requests_words,
    resize_words,
    scale_words,
    set_words,
    settle_words,
    split_assignments,
    switch,
    taints_of,
)
from kwhatif.kube.model.kinds import Resource
from kwhatif.kube.model.quantity import parse_duration, parse_quantity
from kwhatif.report.edit_notes import EditNote


class Reader(Protocol):
    """What parsing an edit needs from outside: files, and the API server's table of fields."""

    def objects(self, given: str | Mapping[str, Any]) -> tuple[Sequence[Any], Sequence[EditNote]]:
        """The objects of a manifest (a file name, or an object as data), and notes about them.

        Raises:
            InputError: with all problems of the manifest.
        """

    def requests(self, file: str, resource: str) -> edits.FoundRequests:
        """What a file says that pods use, or should request; `resource`: only that one, if it is not "".

        Raises:
            InputError: with all problems of the file.
        """

    def field(self, resource: Resource, path: str, value: Any) -> edits.Assignment:
        """A field of such objects and its new value; text is converted to the field's type.

        Raises:
            Wrong: the field does not exist, or the value is not valid.
        """

    def patch(self, resource: Resource, merge: Any) -> Mapping[str, Any]:
        """A merge patch for such objects; text is converted to the fields' types.

        Raises:
            Wrong: a field does not exist, or a value is not valid.
        """


def shown(word: Word) -> str:
    """A word as text: patches as JSON, manifests as kind and name."""
    if isinstance(word, Mapping) and isinstance(word.get("kind"), str) and isinstance(word.get("metadata"), Mapping):
        meta = word["metadata"]
        names = (word["kind"], meta.get("namespace"), meta.get("name") or meta.get("generateName"))
        return "/".join(name for name in names if isinstance(name, str))
    if isinstance(word, tuple):
        path, value = word
        return f"{path}={value if isinstance(value, str) else json.dumps(value, default=str)}"
    return json.dumps(word, default=str, separators=(",", ":"))


def _some(words: Sequence[Word], what: str) -> tuple[str, ...]:
    """All words: at least one, and all of them text."""
    if not words:
        raise Wrong(f"names no {what}")
    for word in words:
        if not isinstance(word, str) or not word:
            raise Wrong(f"expected the name of a {what}, got {shown(word)}")
    return tuple(words)


def _apply(text: str, words: list[Word], reader: Reader) -> Edit:
    if not words:
        raise Wrong("names no manifest", "write `apply FILE`")
    read = [reader.objects(word) for word in words]
    return edits.Apply(
        text=text,
        objects=tuple(obj for objects, _ in read for obj in objects),
        notes=tuple(note for _, notes in read for note in notes),
    )


def _taint(text: str, words: list[Word], _reader: Reader) -> Edit:
    nodes, added, removed = taints_of(_some(words, "node"))
    return edits.TaintNodes(text=text, nodes=nodes, added=added, removed=removed)


def _label(text: str, words: list[Word], _reader: Reader) -> Edit:
    names, rest = split_assignments(_some(words, "object"))
    added, removed = labels_of(rest)
    if not (added or removed):
        raise Wrong("names no label", "write key=value, or key- to remove it")
    return edits.Label(text=text, objects=object_references(names), added=added, removed=removed)


def _add(text: str, words: list[Word], _reader: Reader) -> Edit:
    if len(words) < 4 or words[1] not in ("node", "nodes") or words[2] != "like":
        raise Wrong("cannot be read", "write `add 3 nodes like NODE [key=value…]`")
    count = integer(words[0], "the number of nodes", low=1, high=10_000)
    added, removed = labels_of(words[4:])
    if removed:
        raise Wrong(f"{removed[0]}- removes a label: for new nodes labels can only be added", "write key=value")
    return edits.AddNodes(text=text, count=count, like=words[3], labels=added)


def _delete(text: str, words: list[Word], _reader: Reader) -> Edit:
    force = "--force" in words
    names = [word for word in words if word != "--force"]
    return edits.DeleteObjects(text=text, objects=object_references(_some(names, "object")), force=force)


def _scale(text: str, words: list[Word], reader: Reader) -> Edit:
    targets = []
    if "by" in words or words[-2:] == ["to", "max"]:
        return _scale_many(text, words, reader)
    for word in _some(words, "workload"):
        name, equals, count = word.rpartition("=")
        if not equals:
            raise Wrong(f"{word!r} does not say how many pods", "write KIND/NAMESPACE/NAME=REPLICAS")
        targets.append((reference(name), integer(count, "the number of replicas", low=0)))
    return edits.Scale(text=text, targets=tuple(targets))


#: A factor as it is written: a larger one than any cluster grows by is a typing error.
_FACTOR = re.compile(r"[0-9]{1,4}(\.[0-9]{1,6})?")
_MANY = "write `scale all by 1.5`, `scale -n shop by 2`, `scale deploy/shop/web by 2` or `scale hpa to max`"


def _scale_many(text: str, words: list[Word], _reader: Reader) -> Edit:
    """`all by 1.5`, `-n shop by 2`, `deploy/shop/web-* by 2`, `hpa to max`, `hpa -n shop to max`."""
    *who, last, value = _some(words, "workload")
    namespace: str | None = None
    if "-n" in who:
        place = who.index("-n")
        if place + 1 == len(who):
            raise Wrong("-n names no namespace", _MANY)
        namespace = who[place + 1]
        del who[place : place + 2]
    if (last, value) == ("to", "max"):
        if who not in (["hpa"], []):
            raise Wrong(f"{' '.join(who)} has no maximum", _MANY)
        return edits.ScaleToMax(text=text, namespace=namespace)
    if last != "by" or not _FACTOR.fullmatch(value):
        raise Wrong(f"{value!r} is not a factor", _MANY)
    is_all = who in (["all"], []) and (bool(who) or namespace is not None)
    if not is_all and (namespace is not None or not who):
        raise Wrong("cannot be read", _MANY)
    return edits.ScaleBy(
        text=text, factor=value, namespace=namespace, workloads=() if is_all else object_references(who)
    )


_FROM = (
    "write `requests from vpa`, `requests from metrics`, `requests from FILE` or `requests from cpu=FILE memory=FILE`"
)


def _requests(text: str, words: list[Word], reader: Reader) -> Edit:
    """`from vpa`, `from metrics`, `from usage.csv`, `from cpu=cpu.json memory=memory.json`."""
    if words[:1] != ["from"] or len(words) < 2:
        raise Wrong("does not say from where", _FROM)
    sources = _some(words[1:], "file")
    found = []
    for source in sources:
        resource, equals, file = source.partition("=")
        if resource not in ("cpu", "memory") or not equals:
            resource, file = "", source
        is_of_input = file in (edits.FROM_VPA, edits.FROM_METRICS)
        if is_of_input and resource:
            raise Wrong(f"{source}: {file} gives cpu and memory", f"write {file}")
        if not is_of_input:
            found.append(reader.requests(file, resource))
    return edits.Requests(
        text=text,
        sources=sources,
        found=edits.FoundRequests(
            tuple(row for each in found for row in each.measured), tuple(vpa for each in found for vpa in each.vpas)
        ),
    )


def _resize(text: str, words: list[Word], _reader: Reader) -> Edit:
    """`pod/shop/web-0 cpu=2 limits.cpu=2`, or `pod/shop/web-0 main:cpu=2`."""
    if len(words) < 2:
        raise Wrong("cannot be read", "write `resize pod/NAMESPACE/NAME cpu=2 limits.memory=1Gi`")
    containers: set[str] = set()
    found: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for word in _some(words[1:], "resource"):
        name, equals, amount = word.partition("=")
        container, _, field = name.rpartition(":")
        part, _, resource = field.rpartition(".")
        if not equals or resource not in ("cpu", "memory") or part not in ("", *found):
            raise Wrong(f"{word!r} is not a resource to resize", "write cpu=2, memory=1Gi, or limits.cpu=2")
        try:
            parse_quantity(amount)
        except ValueError as wrong:
            raise Wrong(f"{word!r}: {wrong}") from wrong
        containers.add(container)
        found[part or "requests"][resource] = amount
    if len(containers) > 1:
        raise Wrong("resizes several containers", "write one edit for each of them")
    return edits.Resize(text=text, pod=reference(words[0], "pod"), container=containers.pop(), **found)


def _restart(text: str, words: list[Word], _reader: Reader) -> Edit:
    return edits.Restart(text=text, workloads=object_references(_some(words, "workload")))


def _set(text: str, words: list[Word], reader: Reader) -> Edit:
    if len(words) < 2:
        raise Wrong("cannot be read", "write `set KIND/NAMESPACE/NAME PATH=VALUE`")
    target = reference(words[0])
    pairs = (assignment(word) if isinstance(word, str) else word for word in words[1:])
    values = tuple(reader.field(target.resource, path, value) for path, value in pairs)
    return edits.SetFields(text=text, object=target, values=values)


def _patch(text: str, words: list[Word], reader: Reader) -> Edit:
    if len(words) != 2:
        raise Wrong("cannot be read", "write `patch KIND/NAMESPACE/NAME '{\"spec\": …}'`")
    target, merge = reference(words[0]), words[1]
    if isinstance(merge, str):
        try:
            merge = json.loads(merge)
        except (ValueError, RecursionError) as wrong:
            raise Wrong(f"the patch is not JSON: {wrong}") from wrong
    return edits.Patch(text=text, object=target, merge=reader.patch(target.resource, merge))


def _priority(text: str, words: list[Word], _reader: Reader) -> Edit:
    name, equals, value = lone(words, "CLASS=VALUE").partition("=")
    if not (name and equals):
        raise Wrong("cannot be read", "write `priority CLASS=VALUE`")
    return edits.Priority(text=text, name=name, value=integer(value, "a priority", low=-(2**31), high=2_000_001_000))


def _budget(text: str, words: list[Word], _reader: Reader) -> Edit:
    bounds: dict[str, int | str] = {}
    selector: dict[str, str] = {}
    name, *rest = _some(words, "budget")
    for word in rest:
        key, _, value = word.partition("=")
        if key in ("minAvailable", "maxUnavailable"):
            bounds[key] = bound_of(key, value)
        else:
            selector.update(labels_of([word])[0])
    if len(bounds) != 1:
        raise Wrong("must say one of minAvailable and maxUnavailable", "write `budget shop/web maxUnavailable=1`")
    namespace, name = namespaced_name(name)
    return edits.Budget(
        text=text,
        name=name,
        namespace=namespace,
        min_available=bounds.get("minAvailable"),
        max_unavailable=bounds.get("maxUnavailable"),
        selector=selector,
    )


#: Flags of kubectl drain whose value may be the next word.
_WITH_VALUE = ("--timeout", "--grace-period", "--pod-selector", "--skip-wait-for-delete-timeout")


def _joined(words: list[Word]) -> Iterator[Word]:
    """Join `--timeout 60s` to `--timeout=60s`."""
    rest = iter(words)
    for word in rest:
        yield f"{word}={next(rest, '')}" if word in _WITH_VALUE else word


def _drain(text: str, words: list[Word], _reader: Reader) -> Edit:
    words = list(_joined(words))
    args = [word for word in words if isinstance(word, str) and word.startswith("--")]
    own = {name: value for name, _, value in (word.partition("=") for word in args) if name in ("--timeout", "--wait")}
    try:
        wait = switch(own.get("--wait", "true"))
    except ValueError as wrong:
        raise Wrong(f'invalid argument "{own["--wait"]}" for "--wait" flag: {wrong}') from wrong
    return edits.Drain(
        text=text,
        nodes=_some([word for word in words if word not in args], "node"),
        args=tuple(word for word in args if word.partition("=")[0] not in own),
        timeout=_seconds(own["--timeout"]) if "--timeout" in own else None,
        wait=wait,
    )


def _wait(text: str, words: list[Word], _reader: Reader) -> Edit:
    return edits.Wait(text=text, seconds=_seconds(lone(words, "DURATION")))


def _settle(text: str, words: list[Word], _reader: Reader) -> Edit:
    if words:
        raise Wrong("settle takes no arguments")
    return edits.Settle(text=text)


def _seconds(text: str) -> float:
    try:
        duration = parse_duration(text)
    except ValueError as wrong:
        raise Wrong(str(wrong)) from wrong
    if duration < 0:
        raise Wrong(f"{text} is negative: time only runs forward")
    return duration / 1e9


def _about_nodes(kind: Callable[..., Edit]) -> Callable[[str, list[Word], Reader], Edit]:
    def parse(text: str, words: list[Word], _reader: Reader) -> Edit:
        return kind(text=text, nodes=_some(words, "node"))

    return parse


def _evict(text: str, words: list[Word], _reader: Reader) -> Edit:
    return edits.EvictPods(text=text, pods=object_references(_some(words, "pod"), "pod"))


class Verb(NamedTuple):
    """How an edit with this verb is read."""

    #: From its words; the text is that of the whole edit.
    parse: Callable[[str, list[Word], Reader], Edit]
    #: The words of the same edit as YAML.
    words: Callable[[Any], list[Word]]


_NODES = lists_of("nodes")
VERBS: Mapping[str, Verb] = {
    "cordon": Verb(_about_nodes(edits.Cordon), _NODES),
    "uncordon": Verb(_about_nodes(edits.Uncordon), _NODES),
    "taint": Verb(_taint, lists_of("nodes", "taints")),
    "label": Verb(_label, lists_of("objects", "labels")),
    "add": Verb(_add, add_words),
    "delete": Verb(_delete, delete_words),
    "scale": Verb(_scale, scale_words),
    "requests": Verb(_requests, requests_words),
    "resize": Verb(_resize, resize_words),
    "restart": Verb(_restart, lists_of("objects")),
    "set": Verb(_set, set_words),
    "patch": Verb(_patch, patch_words),
    "priority": Verb(_priority, label_words),
    "budget": Verb(_budget, budget_words),
    "apply": Verb(_apply, entries),
    "drain": Verb(_drain, drain_words),
    "fail": Verb(_about_nodes(edits.Fail), _NODES),
    "recover": Verb(_about_nodes(edits.Recover), _NODES),
    "evict": Verb(_evict, lists_of("pods")),
    "wait": Verb(_wait, entries),
    "settle": Verb(_settle, settle_words),
}
