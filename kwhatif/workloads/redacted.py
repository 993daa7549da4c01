"""Pod specs as a saved snapshot has them: without images, and without volumes that no rule reads."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.model.pod import Container, PodSpec
from kwhatif.model.volume import Volume


def redacted(spec: PodSpec, *, images: bool) -> PodSpec:
    """The spec without what scheduling does not read; images only if they are asked for."""
    return without_unread_volumes(spec if images else without_images(spec))


def without_images(spec: PodSpec) -> PodSpec:
    """The spec with neither containers' nor volumes' images."""
    return replace(
        spec,
        containers=_each_without_image(spec.containers),
        init_containers=_each_without_image(spec.init_containers),
        volumes=tuple(replace(volume, image=None) if volume.image else volume for volume in spec.volumes),
    )


def without_unread_volumes(spec: PodSpec) -> PodSpec:
    """The spec without volumes of which no rule reads what they are."""
    volumes = tuple(volume for volume in spec.volumes if replace(volume, name="") != Volume())
    return spec if len(volumes) == len(spec.volumes) else replace(spec, volumes=volumes)


def lacks_images(spec: PodSpec) -> bool:
    """Whether the images were left out: the API server lets no container without one in."""
    return bool(spec.containers) and not any(container.image for container in spec.containers)


def has_images(spec: PodSpec) -> bool:
    """Whether any container says what it runs."""
    return any(container.image for container in (*spec.containers, *spec.init_containers))


def _each_without_image(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    return tuple(replace(container, image="") if container.image else container for container in containers)
