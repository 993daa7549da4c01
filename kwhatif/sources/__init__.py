"""Reading: dumps into a `Cluster`, manifests into typed objects; the first problem never ends the reading."""
