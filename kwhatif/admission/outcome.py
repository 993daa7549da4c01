"""What becomes of a new object: `Admitted`, or `Denied`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from kwhatif.admission.changes import FieldChange, changes_between
from kwhatif.admission.denied import Denied
from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import Model

T = TypeVar("T", bound=Model)


class Admitted(msgspec.Struct, Generic[T], frozen=True):
    """The object as the API server stores it, and every change to it, in the order they were made."""

    object: T
    changes: tuple[FieldChange, ...] = ()


class AdmissionStep(NamedTuple, Generic[T]):
    """One step of admission, by its name in the API server."""

    name: str
    run: Callable[[T, Cluster], T | Denied]


def run_steps(steps: Sequence[AdmissionStep[T]], obj: T, cluster: Cluster) -> Admitted[T] | Denied:
    """All steps in turn; the first refusal is the last word."""
    changes: list[FieldChange] = []
    for step in steps:
        result = step.run(obj, cluster)
        if isinstance(result, Denied):
            return result
        changes.extend(changes_between(step.name, obj, result))
        obj = result
    return Admitted(obj, tuple(changes))
