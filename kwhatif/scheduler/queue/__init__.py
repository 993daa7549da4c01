"""The scheduling queue: who is tried next, who waits for what, and what wakes them (`pkg/scheduler/backend/queue`).

A state machine without I/O: whoever drives it moves its clock and reports what happened to the cluster.
"""
