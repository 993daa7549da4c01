"""The base of all parts of a report."""

from __future__ import annotations

import msgspec

from kwhatif.model.meta import FrozenMeta


class Row(msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True, rename="camel", gc=False):
    """Base of all parts of a report."""
