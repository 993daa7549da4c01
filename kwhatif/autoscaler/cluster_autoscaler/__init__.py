"""The Cluster Autoscaler 1.36.1 (`kubernetes/autoscaler`, `cluster-autoscaler/core`)."""
