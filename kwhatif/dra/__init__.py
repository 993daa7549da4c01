"""The structured allocator of dynamic resource allocation: which devices of a node a claim would get.

Follows the variant "incubating", which the default feature gates of 1.36 select
(`staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating`).
"""
