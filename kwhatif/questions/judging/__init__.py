"""`judge`: what happens to the pods if the manifests are applied."""
