"""What the descheduler v0.36 evicts: its policies, its evictor, its strategies (`sigs.k8s.io/descheduler`).

Paths in this package are those below `pkg/` of the descheduler's repository.
"""
