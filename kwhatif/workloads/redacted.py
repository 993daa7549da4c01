"""Pod specs as a saved snapshot has them: without images, and without volumes that no rule reads."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.model.pod import Container, PodSpec
from kwhatif.model.volume import Volume


def redacted(spec: PodSpec, *, images: bool) -> PodSpec:
    """The spec without what scheduling does not read; images only if they are asked for."""
    volumes = tuple(volume for volume in spec.volumes if _is_read(volume, images=images))
    if len(volumes) < len(spec.volumes):
        spec = replace(spec, volumes=volumes)
    if images:
        return spec
    return replace(
        spec, containers=_without_image(spec.containers), init_containers=_without_image(spec.init_containers)
    )


def lacks_images(spec: PodSpec) -> bool:
    """Whether the images were left out: the API server lets no container without one in."""
    return bool(spec.containers) and not any(container.image for container in spec.containers)


def _without_image(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    return tuple(replace(container, image="") if container.image else container for container in containers)


def _is_read(volume: Volume, *, images: bool) -> bool:
    source = replace(volume, name="", image=volume.image if images else None)
    return source != Volume()
