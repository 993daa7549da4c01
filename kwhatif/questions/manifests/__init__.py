"""What is applied: objects of manifests, the pods that would be made of them, and edits."""
