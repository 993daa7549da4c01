"""Caveats about what the input lacks: `--strict` makes errors of them."""

from __future__ import annotations


class Missing(str):
    """A caveat: information that a complete cluster would have is not there, so answers may be wrong.

    Other caveats are about what is known and not modelled, or about what was worked out.
    """

    __slots__ = ()
