"""Many pods on one snapshot, one after another: `Placer`, its `Placement`s, and these as rows of a report."""

from __future__ import annotations

from kwhatif.whatif.placing.placement import Placement
from kwhatif.whatif.placing.placer import Placer
from kwhatif.whatif.placing.rows import in_full, in_short

__all__ = ["Placement", "Placer", "in_full", "in_short"]
