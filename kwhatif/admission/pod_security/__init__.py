"""Pod Security: what a namespace asks of its pods."""
