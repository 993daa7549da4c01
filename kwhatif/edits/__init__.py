"""Edits: hypothetical changes of a cluster (`cordon a1`), and the changes of a state that they mean."""
