"""Preemption: who may evict, whom, where, and at what cost (`pkg/scheduler/framework/preemption`)."""
