"""`advise`: the smallest changes that make a pod schedulable, found from what keeps it away, and proven."""
