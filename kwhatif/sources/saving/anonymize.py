"""New names for everything that has one, so that every decision stays the same.

One text has one new name wherever it stands: a node's name, the label that repeats it, the affinity that asks for it.
New names sort as the old ones did among their like, since some ties go by name. Structure that a rule reads stays:
`<pod>-<volume>` names an ephemeral claim, `<deployment>-<hash>` a ReplicaSet, `a__b` is two zones, `aws://…/vol-1` is
the same disk as `vol-1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from kwhatif.model.caveat import Caveat
from kwhatif.model.meta import Model
from kwhatif.model.pod import Pod
from kwhatif.sources.saving.roles import (
    ADDRESS,
    EBS,
    HANDLE,
    IMAGE,
    NAME,
    NAMED_BY_RULE,
    NAMESPACE,
    NODE,
    REGION,
    UID,
    VALUE,
    ZONE,
    is_kept,
)
from kwhatif.sources.saving.walk import Rename, rewrite

#: Where a text plays several roles, the first of these names it; then the kinds of objects by name.
_FIRST = (NODE, NAMESPACE, EBS, REGION, ZONE, IMAGE)
_LAST = (NAME, HANDLE, ADDRESS, VALUE, UID)

_WORD = re.compile(r"\w(?:[\w.-]*\w)?")
_EBS_VOLUME = re.compile(r"vol-[^/]*")
_GCE_DISK = re.compile(r"projects/([^/]+)/(zones|regions)/([^/]+)/disks/([^/]+)")

T = TypeVar("T", bound=Model)


class Anonymizer:
    """Renames objects; knows the names in `objects`, and renames nothing else."""

    def __init__(self, objects: Iterable[Model]) -> None:
        self._roles: dict[str, dict[str, None]] = {}
        #: A text that is made of two others.
        self._composed: dict[str, tuple[str, str]] = {}
        for obj in objects:
            self._learn(obj)
        self._names = _numbered(self._roles)
        for text, (first, second) in self._composed.items():
            self._names[text] = f"{self.name(first)}-{self.name(second)}"

    def rename(self, obj: T) -> T:
        """The object under its new name, and with new names for what it refers to."""
        renamed: Any = rewrite(obj, self._renamed)
        meta = renamed.metadata
        name = obj.metadata.name if type(obj).__name__ in NAMED_BY_RULE else meta.name  # type: ignore[attr-defined]
        return replace(renamed, metadata=replace(meta, name=name, generate_name=""))  # type: ignore[no-any-return]

    def name(self, text: str) -> str:
        """The new name of something; a text that no object held stays as it is."""
        return self._names.get(text, text)

    def key(self, key: str) -> str:
        """The new `namespace/name`."""
        return "/".join(map(self.name, key.split("/")))

    def text(self, sentence: str) -> str:
        """The sentence with new names for the objects, namespaces and nodes in it; other words stay."""
        return _WORD.sub(lambda word: self.name(word[0]) if self._is_object(word[0]) else word[0], sentence)

    def caveat(self, caveat: Caveat) -> Caveat:
        """The caveat with new names for the objects, namespaces and nodes in it."""
        texts = {name: self._said(getattr(caveat, name)) for name in caveat.__struct_fields__}
        return replace(caveat, **texts)

    def _said(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        return tuple(map(self._said, value)) if isinstance(value, tuple) else value

    def _is_object(self, text: str) -> bool:
        return any(text in self._roles[role] for role in self._roles.keys() - {*_FIRST[2:], *_LAST})

    def _learn(self, obj: Any) -> None:
        kind = type(obj).__name__
        if kind not in NAMED_BY_RULE:
            self._add(kind.lower(), obj.metadata.name)
        rewrite(obj, self._learned)
        if isinstance(obj, Pod):
            for volume in obj.spec.volumes:
                if volume.ephemeral is not None:
                    pair = (obj.metadata.name, volume.name)
                    self._composed["-".join(pair)] = pair
            self._learn_replica_set(obj)

    def _learn_replica_set(self, pod: Pod) -> None:
        """`owner_and_workload` finds the Deployment of a pod in the name of its ReplicaSet."""
        template_hash = pod.metadata.labels.get("pod-template-hash")
        for owner in pod.metadata.owner_references:
            if template_hash and owner.kind == "ReplicaSet" and owner.name.endswith(f"-{template_hash}"):
                deployment = owner.name.removesuffix(f"-{template_hash}")
                self._add("deployment", deployment)
                self._composed[owner.name] = (deployment, template_hash)

    def _learned(self, role: str, text: str) -> str:
        self._renamed(role, text, learn=True)
        return text

    def _renamed(self, role: str, text: str, *, learn: bool = False) -> str:
        """The new text. Learning takes the same way to the names within the text, so that none can be missed."""

        def new(role: str, text: str) -> str:
            if learn:
                self._add(role, text)
                return text
            return self.name(text)

        match role:
            case "zone" | "region":
                return "__".join(_zone(part.strip(), new) for part in text.split("__"))
            case "disk":
                return _handle(text, new)
            case "image":
                return new(IMAGE, _with_tag(text))
        return new(role, text)

    def _add(self, role: str, text: str) -> None:
        if not is_kept(text):
            self._roles.setdefault(role, {})[text] = None


def _numbered(roles: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """New names, role by role in the order of the old ones."""
    kinds = sorted(roles.keys() - {*_FIRST, *_LAST})
    names: dict[str, str] = {}
    for role in (*_FIRST, *kinds, *_LAST):
        texts = sorted(text for text in roles.get(role, ()) if text not in names)
        width = len(str(len(texts)))
        for number, text in enumerate(texts, 1):
            names[text] = f"{role}-{number:0{width}}" + (":new" if role == IMAGE else "")
    return names


def _zone(zone: str, new: Rename) -> str:
    """Of `<region>-<letter>` the region is renamed: for GCE's disks the region is found in the zone's name."""
    locale, _, rest = zone.partition("-")
    region, dash, letter = rest.partition("-")
    if locale and region and letter and "-" not in letter and dash:
        return f"{new(REGION, f'{locale}-{region}')}-{letter}"
    return new(ZONE, zone)


def _handle(handle: str, new: Rename) -> str:
    """Disks are known by several names; those of one disk keep that in common."""
    if handle.startswith("aws://"):
        bare = handle.removeprefix("aws://").partition("/")[2].strip("/")
        if _EBS_VOLUME.fullmatch(bare):
            return f"aws:///{new(EBS, bare)}"
        return f"aws://{new(HANDLE, handle)}"
    if _EBS_VOLUME.fullmatch(handle):
        return new(EBS, handle)
    gce = _GCE_DISK.fullmatch(handle)
    if gce is None:
        return new(HANDLE, handle)
    project, scope, place, disk = gce.groups()
    project = project if project == "UNSPECIFIED" else new(NAME, project)
    return f"projects/{project}/{scope}/{_zone(place, new)}/disks/{new(NAME, disk)}"


def _with_tag(image: str) -> str:
    """The image's name as ImageLocality compares it: one without a tag means `latest`."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
