"""Dynamic resource allocation: the devices that a claim would get on a node.

Follows the "incubating" variant of the structured allocator, which the default feature gates of 1.36 select
(`staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating`).
"""
