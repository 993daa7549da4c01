"""Objects by kind and key as they are read: the same one twice is fine, two different ones of one name are not."""

from __future__ import annotations

from itertools import groupby

from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.sources.decoding.decode import DecodedBatch
from kwhatif.sources.text.origin import Place
from kwhatif.sources.text.problems import Problems


class Registry:
    """All objects read so far, and enough to say where each stood."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self.kinds: dict[type, dict[str, KubernetesObject]] = {}
        self._batches: list[DecodedBatch] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing was read; a list without objects is not nothing."""
        return not self._batches

    def add(self, batch: DecodedBatch) -> None:
        """Take in what was decoded."""
        self._batches.append(batch)
        objects = batch.objects
        kinds = set(map(type, objects))
        runs = groupby(objects, type) if len(kinds) > 1 else ((kind, objects) for kind in kinds)
        for kind, run in runs:
            if kind is not type(None):
                self._add_all(kind, [obj for obj in run if obj is not None])

    def _add_all(self, kind: type, objects: list[KubernetesObject]) -> None:
        known = self.kinds.setdefault(kind, {})
        added = {key_of(obj): obj for obj in objects}
        if len(added) == len(objects) and known.keys().isdisjoint(added):
            known.update(added)
            return
        for obj in objects:
            key = key_of(obj)
            first = known.setdefault(key, obj)
            # Objects yet to be named by the API server may look the same.
            if first is not obj and first != obj and obj.metadata.name:
                report = self._problems.at(self._place(obj), f"{kind.__name__} {key}")
                other = self._place(first).of().where()
                report.add(f"is there twice, with different contents; the other: {other}")

    def _place(self, wanted: KubernetesObject) -> Place:
        return next(
            batch.place_of(index) for batch in self._batches for index, obj in enumerate(batch.objects) if obj is wanted
        )
