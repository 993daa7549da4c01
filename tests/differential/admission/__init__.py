"""The API server's own packages and kwhatif judge the same new pods, claims and workloads, made up by the thousand."""
