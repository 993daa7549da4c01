"""Extenders over HTTP: outside programs that a scheduler asks, called only for those who want it."""
