"""Objects that a dump holds more than once: tools ask for some twice, at different moments. The first one counts."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.model.caveat import Caveat
from kwhatif.model.caveat.reading import ObjectsTwice
from kwhatif.model.cluster import KubernetesObject, key_of
from kwhatif.sources.decoding.decode import DecodedBatch


class Seen:
    """Objects of one dump so far."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._objects: dict[type, dict[str, KubernetesObject]] = {}
        self._conflicts: list[str] = []

    @property
    def kinds(self) -> set[str]:
        """Kinds of which there are objects."""
        return {kind.__name__ for kind in self._objects}

    def once(self, batch: DecodedBatch) -> DecodedBatch:
        """The batch without objects that were there before."""
        return batch._replace(objects=[obj if obj is None or self._is_new(obj) else None for obj in batch.objects])

    def caveats(self) -> Iterator[Caveat]:
        """What is to be said about objects that came twice."""
        if self._conflicts:
            yield ObjectsTwice(dump=self._name, count=len(self._conflicts), example=self._conflicts[0])

    def _is_new(self, obj: KubernetesObject) -> bool:
        key = key_of(obj)
        first = self._objects.setdefault(type(obj), {}).setdefault(key, obj)
        if first is not obj and first != obj:
            self._conflicts.append(f"{type(obj).__name__} {key}")
        return first is obj
