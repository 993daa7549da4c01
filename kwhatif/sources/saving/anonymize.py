"""New names for everything that has one, so that every decision stays the same.

One text has one new name wherever it stands: a node's name, the label that repeats it, the affinity that asks for it.
What is kept (`words`) is so of every text, whatever its field: a field cannot be forgotten. Structure that a rule reads
stays: `<pod>-<volume>` names an ephemeral claim, `<deployment>-<hash>` a ReplicaSet, `a__b` is two zones,
`aws://…/vol-1` is the same disk as `vol-1`, `acme.com/fpga` a resource that is not Kubernetes' own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.kinds import SHORT_NAMES
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import WORKLOADS, StatefulSet
from kwhatif.scheduler.plugins.image_locality import normalized_image_name
from kwhatif.sources.saving import words
from kwhatif.sources.saving.redact import Place, Rename, Walker
from kwhatif.workloads.stateful_set import CLAIM_NAME

#: What may follow in a new name to make it larger: a letter stands at the end, so that no new name is a number.
_NEXT = (*"abcdefghijklmnopqrstuvwxyz", *(f"{digit}x" for digit in range(10)))
_LAST = "~"
#: The longest name that the API server takes (`DNS1123SubdomainMaxLength`): a longer text is not made of names, and to
#: look for them at each of its dashes would take long.
_LONGEST = 253


class OrderedNames:
    """New names that sort as the old ones did, among themselves and among the texts that are kept.

    Kubernetes makes names from others: `<deployment>-<hash>`, `<set>-<ordinal>`, `<pod>-<volume>`. So does kwhatif for
    new pods. So a text that begins with another one and a dash gets the new names of its parts; a dash sorts before all
    other characters of a name, which keeps the order.
    """

    def __init__(
        self,
        texts: Mapping[str, str],
        kept: Collection[str],
        fences: Collection[str],
        made: Mapping[str, tuple[str, str]],
        bases: Collection[str],
    ) -> None:
        """Find names.

        Args:
            texts: each text that is renamed, and what its new name ends in, such as `-node`; "" for nothing.
            kept: texts that stay.
            fences: texts that stay somewhere, and that the others sort among.
            made: texts that are known to be made of two others, with a dash between them.
            bases: names of which others are made by adding a dash and a suffix.
        """
        self._bases = bases
        self._parts = dict(made)
        ends: dict[str, str] = {}
        todo = [(text, end) for text, end in texts.items() if text not in kept]
        while todo:
            text, end = todo.pop()
            parts = self._parts_of(text)
            if parts is not None:
                todo += [(part, "") for part in parts if part not in kept and part not in ends]
            elif not ends.get(text):
                ends[text] = end
        self._names = {text: text for text in kept} | dict(_named(ends, sorted(fences)))

    def __contains__(self, text: str) -> bool:
        return text in self._names or text in self._parts

    def of(self, text: str) -> str:
        """The new name; a text that is not known stays as it is."""
        known = self._names.get(text)
        if known is not None:
            return known
        parts = self._parts.get(text)
        return text if parts is None else "-".join(map(self.of, parts))

    def __iter__(self) -> Iterator[str]:
        yield from self._names
        yield from self._parts

    def _parts_of(self, text: str) -> tuple[str, str] | None:
        """What the text is made of: the longest base that it begins with, and the rest."""
        found = self._parts.get(text)
        if found is None and len(text) <= _LONGEST:
            end = text.rfind("-", 0, len(text) - 1)
            while end > 0:
                if text[:end] in self._bases:
                    found = self._parts[text] = text[:end], text[end + 1 :]
                    break
                end = text.rfind("-", 0, end)
        return found


def _named(ends: Mapping[str, str], kept: list[str]) -> Iterator[tuple[str, str]]:
    """The new names of texts that are not made of others: numbered within each gap between two kept texts."""
    texts = sorted(ends)
    place = 0
    for low, high in pairwise(["", *kept, _LAST]):
        start = place
        while place < len(texts) and (high == _LAST or texts[place] < high):
            place += 1
        prefix, width = _between(low, high), len(str(place - start))
        for number, text in enumerate(texts[start:place], 1):
            yield text, f"{prefix}{number:0{width}}{ends[text]}"


def _between(low: str, high: str) -> str:
    """The beginning of names that sort after `low` and before `high`, as short as possible."""
    for length in range(len(low) + 1):
        after = low[length : length + 1]
        for more in _NEXT:
            found: str = low[:length] + more
            if more[0] > after and f"{found}9" < high:
                return found
    rest = high[len(low) :]
    if high.startswith(low) and len(rest) > 1:
        return f"{low}{rest[0]}" + _between("", rest[1:])
    return f"{low}-x"


_WORD = re.compile(r"\w(?:[\w.-]*\w)?")
_EBS, _AWS = "vol-", "aws://"
_EBS_VOLUME = re.compile(r"vol-[^/]*")
_GCE_DISK = re.compile(r"projects/([^/]+)/(zones|regions)/([^/]+)/disks/([^/]+)")
_OF_CLASS = re.compile(r"(.+)(\.storageclass\.storage\.k8s\.io/(?:requests\.storage|persistentvolumeclaims))")
#: What may stand before the name of a resource.
_PREFIXES = ("requests.", "limits.", "count/", "attachable-volumes-", "hugepages-")
#: How the new names of objects end, by their kinds; and those of what is known by a field that names it.
_KIND_ENDS = {kind: f"-{short}" for short, kind in SHORT_NAMES.items()} | {"Node": "-node", "Pod": "-pod"}
_IMAGES = frozenset({("Container", "image"), ("ContainerImage", "names"), ("ImageVolume", "reference")})
_ENDS = {"namespace": "-ns", "namespaces": "-ns", "node_name": "-node", "nominated_node_name": "-node"}
#: Without a tag it would be that of `latest`.
_TAG = ":t"
_HANDLES = frozenset({"volume_handle", "volume_id"})
_KUBELET_VERSION = "kubelet_version"
_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
#: Fields of which the text is a number of some sort: kept if it is one.
_MEASURES: Mapping[tuple[str, str], Callable[[str], bool]] = {
    ("CronJobSpec", "schedule"): words.is_schedule,
    ("CronJobSpec", "time_zone"): words.is_time_zone,
    ("JobStatus", "completed_indexes"): words.is_list_of_indexes,
    ("JobStatus", "failed_indexes"): words.is_list_of_indexes,
    ("SuccessRule", "succeeded_indexes"): words.is_list_of_indexes,
}
#: Types of which all fields are.
_MEASURED = frozenset({"PodAnnotations", "RolloutAnnotations", "PodTemplateSpec"})
_WALKER = Walker()
T = TypeVar("T", bound=Model)


class Kept(NamedTuple):
    """A text that stays in an anonymized snapshot."""

    text: str
    #: The type, and the field of it, where it was found first.
    where: str
    why: str


class Anonymizer:
    """Renames objects; knows the names in `objects`, and renames nothing else."""

    def __init__(self, objects: Iterable[Any], generated: Collection[str] = ()) -> None:
        """`generated`: texts that were made for the snapshot, and say nothing of the cluster."""
        self._generated = generated
        #: Each text that is renamed, and how its new name ends.
        self._ends: dict[str, str] = {}
        self._kept: dict[str, Kept] = {}
        #: Texts that stay in some fields only.
        self._kept_here: dict[str, Kept] = {}
        self._made: dict[str, tuple[str, str]] = {}
        self._bases: set[str] = set()
        #: Names of objects, namespaces and nodes, which a sentence may hold.
        self._objects: set[str] = set()
        #: Keys whose values are compared as numbers.
        self._numeric: set[str] = set()
        objects = list(objects)
        for obj in objects:
            _WALKER.rewrite(obj, self._note_numeric)
        for obj in objects:
            self._learn(obj)
        sorting = {text for text, kept in self._kept.items() if kept.why in words.NAMES}
        fences = sorting | self._kept_here.keys()
        texts = {text: end for text, end in self._ends.items() if text not in self._kept}
        self._names = OrderedNames(texts, self._kept.keys(), fences, self._made, self._bases)

    @property
    def kept(self) -> list[Kept]:
        """What stays, and why."""
        return sorted({*self._kept.values(), *self._kept_here.values()})

    def rename(self, obj: T) -> T:
        """The object under its new name, and with new names for what it refers to."""
        renamed: T = _WALKER.rewrite(obj, self._renamed)
        return renamed

    def name(self, text: str) -> str:
        """The new name of something; a text that no object held stays as it is."""
        return text if text in self._kept else self._names.of(text)

    @property
    def names(self) -> dict[str, str]:
        """Every text that has another name in the snapshot, with that name."""
        return {text: self.name(text) for text in self._names if text not in self._kept}

    def key(self, key: str) -> str:
        """The new `namespace/name`."""
        return "/".join(map(self.name, key.split("/")))

    def text(self, sentence: str) -> str:
        """The sentence with new names for the objects, namespaces and nodes in it; other words stay."""
        return _WORD.sub(lambda word: self.name(word[0]) if word[0] in self._objects else word[0], sentence)

    def caveat(self, caveat: Caveat) -> Caveat:
        """The caveat with new names for the objects, namespaces and nodes in it."""
        texts = {name: self._said(getattr(caveat, name)) for name in caveat.__struct_fields__}
        return replace(caveat, **texts)

    def _said(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        return tuple(map(self._said, value)) if isinstance(value, tuple) else value

    # --- learning ------------------------------------------------------------------------------------

    def _learn(self, obj: Any) -> None:
        meta = obj.metadata
        kind = type(obj).__name__
        end = _KIND_ENDS.get(kind, f"-{kind.lower()}")
        self._objects |= {meta.name, meta.namespace} - {""}
        self._ends.setdefault(meta.name, end)
        for zone in self._zones(meta.labels):
            locale, _, rest = zone.partition("-")
            region, _, letter = rest.partition("-")
            if locale and region and letter and "-" not in letter:
                self._made[zone] = f"{locale}-{region}", letter
        if isinstance(obj, WORKLOADS):
            self._bases.add(meta.name)
        self._bases |= {owner.name for owner in meta.owner_references if owner.kind != "Node"}
        if isinstance(obj, Pod):
            self._learn_pod(obj)
        if isinstance(obj, StatefulSet):
            self._bases |= {template.metadata.name for template in obj.spec.volume_claim_templates}
        _WALKER.rewrite(obj, self._learned)

    def _learn_pod(self, pod: Pod) -> None:
        name = pod.metadata.name
        self._objects |= {pod.spec.node_name} - {""}
        for volume in pod.spec.volumes:
            if volume.ephemeral is not None:
                self._made[f"{name}-{volume.name}"] = (name, volume.name)
        template_hash = pod.metadata.labels.get("pod-template-hash")
        for owner in pod.metadata.owner_references:
            prefix, _, number = name.rpartition("-")
            if owner.kind == StatefulSet.__name__ and prefix == owner.name and words.is_number(number):
                self._keep(number, Place("Pod", "ordinal"), words.NUMBER)
            if template_hash and owner.kind == "ReplicaSet" and owner.name.endswith(f"-{template_hash}"):
                deployment = owner.name.removesuffix(f"-{template_hash}")
                self._ends.setdefault(deployment, "-deploy")
                self._objects.add(deployment)
                self._made[owner.name] = (deployment, template_hash)

    def _zones(self, labels: Mapping[str, str]) -> Iterator[str]:
        """For GCE's disks the region is found in the zone's name: `<region>-<letter>`."""
        for key, value in labels.items():
            if key.endswith("/zone"):
                yield from map(str.strip, value.split("__"))

    def _note_numeric(self, place: Place, text: str) -> str:
        if place.owner == "Requirement" and place.field == "operator" and text in ("Gt", "Lt"):
            self._numeric.add(place.key)
        return text

    def _learned(self, place: Place, text: str) -> str:
        self._rewritten(place, text, self._note)
        return text

    def _note(self, place: Place, text: str) -> str:
        """Take note of a text that is one name; it stays as it is while this is learned."""
        why = self._why_kept(place, text)
        if why:
            self._keep(text, place, why)
        elif text:
            self._ends[text] = self._ends.get(text) or _ENDS.get(place.field, "")
        return text

    def _keep(self, text: str, place: Place, why: str) -> None:
        if text not in self._kept:
            self._kept[text] = Kept(text, f"{place.owner}.{place.field}", why)

    def _why_kept(self, place: Place, text: str) -> str:
        """Why the text stays, which it then does wherever else it stands; "": it does not."""
        if text in self._generated:
            return words.GENERATED
        if why := words.why_kept(text):
            return why
        if place.is_amount and (words.is_quantity(text) or words.is_measure(text)):
            return words.AMOUNT
        if place.field == _KUBELET_VERSION and words.release_of(text) == text:
            return words.VERSION
        measure = _MEASURES.get((place.owner, place.field), words.is_measure if place.owner in _MEASURED else None)
        if measure is not None and measure(text):
            return words.NUMBER
        if place.key in self._numeric and words.is_number(text):
            return words.NUMBER
        is_level = place.key.startswith(words.POD_SECURITY) and words.is_level(text)
        return words.KUBERNETES if is_level else ""

    # --- renaming ------------------------------------------------------------------------------------

    def _renamed(self, place: Place, text: str) -> str:
        return self._rewritten(place, text, lambda _, part: self.name(part))

    def _rewritten(self, place: Place, text: str, new: Rename) -> str:
        """The new text. Learning takes the same way to the names within the text, so that none can be missed."""
        if text in self._generated:
            return new(place, text)
        if (place.owner, place.field) in _IMAGES:
            return new(place, normalized_image_name(text)) + _TAG
        if place.field == _KUBELET_VERSION:
            return new(place, words.release_of(text) or text)
        if place.field == "generate_name" and text.endswith("-"):
            return f"{new(place, text.removesuffix('-'))}-"
        if place.field in _HANDLES:
            return _handle(place, text, new)
        if place.field == "api_version":
            return self._api_version(place, text, new)
        if place.key == CLAIM_NAME:
            return _POD.join(part and new(place, part) for part in text.split(_POD))
        if place.key.endswith("/zone"):
            return "__".join(new(place, part.strip()) for part in text.split("__"))
        if place.key == _PLUGINS:
            return ",".join(self._qualified(place, part, new) for part in text.split(","))
        return self._resource(place, text, new) if place.is_key else self._qualified(place, text, new)

    def _stays_here(self, place: Place, text: str) -> bool:
        """Whether the text is kept where it stands, though perhaps not elsewhere."""
        why = words.why_kept_in(place.field, text, is_key=place.is_key)
        if why and text not in self._kept_here:
            self._kept_here[text] = Kept(text, f"{place.owner}.{place.field}", why)
        return bool(why)

    def _api_version(self, place: Place, text: str, new: Rename) -> str:
        group, slash, version = text.rpartition("/")
        parts = (
            group if words.is_api_group(group) else new(place, group),
            version if words.is_api_version(version) else new(place, version),
        )
        return slash.join(filter(None, parts))

    def _resource(self, place: Place, text: str, new: Rename) -> str:
        """The name of a resource, a label or an attribute; quotas are about several of a resource or of a class."""
        if self._stays_here(place, text):
            return text
        if of_class := _OF_CLASS.fullmatch(text):
            return new(place, of_class[1]) + of_class[2]
        for prefix in _PREFIXES:
            if text.startswith(prefix):
                return prefix + self._resource(place, text.removeprefix(prefix), new)
        return self._qualified(place, text, new)

    def _qualified(self, place: Place, text: str, new: Rename) -> str:
        """A name, perhaps below a domain: the two are names of their own. What is Kubernetes' own stays so."""
        if self._stays_here(place, text):
            return text
        if "/" not in text or words.why_kept(text):
            return new(place, text)
        domain, *names = text.split("/")
        native = words.NATIVE_DOMAIN if domain.endswith(words.NATIVE_DOMAIN) and not words.why_kept(domain) else ""
        below = [name if self._stays_here(place, name) else new(place, name) for name in names]
        return "/".join([new(place, domain.removesuffix(native)) + native, *below])


#: In the name of a claim, the place of the pod's.
_POD = "{pod}"


def _handle(place: Place, handle: str, new: Rename) -> str:
    """Disks are known by several names; those of one disk keep that in common."""
    if handle.startswith(_AWS):
        bare = handle.removeprefix(_AWS).partition("/")[2].strip("/")
        if _EBS_VOLUME.fullmatch(bare):
            return f"{_AWS}/{_handle(place, bare, new)}"
        return f"{_AWS}{new(place, handle)}"
    if _EBS_VOLUME.fullmatch(handle):
        return _EBS + new(place, handle.removeprefix(_EBS))
    gce = _GCE_DISK.fullmatch(handle)
    if gce is None:
        return "/".join(new(place, part) for part in handle.split("/"))
    project, scope, where, disk = gce.groups()
    return f"projects/{new(place, project)}/{scope}/{new(place, where)}/disks/{new(place, disk)}"
