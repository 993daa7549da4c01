"""How much is printed, and how nodes are named."""

from __future__ import annotations

import msgspec

from kwhatif.kube.model.caveat import Caveat
from kwhatif.render.node_names import NodeNames

#: With more pods or workloads than this, only verdicts are printed, and only of those that do not fit, unless details
#: are asked for.
MANY = 10


class Detail(msgspec.Struct, frozen=True):
    """How much to print. `now`: seconds since the epoch, for ages where the report has no time of its own."""

    now: int = 0
    wide: bool = False
    explain: bool = False
    quiet: bool = False
    names: NodeNames = NodeNames()
    #: Caveats that the last line names, and no other.
    said: frozenset[Caveat] = frozenset()
