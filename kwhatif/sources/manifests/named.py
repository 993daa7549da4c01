"""Objects of the cluster by name, wherever a manifest can stand: `pod/NAMESPACE/NAME`, `deploy/NAME`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from glob import has_magic
from typing import NamedTuple

from kwhatif.edits.selection import near_objects
from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.field_errors import did_you_mean, nearest
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.kinds import BY_WORD, RESOURCES, Resource
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.workload import POD_SOURCES, Namespace
from kwhatif.questions.manifests.applied import Applied
from kwhatif.report.inputs import SourceRow
from kwhatif.sources.text.files import SUFFIXES, GivenText, exists

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
    reason = cluster.unread.get(reference.resource.kind)
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
