"""Many pods in order: which is next, what is placed, and what is in the way."""
