"""What a saved snapshot leaves out.

The model is the redaction: environment, commands, arguments, what probes ask, managed fields have no place in it. What
is left to drop are annotations that no rule reads, images, and, of pods that a controller has made, volumes that no
rule reads. Templates keep the names of theirs, and short digests of all their fields: `kwhatif gate` finds out by the
template whether a workload changes.

Objects are walked over whole: to every text, or to every part of a type. Fields are found by their types, so that none
can be forgotten: a field that is added to the model is walked to, too. Walks are compiled once per type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from operator import is_
from typing import Any, NamedTuple, TypeVar

from msgspec import inspect
from msgspec.structs import replace

from kwhatif.autoscaler.cluster_autoscaler.groups import without_unknown as arguments_without_unknown
from kwhatif.autoscaler.karpenter.settings import without_unknown as settings_without_unknown
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import AnnotatedMeta, Model, ObjectMeta, controller_of
from kwhatif.kube.model.node import Node, NodeSpec, NodeStatus
from kwhatif.kube.model.pod import JOB_TRACKING, NO_ANNOTATIONS, Pod, PodMeta, PodSpec, TemplateDigest
from kwhatif.kube.model.storage import Volume
from kwhatif.kube.model.workload import WORKLOADS
from kwhatif.workloads.applied_object import without_secrets
from kwhatif.workloads.applied_template import template_of, with_template
from kwhatif.workloads.stateful_set import CLAIM_NAME
from kwhatif.workloads.template import digest_of, has_images, without_images


class Place(NamedTuple):
    """Where a text stands."""

    #: The type, and the field of it.
    owner: str
    field: str
    #: Of a value in a map, and of what a requirement, taint or toleration has: its key.
    key: str = ""
    #: Whether the text is itself the key of an entry of a map.
    is_key: bool = False
    #: Whether the field may hold a number as well: the text is a number, or an amount, then.
    is_amount: bool = False


#: Place and text -> the new text.
Rename = Callable[[Place, str], str]
#: A value, the key that says what it is, and how texts are renamed -> the new value.
Step = Callable[[Any, str, Rename], Any]


def _as_it_is(_: Place, text: str) -> str:
    return text


class Walker:
    """Walks over objects of all types: to their texts, or to the parts of them that are of certain types."""

    def __init__(self, parts: Mapping[type, Callable[[Any], Any]] | None = None) -> None:
        """`parts`: what becomes of parts of these types; texts are then not walked to."""
        self._parts = parts
        self._steps: dict[type, Step | None] = {}

    def rewrite(self, obj: Any, rename: Rename = _as_it_is) -> Any:
        """The object with every text renamed, or every part rewritten; the same object if nothing changed."""
        step = self._step_of(type(obj))
        return obj if step is None else step(obj, "", rename)

    def _step_of(self, type_: type) -> Step | None:
        if type_ not in self._steps:
            part = (self._parts or {}).get(type_)
            self._steps[type_] = _struct_step(self._fields(type_)) if part is None else _part_step(part)
        return self._steps[type_]

    def _fields(self, type_: type) -> dict[str, Step]:
        fields = {
            field.name: self._compile(field.type, Place(type_.__name__, field.name)) for field in _fields_of(type_)
        }
        return {name: step for name, step in fields.items() if step is not None}

    def _compile(self, type_: inspect.Type, place: Place) -> Step | None:
        match type_:
            case inspect.StructType():
                return self._step_of(type_.cls)
            case inspect.VarTupleType():
                return _each_step(self._compile(type_.item_type, place))
            case inspect.DictType():
                return self._map(type_, place)
            case inspect.UnionType():
                return self._union(type_, place)
            case inspect.StrType() if self._parts is None:
                return _text_step(place)
            case inspect.AnyType() if self._parts is None:
                return _nothing_step
        return None

    def _union(self, type_: inspect.UnionType, place: Place) -> Step | None:
        """A type that may be missing, or a text that may as well be a number."""
        types = [option for option in type_.types if not isinstance(option, inspect.NoneType)]
        if len(types) == 1:
            return self._compile(types[0], place)
        return _text_step(place._replace(is_amount=True)) if self._parts is None else None

    def _map(self, type_: inspect.DictType, place: Place) -> Step | None:
        inner = self._compile(type_.value_type, place)
        if self._parts is not None:
            return inner and _map_step(inner, None)
        return _map_step(inner, place._replace(is_key=True))


@cache
def _fields_of(type_: type) -> tuple[inspect.Field, ...]:
    """The fields of a type with their types, which take long to find out: once a process."""
    info = inspect.type_info(type_)
    assert isinstance(info, inspect.StructType)
    return info.fields


def _part_step(part: Callable[[Any], Any]) -> Step:
    def rewritten(value: Any, _: str, __: Rename) -> Any:
        return part(value)

    return rewritten


def _nothing_step(value: Any, _: str, __: Rename) -> Any:
    """A value without a type is not modelled: only whether it is there counts."""
    return {} if isinstance(value, dict) else None


def _struct_step(steps: Mapping[str, Step]) -> Step | None:
    if not steps:
        return None
    items = tuple(steps.items())

    def struct(obj: Any, _: str, rename: Rename) -> Any:
        changed = {}
        key = getattr(obj, "key", "")
        for name, step in items:
            value = getattr(obj, name)
            if value:
                new = step(value, "" if name == "key" else key, rename)
                if new is not value:
                    changed[name] = new
        return replace(obj, **changed) if changed else obj

    return struct


def _each_step(inner: Step | None) -> Step | None:
    if inner is None:
        return None

    def each(values: tuple[Any, ...], key: str, rename: Rename) -> tuple[Any, ...]:
        new = tuple(inner(value, key, rename) for value in values)
        return values if all(map(is_, new, values)) else new

    return each


def _map_step(inner: Step | None, keys: Place | None) -> Step:
    """A map; `keys`: where its keys stand, if they are texts that may be renamed."""

    def map_(values: Mapping[str, Any], _: str, rename: Rename) -> Any:
        new = {
            key if keys is None else rename(keys, key): inner(value, key, rename) if inner and value else value
            for key, value in values.items()
        }
        same = new.keys() == values.keys() and all(map(is_, new.values(), values.values()))
        return values if same else new

    return map_


def _text_step(place: Place) -> Step:
    def text(value: Any, key: str, rename: Rename) -> Any:
        if not isinstance(value, str):
            return value
        return rename(place._replace(key=key) if key else place, value)

    return text


#: Annotations that are rules. Everything else may hold anything.
READ_ANNOTATIONS = frozenset(
    {
        CLAIM_NAME,
        "cluster-autoscaler.kubernetes.io/scale-down-disabled",
        "karpenter.sh/do-not-disrupt",
        "pv.kubernetes.io/bind-completed",
        "resource.kubernetes.io/extended-resource-claim",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "storageclass.beta.kubernetes.io/is-default-class",
        "storageclass.kubernetes.io/is-default-class",
        "volume.beta.kubernetes.io/storage-class",
        "volume.kubernetes.io/selected-node",
    }
)


def _with_rules(meta: AnnotatedMeta) -> AnnotatedMeta:
    if meta.annotations.keys() <= READ_ANNOTATIONS:
        return meta
    return replace(meta, annotations={key: text for key, text in meta.annotations.items() if key in READ_ANNOTATIONS})


#: Finds annotations wherever they stand: those of claims that are made of templates, too.
_ANNOTATED = Walker({AnnotatedMeta: _with_rules})
_NODE_POOL = "karpenter.sh/nodepool"
_SOME_FINALIZER = "kwhatif.dev/some-finalizer"
#: BLAKE2 takes keys of 64 bytes.
_LONGEST_SALT = 16
T = TypeVar("T", bound=Model)


def redact(obj: T, *, images: bool, arguments: bool = True) -> T:
    """The object without what scheduling does not read; with images, and an autoscaler's arguments, if asked for."""
    meta: ObjectMeta = obj.metadata  # type: ignore[attr-defined]
    obj = _ANNOTATED.rewrite(obj)
    if meta.applied is not None:
        kept = replace(obj.metadata, applied=without_secrets(meta.applied))  # type: ignore[attr-defined]
        obj = replace(obj, metadata=kept)
    if isinstance(obj, WORKLOADS):
        obj = _digested(obj)
        template = template_of(obj)
        if template is not None and _runs_autoscaler(template.metadata):
            obj = with_template(obj, replace(template, metadata=_with_flags(template.metadata, keep=arguments)))
    match obj:
        case Node():
            return replace(obj, spec=_node_spec(obj), status=_node_status(obj.status, images=images))
        case Pod():
            spec = obj.spec if images else without_images(obj.spec)
            return replace(
                obj,
                metadata=_with_flags(_pod_meta(obj.metadata), keep=arguments),
                spec=spec if controller_of(meta) is None else _without_unread_volumes(spec),
            )
    if isinstance(obj, WORKLOADS) and not images and (template := template_of(obj)) is not None:
        return with_template(obj, replace(template, spec=without_images(template.spec)))
    return obj


def _digested(workload: T) -> T:
    """Its template with digests instead of its text.

    Who owns ReplicaSets compares their templates with its own: those of a family have one salt.
    """
    template = template_of(workload)
    if template is None or (template.text is None and template.digest is None):
        return workload
    meta: ObjectMeta = workload.metadata  # type: ignore[attr-defined]
    owner = controller_of(meta)
    salt = meta.uid or key_of(workload)  # type: ignore[arg-type]
    if owner is not None:
        salt = owner.uid or f"{meta.namespace}/{owner.name}"
    return with_template(workload, replace(template, text=None, digest=digest_of(template, salt[:_LONGEST_SALT])))


def marked(objects: Iterable[Any]) -> Iterator[Any]:
    """The objects with marks instead of digests: whether two templates of a family differ, and nothing else of them."""
    seen: dict[str, list[TemplateDigest]] = {}
    for each in objects:
        applied = getattr(each.metadata, "applied", None)
        obj = each if applied is None else replace(each, metadata=replace(each.metadata, applied=None))
        template = template_of(obj) if isinstance(obj, WORKLOADS) else None
        if template is None or template.digest is None:
            yield obj
            continue
        digest = replace(template.digest, applied=None)
        family = seen.setdefault(digest.salt, [])
        if digest not in family:
            family.append(digest)
        number = family.index(digest)
        yield with_template(obj, replace(template, digest=None, mark=str(number) if number else ""))


def _pod_meta(meta: PodMeta) -> PodMeta:
    """Without annotations where none is a rule; finalizers that may hold anything become one name."""
    finalizers = dict.fromkeys(name if name == JOB_TRACKING else _SOME_FINALIZER for name in meta.finalizers)
    annotations = NO_ANNOTATIONS if meta.annotations == NO_ANNOTATIONS else meta.annotations
    return replace(meta, annotations=annotations, finalizers=tuple(finalizers))


def _runs_autoscaler(meta: PodMeta) -> bool:
    notes = meta.annotations
    return notes.autoscaler_arguments is not None or notes.karpenter_settings is not None


def _with_flags(meta: PodMeta, *, keep: bool) -> PodMeta:
    """With the settings of the autoscaler that the pod runs, if any, and if these are to be kept."""
    if not _runs_autoscaler(meta):
        return meta
    notes = meta.annotations
    arguments, settings = (notes.autoscaler_arguments, notes.karpenter_settings) if keep else (None, None)
    kept = replace(
        notes,
        autoscaler_arguments=None if arguments is None else arguments_without_unknown(arguments),
        karpenter_settings=None if settings is None else settings_without_unknown(settings),
    )
    return replace(meta, annotations=kept)


def _node_spec(node: Node) -> NodeSpec:
    """Without the name of the machine, unless a NodeClaim finds its node by it."""
    return node.spec if _NODE_POOL in node.metadata.labels else replace(node.spec, provider_id="")


def _node_status(status: NodeStatus, *, images: bool) -> NodeStatus:
    """Without the times of reports: the snapshot says itself when it was taken."""
    conditions = tuple(replace(condition, last_heartbeat_time=None) for condition in status.conditions)
    return replace(status, conditions=conditions, images=status.images if images else ())


def holds_images(obj: Model) -> bool:
    """Whether `redact` has images to drop."""
    match obj:
        case Node():
            return bool(obj.status.images)
        case Pod():
            return has_images(obj.spec)
    template = template_of(obj) if isinstance(obj, WORKLOADS) else None
    return template is not None and has_images(template.spec)


def _without_unread_volumes(spec: PodSpec) -> PodSpec:
    volumes = tuple(volume for volume in spec.volumes if replace(volume, name="") != Volume())
    return spec if len(volumes) == len(spec.volumes) else replace(spec, volumes=volumes)
