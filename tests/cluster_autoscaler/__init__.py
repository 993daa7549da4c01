"""What the Cluster Autoscaler decides."""
