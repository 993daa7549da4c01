"""What allocators do otherwise from one release to the next.

Since 1.34 there are three (`structured/allocator.go`): the most stable one is taken that knows all features whose gates
are on. The values are those of "incubating" in 1.36, which its default gates select.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kwhatif.kube.gates import Gates


class AllocatorRules(NamedTuple):
    """What an allocator knows, whatever the gates say."""

    #: `distinctAttribute` is a constraint; else it is an error.
    knows_distinct: bool = True
    #: Requests for capacity are an error without the gate for them; else they count for nothing.
    refuses_capacity: bool = True
    #: A node without a solution says so where one of its pools is broken.
    reports_invalid_pools: bool = True
    #: A claim for too many devices names the request that is one too much; else it names their sum.
    counts_request_by_request: bool = False
    #: A selector that fails says for which device.
    names_devices: bool = False
    #: Without the gate for partitions, slices with counters are not looked at.
    leaves_counters_out: bool = True
    #: A pool is what of it is for the node, and devices are also taken from one that is not complete.
    pools_by_node: bool = False
    #: A request for capacity that is refused names the alternative.
    names_alternative: bool = True
    #: `distinctAttribute` compares where values are stored: none but those of one device are the same.
    distinct_by_device: bool = False
    #: After the first of all devices for an alternative, the search goes on with the first alternative.
    forgets_alternative: bool = False
    #: Slices with counters matter on every node, wherever they say that they belong.
    counters_everywhere: bool = True
    #: A device uses the counters of its own slice, for each share anew.
    counters_by_slice: bool = False
    #: What was counted for a device that is refused after all is taken back; pools are known by their drivers, too; all
    #: distinct values are remembered; a share without capacity is one.
    keeps_books: bool = False
    #: All devices are those that are large enough, even if others use them; then the request fails.
    all_by_size: bool = False


BASE_RULES = AllocatorRules()

#: The rules of a release's allocator, by the feature gates that are on.
RulesOf = Callable[[Gates], AllocatorRules]


def base_rules(_gates: Gates) -> AllocatorRules:
    """The rules of 1.36, whatever the gates."""
    return BASE_RULES
