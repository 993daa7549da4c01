"""The descheduler v0.36: its policies, its evictor, its strategies (`sigs.k8s.io/descheduler`).

Paths in this package are relative to `pkg/` of the descheduler's repository.
"""
