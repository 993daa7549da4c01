"""The subject of a question: manifests, names of objects, edits and scenarios."""
