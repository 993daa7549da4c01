"""`CustomResource`: an object of a kind that only its own controller knows."""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.model.meta import ObjectMeta


class CustomResource(msgspec.Struct, frozen=True):
    """The object as it was written, `metadata.namespace` filled in; it has metadata as every object has."""

    kind: str
    metadata: ObjectMeta
    data: dict[str, Any]
