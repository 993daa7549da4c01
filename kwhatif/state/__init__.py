"""The scheduler's view of a cluster: nodes with their pods and running sums."""
