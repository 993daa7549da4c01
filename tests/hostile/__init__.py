"""Hostile input: mutated files through every command; nothing may crash, hang, leak, or refuse without a place."""
