"""Kubernetes' objects as plain data, and the rules that match them: no state, no decisions."""
