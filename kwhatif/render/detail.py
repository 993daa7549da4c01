"""How much is printed, and how nodes are named."""

from __future__ import annotations

import os
import sys
import time

import msgspec

from kwhatif.kube.model.caveat import Caveat
from kwhatif.render.node_names import NodeNames

#: Digits of a number of seconds, up to the year 2286.
_LONGEST_EPOCH = 10
#: With more pods or workloads than this, only verdicts are printed, and only of those that do not fit, unless details
#: are asked for.
MANY = 10
#: A page shows no more rows of a table.
_ROWS_OF_PAGE = 100


class Detail(msgspec.Struct, frozen=True):
    """How much to print. `now`: seconds since the epoch, for ages where the report has no time of its own."""

    now: int = 0
    wide: bool = False
    explain: bool = False
    quiet: bool = False
    #: For a page: it folds the evidence, has room for more of it, and is read without what stands on standard error.
    page: bool = False
    names: NodeNames = NodeNames()
    #: Caveats that the last line names, and no other.
    said: frozenset[Caveat] = frozenset()

    def rows(self, most: int) -> int:
        """How many rows to make where `most` are enough."""
        return sys.maxsize if self.wide else max(most, _ROWS_OF_PAGE) if self.page else most


def clock() -> int:
    """Seconds since the epoch; $SOURCE_DATE_EPOCH stands in for the clock where output must be reproducible."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    is_known = fixed.isascii() and fixed.isdigit() and len(fixed) <= _LONGEST_EPOCH
    return int(fixed) if is_known else int(time.time())
