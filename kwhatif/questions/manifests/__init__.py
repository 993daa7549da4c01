"""Objects of manifests, the pods that would be created for them, and edits."""
