"""Reading: dumps into a `Cluster`, manifests into typed objects; every problem is collected, none is the last."""
