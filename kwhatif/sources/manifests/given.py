"""What a caller gives as a manifest: paths, text, open files, Kubernetes objects, or names of objects of the cluster.

A name can stand wherever a manifest can: `pod/NAMESPACE/NAME`, `deploy/NAME`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from glob import has_magic
from typing import Any, NamedTuple, Protocol

import msgspec

from kwhatif.edits.selection import near_objects
from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.field_errors import did_you_mean, nearest
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.kinds import BY_WORD, RESOURCES, Resource
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.workload import POD_SOURCES, Namespace
from kwhatif.questions.manifests.applied import Applied
from kwhatif.report.inputs import SourceRow
from kwhatif.sources.decoding.kinds import BY_KIND
from kwhatif.sources.text.files import SUFFIXES, GivenText, exists


class Readable(Protocol):
    """An open file, or whatever else reads like one."""

    def read(self) -> str | bytes: ...  # noqa: D102


class ClientModel(Protocol):
    """An object of a client library, such as `V1Pod` of the official one."""

    def to_dict(self) -> dict[str, Any]: ...  # noqa: D102


#: A path, "-" for standard input, `text("…")`, an open file, an object (a dict, or one of a client library), or a list
#: of objects.
Source = str | os.PathLike[str] | Readable | ClientModel | Mapping[str, Any] | Sequence[Mapping[str, Any] | ClientModel]


class NotAPath(TypeError):
    """Text stands where a path is expected."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


_ACCEPTED = "a path, kwhatif.text(...), an open file, or Kubernetes objects as dicts"
#: `V1Pod`, `V1beta1DeviceClass`, `CoreV1Event` are kinds with their version.
_MODEL = re.compile(r"(?:[A-Z][a-z]+)?V\d++(?:(?:alpha|beta)\d++)?(\w+)")


def text(content: str | bytes, name: str = "text") -> GivenText:
    """YAML or JSON that is at hand, to be given in the place of a path; errors call it `name`.

    Raises:
        TypeError: `content` is neither a string nor bytes.
    """
    if not isinstance(content, (str, bytes)):
        raise TypeError(f"text() takes a string or bytes, not {_kind(content)}")
    return GivenText(name, content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)


def named_inputs(sources: Iterable[object], argument: str) -> list[str]:
    """The sources as paths and texts; texts without a name are called by the argument, such as `manifest 2`.

    Raises:
        TypeError: one of them is nothing of that kind.
    """
    return [named_input(source, f"{argument} {number}") for number, source in enumerate(sources, 1)]


def named_input(source: object, name: str) -> str:
    """One source as a path or a text.

    Raises:
        TypeError: it is nothing of that kind.
    """
    if isinstance(source, GivenText):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _path(os.fspath(source), name)
    if isinstance(source, (bytes, bytearray)):
        raise TypeError(f"{name} is {_kind(source)}: for text write kwhatif.text(...)")
    read = getattr(source, "read", None)
    if callable(read):
        file = getattr(source, "name", None)
        return text(read(), file if isinstance(file, str) else name)
    if isinstance(source, (list, tuple)):
        entries = [_object(entry, f"{name}[{index}]") for index, entry in enumerate(source)]
        return GivenText(name, _json({"apiVersion": "v1", "kind": "List", "items": entries}, name))
    return GivenText(name, _json(_object(source, name), name))


def _path(path: object, name: str) -> str:
    if not isinstance(path, str):
        raise TypeError(f"{name} is a path of bytes: give it as a string")
    looks_like_text = "\n" in path or path.lstrip().startswith("{")
    if looks_like_text and not exists(path):
        raise NotAPath(f"{name} is text, and a string is a path: write kwhatif.text(...)", path)
    return path


def _object(source: object, name: str) -> object:
    if isinstance(source, Mapping):
        return source
    if (made := _from_model(source)) is not None:
        return made
    raise TypeError(f"{name} is {_kind(source)}; it can be {_ACCEPTED}")


def _from_model(source: object) -> object | None:
    """A model of the official client by the API's names, another one by its `to_dict`; None: it is neither."""
    names, types = getattr(source, "attribute_map", None), getattr(source, "openapi_types", None)
    if isinstance(names, Mapping) and isinstance(types, Mapping):
        fields = {names[field]: value for field in types if (value := getattr(source, field, None)) is not None}
        if {"apiVersion", "kind"} <= {*names.values()} and "kind" not in fields:
            fields |= _type_of(source)  # in lists, the client leaves it out
        return fields
    to_dict = getattr(source, "to_dict", None)
    return to_dict() if callable(to_dict) and not isinstance(source, type) else None


def _type_of(source: object) -> dict[str, str]:
    named = _MODEL.fullmatch(type(source).__name__)
    resource = BY_KIND.get(named[1]) if named else None
    return {"apiVersion": resource.api_version, "kind": resource.kind} if resource else {}


def _json(data: object, name: str) -> bytes:
    try:
        return msgspec.json.encode(data, enc_hook=_plain)
    except (TypeError, ValueError, RecursionError) as failure:
        raise TypeError(f"{name} holds something that JSON cannot: {failure}") from failure


def _plain(value: object) -> object:
    if (made := _from_model(value)) is not None:
        return made
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


def _kind(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


#: What can be asked for by name.
_WITH_PODS = [RESOURCES[kind] for kind in POD_SOURCES]


class ObjectReference(NamedTuple):
    """An object that a user names: `text` as it was written; without a namespace, the default one is meant."""

    text: str
    resource: Resource
    namespace: str
    name: str

    @property
    def key(self) -> str:
        """The key of the object."""
        return f"{self.namespace}/{self.name}"


def parse_reference(text: str, default_namespace: str) -> ObjectReference | None:
    """The reference that the text is; None for a path. A file or directory of that name is meant, where there is one.

    `KIND/NAME` and `KIND/NAMESPACE/NAME`; the kind may be singular, plural, short, or followed by its group.
    """
    word, *rest = text.split("/")
    resource = BY_WORD.get(word.lower())
    if isinstance(text, GivenText) or exists(text):
        return None
    if resource is None or len(rest) not in (1, 2) or not all(rest):
        return None
    namespace, name = rest if len(rest) == 2 else (default_namespace, *rest)
    return ObjectReference(text, resource, namespace, name)


def joined_names(words: Sequence[str]) -> Iterator[str]:
    """Words as kubectl takes them: each after a kind that stands alone is the name of such an object.

    `deployment web` is `deployment/web`. Where there is a file of that name, that is meant.
    """
    kind = ""
    for word in words:
        if isinstance(word, GivenText) or exists(word):
            kind = ""
        elif word.lower() in BY_WORD and not kind:
            kind = word
            if word is words[-1]:
                yield word
            continue
        yield f"{kind}/{word}" if kind and word.partition("/")[0].lower() not in BY_WORD else word


def unknown_kind(text: str) -> Problem | None:
    """What is wrong with a name such as `depl/shop/web`; None for what may be the path of a file."""
    word, *rest = text.split("/")
    if not rest and word.lower() in BY_WORD and not exists(word):
        return Problem(
            text, "there is no such file, and as a kind it lacks a name", hint=f"write {word}/NAMESPACE/NAME"
        )
    if isinstance(text, GivenText) or word.lower() in BY_WORD or len(rest) not in (1, 2) or not all((word, *rest)):
        return None
    if has_magic(text) or text.endswith(SUFFIXES) or exists(word):
        return None
    near = nearest(word, [word for word, resource in BY_WORD.items() if resource in _WITH_PODS])
    if not near:
        return None
    message = f"there is no such file, and {word!r} is not a kind: {', '.join(each.kind for each in _WITH_PODS)}"
    return Problem(text, message, hint=did_you_mean(["/".join((near[0], *rest))]))


def find_named(reference: ObjectReference, cluster: Cluster) -> Applied | Problem:
    """The named object of the cluster, to be judged as if restarted; or why there is none."""
    resource = reference.resource
    if not issubclass(resource.type, POD_SOURCES):
        return Problem(reference.text, f"a {resource.kind} is not a pod, and no pods are made of it")
    found: KubernetesObject | None = cluster.get(resource.type, reference.key)
    if found is None:
        message = f'{resource.plural} "{reference.name}" not found in namespace {reference.namespace}'
        return Problem(reference.text, message, hint=_hint(reference, cluster))
    source = SourceRow(file=reference.text, object=f"{resource.kind} {reference.key}")
    return Applied(found, source, restarted=True)


def _hint(reference: ObjectReference, cluster: Cluster) -> str:
    """What may have been meant, or that it could not be read."""
    reason = cluster.facts.unread.get(reference.resource.kind)
    if reason:
        return f"{reason} {reference.resource.plural}"
    word = reference.text.partition("/")[0]
    return did_you_mean(near_objects(reference.resource, reference.namespace, reference.name, cluster, word))


def pending_keys(names: Sequence[str], clusters: Sequence[Cluster], default_namespace: str) -> list[str]:
    """The keys of pods that are pending in any of these, by name: `pod/NAMESPACE/NAME`, `NAMESPACE/NAME` or `NAME`.

    Raises:
        InputError: with every name of which there is no pending pod.
    """
    keys: list[str] = []
    problems: list[Problem] = []
    for name in names:
        key = _pod_key(name, default_namespace)
        if key is None:
            hint = "write NAMESPACE/NAME, pod/NAMESPACE/NAME, or NAME with -n"
            problems.append(Problem(repr(name), "is not the name of a pod", hint=hint))
            continue
        wrong = [_not_pending(name, key, cluster.get(Pod, key), cluster) for cluster in clusters]
        if None in wrong:
            keys.append(key)
        else:
            problems.extend(filter(None, wrong[:1]))
    if problems:
        raise InputError(problems)
    return keys


def _pod_key(name: str, default_namespace: str) -> str | None:
    """None for what cannot be the name of a pod."""
    parts = name.split("/")
    if len(parts) > 1 and BY_WORD.get(parts[0].lower()) is RESOURCES[Pod]:
        parts = parts[1:]
    match parts:
        case [namespace, own] if namespace and own:
            return f"{namespace}/{own}"
        case [own] if own:
            return f"{default_namespace}/{own}"
    return None


def _not_pending(name: str, key: str, pod: Pod | None, cluster: Cluster) -> Problem | None:
    if pod is None:
        namespace, _, own = key.partition("/")
        reference = ObjectReference(f"pod/{name}", RESOURCES[Pod], namespace, own)
        hint = _hint(reference, cluster)
        return Problem(name, f'pods "{own}" not found in namespace {namespace}', hint=hint)
    if is_terminal(pod):
        return Problem(name, f"it is not pending: its phase is {pod.status.phase}")
    if pod.spec.node_name:
        return Problem(name, f"it is not pending: it is on node {pod.spec.node_name}")
    if pod.metadata.deletion_timestamp is not None:
        return Problem(name, "it is not in the queue: it is being deleted")
    return None


def require_namespace(name: str, cluster: Cluster) -> None:
    """Check that the namespace exists; "" stands for all.

    Raises:
        InputError: there are namespaces, and none of that name.
    """
    known = cluster.all(Namespace)
    used = {pod.metadata.namespace for pod in cluster.all(Pod).values()}
    if name and known and name not in known and name not in used:
        raise InputError([Problem(f"namespace {name}", "not found", hint=did_you_mean(nearest(name, known)))])
