"""What describes a cluster: `kubectl get` output, and the archives that other tools make."""
