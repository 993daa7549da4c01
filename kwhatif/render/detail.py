"""How much is printed, and how nodes are named."""

from __future__ import annotations

import msgspec

from kwhatif.render.node_names import NodeNames


class Detail(msgspec.Struct, frozen=True):
    """How much to print. `now`: seconds since the epoch, for the age of pods where the report has no time of its own."""

    now: int = 0
    wide: bool = False
    explain: bool = False
    quiet: bool = False
    names: NodeNames = NodeNames()
