"""`advise`: the smallest changes that make a pod schedulable, derived from the obstacles, and proven."""
