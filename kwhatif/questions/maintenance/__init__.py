"""Nodes that are drained, or fail."""
