"""The policy: what a report must not contain, and temporary exceptions."""
