"""Differences of the allocators between releases.

Since 1.34 there are three (`structured/allocator.go`): upstream uses the most stable one that supports all enabled
features. The default values are those of "incubating" in 1.36, which its default gates select.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kwhatif.kube.gates import Gates


class AllocatorRules(NamedTuple):
    """The behavior of an allocator, independent of feature gates."""

    #: `distinctAttribute` is supported; otherwise it is an error.
    knows_distinct: bool = True
    #: Requests for capacity are an error without their feature gate; otherwise they are ignored.
    refuses_capacity: bool = True
    #: The message for a node without a solution reports its invalid pools.
    reports_invalid_pools: bool = True
    #: The error for too many devices names the request that exceeds the limit; otherwise it names the total.
    counts_request_by_request: bool = False
    #: The error of a failing selector names the device.
    names_devices: bool = False
    #: Without the feature gate for partitions, slices with counters are ignored.
    leaves_counters_out: bool = True
    #: A pool has only the slices for the node, and devices are also taken from an incomplete pool.
    pools_by_node: bool = False
    #: The error for a request for capacity names the alternative.
    names_alternative: bool = True
    #: `distinctAttribute` compares pointers: only values of the same device are equal.
    distinct_by_device: bool = False
    #: After the first device of an alternative that requests all, the search goes on with the first alternative.
    forgets_alternative: bool = False
    #: Slices with counters are used on every node, whatever nodes they select.
    counters_everywhere: bool = True
    #: A device consumes the counters of its own slice, and again for each share.
    counters_by_slice: bool = False
    #: A rejected device is uncounted; pools are identified by driver, too; all distinct values are stored; a share
    #: without capacity counts as a share.
    keeps_books: bool = False
    #: A request for all devices includes all that are large enough, even if they are in use; then it fails.
    all_by_size: bool = False


BASE_RULES = AllocatorRules()

#: The rules of a release's allocator, by the feature gates that are on.
RulesOf = Callable[[Gates], AllocatorRules]


def base_rules(_gates: Gates) -> AllocatorRules:
    """The rules of 1.36, for any feature gates."""
    return BASE_RULES
