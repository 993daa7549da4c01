"""From workloads to pods: what their controllers would make, and what a rollout would change.

Stand-ins take the place of what a cluster makes up: UIDs, the hash of a template and the random end of a name are
derived from what is known, in the same form, so that an answer never changes from one run to the next.
"""
