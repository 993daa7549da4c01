"""Many pods one after another: who is next, what is placed, and what is in the way."""
