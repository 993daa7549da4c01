"""Preemption: which pods may evict others, which victims, on which node (`pkg/scheduler/framework/preemption`)."""
