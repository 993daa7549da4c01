"""Frozen, typed, partial Kubernetes objects: only the fields that scheduling reads."""
