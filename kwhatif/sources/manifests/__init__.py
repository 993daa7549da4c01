"""What somebody asks about: manifests, names of objects, edits and scenarios."""
