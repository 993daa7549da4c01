"""Pod templates: the pod that a controller makes of one (`GetPodFromTemplate`), and whether two are the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.admission.pod_defaults import default_pod
from kwhatif.kube.matching.contents import plain
from kwhatif.kube.matching.label_syntax import dns_subdomain_errors
from kwhatif.kube.model.container import Container
from kwhatif.kube.model.meta import OwnerReference
from kwhatif.kube.model.pod import NO_ANNOTATIONS, Pod, PodMeta, PodSpec, PodTemplateSpec
from kwhatif.workloads.template_digest import equal_digests
from kwhatif.workloads.template_fields import ADDED_LABELS, filled_fields_of


def pod_of(
    template: PodTemplateSpec,
    namespace: str,
    owner: OwnerReference,
    labels: Mapping[str, str] | None = None,
) -> Pod:
    """The pod, yet without a name; `labels` come on top of the template's."""
    meta = PodMeta(
        namespace=namespace,
        generate_name=_prefix(owner.name),
        labels={**template.metadata.labels, **(labels or {})},
        owner_references=(owner,),
        annotations=template.metadata.annotations,
        finalizers=template.metadata.finalizers,
    )
    return Pod(metadata=meta, spec=template.spec)


def _prefix(name: str) -> str:
    """With a dash, where that makes no name too long (`getPodsPrefix`)."""
    return name if dns_subdomain_errors(f"{name}-a") else f"{name}-"


def content_of(template: PodTemplateSpec | None) -> object:
    """The template in a form that is equal, and prints the same, for equivalent templates.

    Defaults are filled in, quantities are numbers, and what is empty is absent, as the API server compares them
    (`equality.Semantic`). Of fields that are not in the model, there is only the template's mark.
    """
    if template is None:
        return None
    labels = sorted((key, value) for key, value in template.metadata.labels.items() if key not in ADDED_LABELS)
    annotations = template.metadata.annotations
    noted = () if annotations == NO_ANNOTATIONS else (plain(annotations),)
    marked = (template.mark,) if template.mark else ()
    return tuple(labels), plain(default_pod(Pod(spec=template.spec)).spec), *noted, *marked


def same_template(known: PodTemplateSpec | None, new: PodTemplateSpec | None) -> bool:
    """Whether the cluster's template says what the new one says, in fields that are not in the model, too.

    Where those are not known of both, a mark distinguishes a new template from the cluster's (`content_of`). The API
    server stores no container without an image: where there are none, a snapshot has left them out; that they are still
    the same is assumed, unless there is a mark.
    """
    if known is None or new is None:
        return known is new
    equal = _equal_fields(known, new)
    if equal is not None:
        return equal
    if not has_images(known.spec):
        new = replace(new, spec=without_images(new.spec))
    return _is_equal(known, new) or content_of(known) == content_of(new)


def _is_equal(known: PodTemplateSpec, new: PodTemplateSpec) -> bool:
    """Whether they say the same in the same words, which is what nearly all do."""
    labels, others = known.metadata.labels, new.metadata.labels
    return (
        known.spec == new.spec
        and known.mark == new.mark
        and known.metadata.annotations == new.metadata.annotations
        and {key: value for key, value in labels.items() if key not in ADDED_LABELS}
        == {key: value for key, value in others.items() if key not in ADDED_LABELS}
    )


def _equal_fields(one: PodTemplateSpec, other: PodTemplateSpec) -> bool | None:
    """Whether the two are the same in every field; None if that is not known of both."""
    if one.text is None or other.text is None:
        return equal_digests(one, other)
    if one.text.json == other.text.json or _equal_texts(one.text.json, other.text.json):
        return True
    fields = filled_fields_of(one.text.json), filled_fields_of(other.text.json)
    return None if None in fields else fields[0] == fields[1]


class _Outline(msgspec.Struct, forbid_unknown_fields=True):
    """A template of which only the metadata is decoded."""

    metadata: dict[str, Any] = {}
    spec: msgspec.Raw = msgspec.Raw()


_decode_outline = msgspec.json.Decoder(_Outline).decode


def _equal_texts(one: str, other: str) -> bool:
    """Whether the two differ in nothing but labels that are added: that is quickly seen of nearly all."""
    try:
        outlines = [_decode_outline(text) for text in (one, other)]
    except (msgspec.DecodeError, RecursionError):
        return False
    return bytes(outlines[0].spec) == bytes(outlines[1].spec) and _unlabelled(outlines[0]) == _unlabelled(outlines[1])


def _unlabelled(outline: _Outline) -> dict[str, Any]:
    labels = outline.metadata.get("labels")
    if not isinstance(labels, dict):
        return outline.metadata
    return {**outline.metadata, "labels": {key: value for key, value in labels.items() if key not in ADDED_LABELS}}


def has_images(spec: PodSpec) -> bool:
    """Whether any container says what it runs."""
    return any(container.image for container in (*spec.containers, *spec.init_containers))


def without_images(spec: PodSpec) -> PodSpec:
    """The spec with neither containers' nor volumes' images, as a snapshot may hold it."""
    return replace(
        spec,
        containers=_each_without_image(spec.containers),
        init_containers=_each_without_image(spec.init_containers),
        volumes=tuple(replace(volume, image=None) if volume.image else volume for volume in spec.volumes),
    )


def with_images(spec: PodSpec, source: PodSpec) -> PodSpec:
    """The spec with the images that another one has in containers and volumes of the same names."""
    images = {each.name: each.image for each in (*source.containers, *source.init_containers)}
    volumes = {volume.name: volume.image for volume in source.volumes}
    return replace(
        spec,
        containers=tuple(replace(each, image=images.get(each.name, "")) for each in spec.containers),
        init_containers=tuple(replace(each, image=images.get(each.name, "")) for each in spec.init_containers),
        volumes=tuple(replace(each, image=each.image or volumes.get(each.name)) for each in spec.volumes),
    )


def _each_without_image(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    return tuple(replace(container, image="") if container.image else container for container in containers)
