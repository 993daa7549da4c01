"""Edits: what somebody says about a cluster (`cordon a1`), and the changes of a state that it means."""
