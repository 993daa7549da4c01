"""Pod Security: the standards that namespaces enforce."""
