"""The scheduling queue: which pod is next, and which events requeue unschedulable pods (`pkg/scheduler/backend/queue`).

A state machine without I/O: the caller moves its clock and reports changes of the cluster.
"""
